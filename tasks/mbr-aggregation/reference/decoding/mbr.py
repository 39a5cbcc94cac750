"""Minimum Bayes risk decoding with reference aggregation (Vamvas and Sennrich, ACL 2024)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from .results import Decision
from .settings import Settings
from .text import characters

Statistics = Sequence[Mapping[str, float]]
"""Counts of n-grams; place n - 1 has those of n characters."""


def statistics(text: str, order: int) -> list[dict[str, int]]:
    """Counts of the character n-grams of a text, for n = 1, ..., order."""
    text = characters(text)
    return [Counter(text[start : start + n] for start in range(len(text) - n + 1)) for n in range(1, order + 1)]


def aggregate(parts: Sequence[Statistics]) -> list[dict[str, float]]:
    """Mean counts, equation (5)."""
    if not parts:
        raise ValueError("there is nothing to aggregate")
    means = []
    for same_length in zip(*parts, strict=True):
        total: dict[str, float] = {}
        for counts in same_length:
            for gram, count in counts.items():
                total[gram] = total.get(gram, 0.0) + count
        means.append({gram: count / len(parts) for gram, count in total.items()})
    return means


def chrf(hypothesis: Statistics, reference: Statistics, beta: float = 2.0) -> float:
    """The metric, equations (2) to (4)."""
    precisions, recalls = [], []
    for ours, theirs in zip(hypothesis, reference, strict=True):
        if ours and theirs:  # otherwise this length does not count
            matches = sum(min(count, theirs.get(gram, 0.0)) for gram, count in ours.items())
            precisions.append(matches / sum(ours.values()))
            recalls.append(matches / sum(theirs.values()))
    if not any(recalls):
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return (1.0 + beta**2) * precision * recall / (beta**2 * precision + recall)


def utilities(hypotheses: Sequence[str], references: Sequence[str], settings: Settings, parts: int = 1) -> np.ndarray:
    """Utility of each hypothesis against references in `parts` aggregates, (H,)."""
    if not 1 <= parts <= len(references):
        raise ValueError(f"{len(references)} references cannot be divided into {parts} parts")
    ours = [statistics(text, settings.order) for text in hypotheses]
    theirs = [statistics(text, settings.order) for text in references]
    total = np.zeros(len(ours))
    for place in np.array_split(np.arange(len(theirs)), parts):
        mean = aggregate([theirs[index] for index in place])
        total += len(place) * np.array([chrf(each, mean, settings.beta) for each in ours])
    return total / len(theirs)


def decode(
    hypotheses: Sequence[str], references: Sequence[str], settings: Settings, keep: int | None = None, parts: int = 1
) -> Decision:
    """The best hypothesis, aggregate to fine."""
    if not hypotheses or (keep is not None and keep < 1):
        raise ValueError(f"cannot keep {keep} of {len(hypotheses)} hypotheses")
    coarse = utilities(hypotheses, references, settings, parts)
    candidates = np.argsort(-coarse, kind="stable")[:keep]
    fine = utilities([hypotheses[index] for index in candidates], references, settings, len(references))
    best = int(candidates[np.argmax(fine)])
    return Decision(best, hypotheses[best], candidates, coarse, fine)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
