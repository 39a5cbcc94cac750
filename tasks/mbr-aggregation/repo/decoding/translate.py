"""Translations of several sentences."""

from __future__ import annotations

from .mbr import chrf, decode, statistics
from .results import Decision
from .settings import Settings


def translate(samples: list[list[str]], settings: Settings, keep: int | None = None, parts: int = 1) -> list[Decision]:
    """A decision for the samples of each sentence, which are hypotheses and references at the same time."""
    return [decode(each, each, settings, keep, parts) for each in samples]


def score(decisions: list[Decision], truths: list[str], settings: Settings) -> float:
    """Mean chrF of the chosen translations."""
    scores = [
        chrf(statistics(decision.text, settings.order), statistics(truth, settings.order), settings.beta)
        for decision, truth in zip(decisions, truths, strict=True)
    ]
    return sum(scores) / len(scores)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
