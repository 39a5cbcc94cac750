"""HOTA: matching, counting, scores."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from .assignment import assign
from .results import Counts, Scores
from .sequence import Sequence, tracks
from .settings import EPSILON, SLACK, THRESHOLDS


class _Indexed:
    """A sequence whose ids are replaced by the rows and columns of the (G, T) matrices, with the lengths of its tracks."""

    def __init__(self, sequence: Sequence) -> None:
        self.true, self.true_lengths = _index(sequence.truth)
        self.predicted, self.predicted_lengths = _index(sequence.predicted)
        self.similarity = sequence.similarity


def _index(frames: list[np.ndarray]) -> tuple[list[np.ndarray], list[int]]:
    """For each frame the positions of its ids among all sorted ids, and for each track the number of its frames."""
    position = {identity: k for k, identity in enumerate(tracks(frames).tolist())}
    lengths = [0] * len(position)
    indexed = []
    for frame in frames:
        row = [position[identity] for identity in frame.tolist()]
        for k in row:
            lengths[k] += 1
        indexed.append(np.array(row, dtype=np.int64))
    return indexed, lengths


def _reaches(similarity: np.ndarray, threshold: float) -> np.ndarray:
    return similarity >= threshold - SLACK


def _alignment(indexed: _Indexed, threshold: float) -> np.ndarray:
    best = np.zeros((len(indexed.true_lengths), len(indexed.predicted_lengths)), dtype=np.float64)
    for true, predicted, similarity in zip(indexed.true, indexed.predicted, indexed.similarity, strict=True):
        best[np.ix_(true, predicted)] += _reaches(similarity, threshold)  # an id occurs once in a frame, so no entry twice
    for g, t in np.argwhere(best).tolist():
        m = best[g, t]
        best[g, t] = m / (indexed.true_lengths[g] + indexed.predicted_lengths[t] - m)
    return best


def _match(indexed: _Indexed, threshold: float) -> list[np.ndarray]:
    best = _alignment(indexed, threshold)
    matched = []
    for true, predicted, similarity in zip(indexed.true, indexed.predicted, indexed.similarity, strict=True):
        reached = _reaches(similarity, threshold)
        if not reached.any():
            matched.append(np.zeros((0, 2), dtype=np.int64))
            continue
        scores = np.where(reached, 1.0 / EPSILON + best[np.ix_(true, predicted)] + EPSILON * similarity, 0.0)
        pairs = assign(scores)
        matched.append(pairs[reached[pairs[:, 0], pairs[:, 1]]])
    return matched


def alignment(sequence: Sequence, threshold: float) -> np.ndarray:
    """The best association score that each pair of tracks could have, (G, T)."""
    return _alignment(_Indexed(sequence), threshold)


def match(sequence: Sequence, threshold: float) -> list[np.ndarray]:
    """The matched pairs of each frame."""
    return _match(_Indexed(sequence), threshold)


def count(sequence: Sequence, thresholds: tuple[float, ...] = THRESHOLDS) -> Counts:
    """What the scores need, for each threshold."""
    thresholds = tuple(thresholds)
    indexed = _Indexed(sequence)
    true_objects, predicted_objects = sum(indexed.true_lengths), sum(indexed.predicted_lengths)
    number = len(thresholds)
    tp = np.zeros(number, dtype=np.int64)
    association, recall, precision, similarity = (np.zeros(number, dtype=np.float64) for _ in range(4))

    for a, threshold in enumerate(thresholds):
        tpa: dict[tuple[int, int], int] = {}
        frames = zip(indexed.true, indexed.predicted, indexed.similarity, _match(indexed, threshold), strict=True)
        for true, predicted, similar, pairs in frames:
            for pair in zip(true[pairs[:, 0]].tolist(), predicted[pairs[:, 1]].tolist(), strict=True):
                tpa[pair] = tpa.get(pair, 0) + 1
            similarity[a] += similar[pairs[:, 0], pairs[:, 1]].sum()
        for (g, t), n in tpa.items():  # each of the n true positives of g and t has TPA = n
            of_true, of_predicted = indexed.true_lengths[g], indexed.predicted_lengths[t]
            tp[a] += n
            association[a] += n * (n / (of_true + of_predicted - n))
            recall[a] += n * (n / of_true)
            precision[a] += n * (n / of_predicted)

    return Counts(
        thresholds=thresholds,
        tp=tp,
        fn=true_objects - tp,
        fp=predicted_objects - tp,
        association=association,
        association_recall=recall,
        association_precision=precision,
        similarity=similarity,
    )


def _ratio(numerator: np.ndarray, denominator: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """The quotient, and `otherwise` where the denominator is 0."""
    result = np.full(denominator.shape, otherwise, dtype=np.float64)
    np.divide(numerator, denominator, out=result, where=denominator != 0)
    return result


def evaluate(counts: list[Counts]) -> tuple[Scores, dict[str, float]]:
    """The scores of several sequences together, for each threshold and averaged over thresholds."""
    if len(counts) == 0:
        raise ValueError("there are no counts to evaluate")
    if any(tuple(each.thresholds) != tuple(counts[0].thresholds) for each in counts):
        raise ValueError("all counts must have the same thresholds")

    def total(name: str) -> np.ndarray:
        return np.sum([getattr(each, name) for each in counts], axis=0)

    tp, fn, fp = total("tp"), total("fn"), total("fp")
    det_a = _ratio(tp, tp + fn + fp)
    ass_a = _ratio(total("association"), tp)
    scores = Scores(
        hota=np.sqrt(det_a * ass_a),
        det_a=det_a,
        det_re=_ratio(tp, tp + fn),
        det_pr=_ratio(tp, tp + fp),
        ass_a=ass_a,
        ass_re=_ratio(total("association_recall"), tp),
        ass_pr=_ratio(total("association_precision"), tp),
        loc_a=_ratio(total("similarity"), tp, otherwise=1.0),
    )
    return scores, {field.name: float(np.mean(getattr(scores, field.name))) for field in fields(Scores)}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
