"""Utilities from count matrices over a common vocabulary."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from .results import Decision
from .settings import Settings
from .text import characters


def statistics(text: str, order: int) -> list[dict[str, int]]:
    text = characters(text)
    return [dict(Counter(map("".join, zip(*(text[k:] for k in range(n)))))) for n in range(1, order + 1)]


def aggregate(parts: list) -> list[dict[str, float]]:
    if not parts:
        raise ValueError("nothing to aggregate")
    order = len(parts[0])
    means = [Counter() for _ in range(order)]
    for part in parts:
        for mean, counts in zip(means, part):
            mean.update(counts)
    return [{gram: float(total) / len(parts) for gram, total in mean.items()} for mean in means]


def _f_score(precision: np.ndarray, recall: np.ndarray, beta: float) -> np.ndarray:
    bottom = beta**2 * precision + recall
    return np.where(bottom > 0, (1 + beta**2) * precision * recall / np.where(bottom > 0, bottom, 1.0), 0.0)


def _scores(ours: list[np.ndarray], theirs: list[np.ndarray], beta: float) -> np.ndarray:
    """Scores (H, R) of count matrices (H, V_n) and (R, V_n)."""
    shape = len(ours[0]), len(theirs[0])
    sums, used = np.zeros((2, *shape)), np.zeros(shape)
    for h, r in zip(ours, theirs):
        matches = np.minimum(h[:, None], r[None]).sum(axis=2)
        sizes = np.broadcast_to(h.sum(axis=1)[:, None], shape), np.broadcast_to(r.sum(axis=1)[None], shape)
        counts = (sizes[0] > 0) & (sizes[1] > 0)
        for place, size in enumerate(sizes):
            sums[place][counts] += (matches / np.where(size > 0, size, 1.0))[counts]
        used += counts
    used = np.maximum(used, 1)
    return _f_score(sums[0] / used, sums[1] / used, beta)


def _matrix(counts: list, grams: dict[str, int]) -> np.ndarray:
    matrix = np.zeros((len(counts), len(grams)))
    for row, each in enumerate(counts):
        for gram, count in each.items():
            matrix[row, grams[gram]] = count
    return matrix


def _matrices(*sides: list) -> list[list[np.ndarray]]:
    order = len(sides[-1][0])
    result = [[] for _ in sides]
    for n in range(order):
        grams = {gram: k for k, gram in enumerate(dict.fromkeys(g for side in sides for each in side for g in each[n]))}
        for matrices, side in zip(result, sides):
            matrices.append(_matrix([each[n] for each in side], grams))
    return result


def chrf(hypothesis: list, reference: list, beta: float = 2.0) -> float:
    return _scores(*_matrices([hypothesis], [reference]), beta).item()


def utilities(hypotheses: list[str], references: list[str], settings: Settings, parts: int = 1) -> np.ndarray:
    size = len(references)
    if parts < 1 or parts > size:
        raise ValueError((parts, size))
    ours = [statistics(text, settings.order) for text in hypotheses]
    theirs = [statistics(text, settings.order) for text in references]
    ours, theirs = _matrices(ours, theirs)
    ends = np.cumsum([0, *(size // parts + (k < size % parts) for k in range(parts))])
    means = [np.stack([matrix[a:b].mean(axis=0) for a, b in pairwise(ends)]) for matrix in theirs]
    return np.average(_scores(ours, means, settings.beta), axis=1, weights=np.diff(ends))


def decode(
    hypotheses: list[str], references: list[str], settings: Settings, keep: int | None = None, parts: int = 1
) -> Decision:
    count = len(hypotheses)
    if count == 0 or (keep is not None and keep <= 0):
        raise ValueError((count, keep))
    coarse = utilities(hypotheses, references, settings, parts)
    candidates = np.lexsort((np.arange(count), -coarse))[: count if keep is None else min(keep, count)]
    fine = utilities([hypotheses[k] for k in candidates], references, settings, len(references))
    best = candidates[np.flatnonzero(fine == fine.max())[0]].item()
    return Decision(best, hypotheses[best], candidates, coarse, fine)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
