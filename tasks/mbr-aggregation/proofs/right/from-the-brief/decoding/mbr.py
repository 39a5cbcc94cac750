"""Minimum Bayes risk decoding with reference aggregation (Vamvas and Sennrich, ACL 2024)."""

from __future__ import annotations

import math
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
    return [
        dict(Counter(text[start : start + size] for start in range(len(text) - size + 1)))
        for size in range(1, order + 1)
    ]


def aggregate(parts: Sequence[Statistics]) -> list[dict[str, float]]:
    """Mean counts, equation (5)."""
    if not parts:
        raise ValueError("nothing to aggregate")
    result = []
    for tables in zip(*parts, strict=True):
        sums: dict[str, float] = {}
        for table in tables:
            for gram, count in table.items():
                sums[gram] = sums.get(gram, 0) + count
        result.append({gram: total / len(parts) for gram, total in sums.items()})
    return result


def chrf(hypothesis: Statistics, reference: Statistics, beta: float = 2.0) -> float:
    """The metric, equations (2) to (4)."""
    precisions, recalls = [], []
    for ours, theirs in zip(hypothesis, reference, strict=True):
        size, wanted = math.fsum(ours.values()), math.fsum(theirs.values())
        if size > 0.0 and wanted > 0.0:
            matches = math.fsum(min(count, theirs[gram]) for gram, count in ours.items() if gram in theirs)
            precisions.append(matches / size)
            recalls.append(matches / wanted)
    if not precisions:
        return 0.0
    precision, recall = math.fsum(precisions) / len(precisions), math.fsum(recalls) / len(recalls)
    if precision == 0.0 and recall == 0.0:
        return 0.0
    square = float(beta) * float(beta)
    return (1.0 + square) * precision * recall / (square * precision + recall)


def utilities(hypotheses: Sequence[str], references: Sequence[str], settings: Settings, parts: int = 1) -> np.ndarray:
    """Utility of each hypothesis against references in `parts` aggregates, (H,)."""
    total = len(references)
    if total == 0:
        raise ValueError("there are no references")
    if not 1 <= parts <= total:
        raise ValueError(f"{total} references cannot be divided into {parts} parts")
    counted = [statistics(text, settings.order) for text in references]
    small, larger = divmod(total, parts)
    aggregates, start = [], 0
    for place in range(parts):
        size = small + (place < larger)
        aggregates.append((size, aggregate(counted[start : start + size])))
        start += size
    found = np.zeros(len(hypotheses))
    for place, text in enumerate(hypotheses):
        ours = statistics(text, settings.order)
        scores = (size * chrf(ours, theirs, settings.beta) for size, theirs in aggregates)
        found[place] = math.fsum(scores) / total
    return found


def decode(
    hypotheses: Sequence[str], references: Sequence[str], settings: Settings, keep: int | None = None, parts: int = 1
) -> Decision:
    """The best hypothesis, aggregate to fine."""
    if len(hypotheses) == 0:
        raise ValueError("there are no hypotheses")
    if keep is not None and keep < 1:
        raise ValueError(f"at least one hypothesis must be kept, not {keep}")
    coarse = utilities(hypotheses, references, settings, parts)
    candidates = np.argsort(-coarse, kind="stable")[:keep].astype(np.int64)
    fine = utilities([hypotheses[place] for place in candidates], references, settings, len(references))
    best = int(candidates[np.argmax(fine)])
    return Decision(best, hypotheses[best], candidates, coarse, fine)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
