"""HOTA: matching, counting, scores."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from .assignment import assign
from .results import Counts, Scores
from .sequence import Sequence, tracks
from .settings import EPSILON, SLACK, THRESHOLDS


def alignment(sequence: Sequence, threshold: float) -> np.ndarray:
    """The best association score that each pair of tracks could have, (G, T)."""
    true_tracks, predicted_tracks = tracks(sequence.truth), tracks(sequence.predicted)
    together = np.zeros((len(true_tracks), len(predicted_tracks)))
    true_length, predicted_length = np.zeros((len(true_tracks), 1)), np.zeros(len(predicted_tracks))
    for truth, predicted, similarity in zip(sequence.truth, sequence.predicted, sequence.similarity, strict=True):
        rows, columns = np.searchsorted(true_tracks, truth), np.searchsorted(predicted_tracks, predicted)
        together[np.ix_(rows, columns)] += similarity >= threshold - SLACK
        true_length[rows] += 1.0
        predicted_length[columns] += 1.0
    return together / (true_length + predicted_length - together)


def match(sequence: Sequence, threshold: float) -> list[np.ndarray]:
    """The matched pairs of each frame."""
    aligned = alignment(sequence, threshold)
    true_tracks, predicted_tracks = tracks(sequence.truth), tracks(sequence.predicted)
    found = []
    for truth, predicted, similarity in zip(sequence.truth, sequence.predicted, sequence.similarity, strict=True):
        rows, columns = np.searchsorted(true_tracks, truth), np.searchsorted(predicted_tracks, predicted)
        possible = similarity >= threshold - SLACK
        scores = np.where(possible, 1.0 / EPSILON + aligned[np.ix_(rows, columns)] + EPSILON * similarity, 0.0)
        pairs = assign(scores)
        found.append(pairs[possible[pairs[:, 0], pairs[:, 1]]])
    return found


def count(sequence: Sequence, thresholds: tuple[float, ...] = THRESHOLDS) -> Counts:
    """What the scores need, for each threshold."""
    true_tracks, true_length = np.unique(np.concatenate([tracks([]), *sequence.truth]), return_counts=True)
    predicted_tracks, predicted_length = np.unique(
        np.concatenate([tracks([]), *sequence.predicted]), return_counts=True
    )
    tp = np.zeros(len(thresholds), dtype=np.int64)
    jaccard, recall, precision, similarity = np.zeros((4, len(thresholds)))
    for place, threshold in enumerate(thresholds):
        matched = np.zeros((len(true_tracks), len(predicted_tracks)))
        for frame, pairs in enumerate(match(sequence, threshold)):
            rows = np.searchsorted(true_tracks, sequence.truth[frame][pairs[:, 0]])
            columns = np.searchsorted(predicted_tracks, sequence.predicted[frame][pairs[:, 1]])
            matched[rows, columns] += 1.0
            similarity[place] += sequence.similarity[frame][pairs[:, 0], pairs[:, 1]].sum()
        tp[place] = matched.sum()
        # Each of the `matched` true positives of two tracks has the same association score.
        jaccard[place] = np.sum(matched**2 / (true_length[:, None] + predicted_length - matched))
        recall[place] = np.sum(matched**2 / true_length[:, None])
        precision[place] = np.sum(matched**2 / predicted_length)
    return Counts(
        thresholds=tuple(thresholds),
        tp=tp,
        fn=true_length.sum() - tp,
        fp=predicted_length.sum() - tp,
        association=jaccard,
        association_recall=recall,
        association_precision=precision,
        similarity=similarity,
    )


def evaluate(counts: list[Counts]) -> tuple[Scores, dict[str, float]]:
    """The scores of several sequences together, for each threshold and averaged over thresholds."""
    if not counts:
        raise ValueError("there are no counts to evaluate")
    if any(each.thresholds != counts[0].thresholds for each in counts):
        raise ValueError("the counts are for different thresholds")
    sums = {
        field.name: np.sum([getattr(each, field.name) for each in counts], axis=0)
        for field in fields(Counts)
        if field.name != "thresholds"
    }
    tp = sums["tp"]

    def share(part: np.ndarray, whole: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
        return np.where(whole > 0, part / np.maximum(whole, 1), otherwise)

    det_a, ass_a = share(tp, tp + sums["fn"] + sums["fp"]), share(sums["association"], tp)
    scores = Scores(
        hota=np.sqrt(det_a * ass_a),
        det_a=det_a,
        det_re=share(tp, tp + sums["fn"]),
        det_pr=share(tp, tp + sums["fp"]),
        ass_a=ass_a,
        ass_re=share(sums["association_recall"], tp),
        ass_pr=share(sums["association_precision"], tp),
        loc_a=share(sums["similarity"], tp, 1.0),
    )
    return scores, {field.name: float(np.mean(getattr(scores, field.name))) for field in fields(Scores)}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
