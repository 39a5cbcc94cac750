"""HOTA on flat lists of the objects of all frames."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from .results import Counts, Scores
from .sequence import Sequence
from .settings import EPSILON, SLACK, THRESHOLDS


def _numbered(frames: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Consecutive numbers instead of ids, in the order of the ids, and the lengths of the tracks."""
    flat = np.concatenate([np.empty(0, dtype=np.int64), *frames])
    _, numbers, lengths = np.unique(flat, return_inverse=True, return_counts=True)
    ends = np.cumsum([len(frame) for frame in frames]).astype(int)
    return np.split(numbers.reshape(-1), ends)[:-1] if frames else [], lengths


def _pair_counts(rows: list[np.ndarray], columns: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    pairs = np.zeros(shape, dtype=np.int64)
    for row, column in zip(rows, columns, strict=True):
        np.add.at(pairs, (row, column), 1)
    return pairs


def alignment(sequence: Sequence, threshold: float) -> np.ndarray:
    """See equation (5)."""
    true, true_lengths = _numbered(sequence.truth)
    predicted, predicted_lengths = _numbered(sequence.predicted)
    close = [np.nonzero(similarity + SLACK >= threshold) for similarity in sequence.similarity]
    shared = _pair_counts(
        [ids[row] for ids, (row, _) in zip(true, close, strict=True)],
        [ids[column] for ids, (_, column) in zip(predicted, close, strict=True)],
        (len(true_lengths), len(predicted_lengths)),
    )
    return shared / (np.add.outer(true_lengths, predicted_lengths) - shared)


def match(sequence: Sequence, threshold: float) -> list[np.ndarray]:
    """See equation (6)."""
    bounds = alignment(sequence, threshold)
    true, predicted = _numbered(sequence.truth)[0], _numbered(sequence.predicted)[0]
    result = []
    for t, similarity in enumerate(sequence.similarity):
        reached = similarity + SLACK >= threshold
        gain = 1.0 / EPSILON + bounds[true[t]][:, predicted[t]] + EPSILON * similarity
        rows, columns = linear_sum_assignment(-gain * reached)
        kept = reached[rows, columns]
        result.append(np.column_stack([rows[kept], columns[kept]]).astype(np.int64))
    return result


def count(sequence: Sequence, thresholds: tuple[float, ...] = THRESHOLDS) -> Counts:
    """Everything but the thresholds comes from a matrix of matched pairs."""
    true, true_lengths = _numbered(sequence.truth)
    predicted, predicted_lengths = _numbered(sequence.predicted)
    shape = len(true_lengths), len(predicted_lengths)
    integers, floats = np.zeros((3, len(thresholds)), dtype=np.int64), np.zeros((4, len(thresholds)))
    for k, threshold in enumerate(thresholds):
        found = match(sequence, threshold)
        matched = _pair_counts(
            [ids[pairs[:, 0]] for ids, pairs in zip(true, found, strict=True)],
            [ids[pairs[:, 1]] for ids, pairs in zip(predicted, found, strict=True)],
            shape,
        )
        hits = matched.sum()
        integers[:, k] = hits, true_lengths.sum() - hits, predicted_lengths.sum() - hits
        g, t = np.nonzero(matched)
        number = matched[g, t]
        wholes = true_lengths[g] + predicted_lengths[t] - number, true_lengths[g], predicted_lengths[t]
        floats[:3, k] = [np.sum(number * (number / whole)) for whole in wholes]
        floats[3, k] = sum(s[p[:, 0], p[:, 1]].sum() for s, p in zip(sequence.similarity, found, strict=True))
    return Counts(tuple(thresholds), *integers, *floats)


def evaluate(counts: list[Counts]) -> tuple[Scores, dict[str, float]]:
    """Ratios of totals."""
    if len({each.thresholds for each in counts}) != 1:
        raise ValueError("evaluate needs counts, all for the same thresholds")

    def total(name: str) -> np.ndarray:
        return sum(getattr(each, name) for each in counts)

    def ratio(part: np.ndarray, whole: np.ndarray, empty: float = 0.0) -> np.ndarray:
        return np.divide(part, whole, out=np.full(part.shape, empty), where=whole != 0)

    tp = total("tp")
    true, predicted = ((tp + total(name))[:1] for name in ("fn", "fp"))  # the same objects at each threshold
    values = {
        "det_a": ratio(tp, true + predicted - tp),
        "det_re": ratio(tp, true),
        "det_pr": ratio(tp, predicted),
        "ass_a": ratio(total("association"), tp),
        "ass_re": ratio(total("association_recall"), tp),
        "ass_pr": ratio(total("association_precision"), tp),
        "loc_a": ratio(total("similarity"), tp, 1.0),
    }
    values["hota"] = (values["det_a"] * values["ass_a"]) ** 0.5
    return Scores(**values), {name: each.mean().item() for name, each in values.items()}

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
