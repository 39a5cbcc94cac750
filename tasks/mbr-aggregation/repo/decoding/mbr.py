"""Minimum Bayes risk decoding with reference aggregation (Vamvas and Sennrich, ACL 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .results import Decision
from .settings import Settings
from .text import characters

Statistics = Sequence[Mapping[str, float]]
"""Counts of n-grams; place n - 1 has those of n characters."""


def statistics(text: str, order: int) -> list[dict[str, int]]:
    """Counts of the character n-grams of a text, for n = 1, ..., order."""
    raise NotImplementedError


def aggregate(parts: Sequence[Statistics]) -> list[dict[str, float]]:
    """Mean counts, equation (5)."""
    raise NotImplementedError


def chrf(hypothesis: Statistics, reference: Statistics, beta: float = 2.0) -> float:
    """The metric, equations (2) to (4)."""
    raise NotImplementedError


def utilities(hypotheses: Sequence[str], references: Sequence[str], settings: Settings, parts: int = 1) -> np.ndarray:
    """Utility of each hypothesis against references in `parts` aggregates, (H,)."""
    raise NotImplementedError


def decode(
    hypotheses: Sequence[str], references: Sequence[str], settings: Settings, keep: int | None = None, parts: int = 1
) -> Decision:
    """The best hypothesis, aggregate to fine."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
