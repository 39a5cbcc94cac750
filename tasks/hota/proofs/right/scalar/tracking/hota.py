"""HOTA with dictionaries of tracks and an own search over assignments."""

import math

import numpy as np

from .results import Counts, Scores
from .sequence import tracks
from .settings import EPSILON, SLACK, THRESHOLDS


def _lengths(frames):
    lengths = {}
    for frame in frames:
        for each in frame.tolist():
            lengths[each] = lengths.get(each, 0) + 1
    return lengths


def _bounds(sequence, threshold):
    true, predicted, reached = _lengths(sequence.truth), _lengths(sequence.predicted), {}
    for ids, others, similarity in zip(sequence.truth, sequence.predicted, sequence.similarity, strict=True):
        for row, g in enumerate(ids.tolist()):
            for column, t in enumerate(others.tolist()):
                if similarity[row, column] - threshold >= -SLACK:
                    reached[g, t] = reached.get((g, t), 0) + 1
    return {(g, t): number / (true[g] + predicted[t] - number) for (g, t), number in reached.items()}


def alignment(sequence, threshold):
    bounds = _bounds(sequence, threshold)
    rows, columns = tracks(sequence.truth).tolist(), tracks(sequence.predicted).tolist()
    values = [bounds.get((g, t), 0.0) for g in rows for t in columns]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(columns))


def _best(scores):
    """The best choice of a column or none for each row, by dynamic programming over sets of used columns."""
    states = {0: (0.0, ())}
    for row in scores:
        following = dict(states)
        for used, (total, pairs) in states.items():
            for column, score in row.items():
                if used >> column & 1:
                    continue
                taken, better = used | 1 << column, total + score[1]
                if taken not in following or better > following[taken][0]:
                    following[taken] = better, (*pairs, (score[0], column))
        states = following
    return max(states.values(), key=lambda state: state[0])[1]


def match(sequence, threshold):
    bounds = _bounds(sequence, threshold)
    found = []
    for ids, others, similarity in zip(sequence.truth, sequence.predicted, sequence.similarity, strict=True):
        rows = []
        for row, g in enumerate(ids.tolist()):
            choices = {}
            for column, t in enumerate(others.tolist()):
                near = float(similarity[row, column])
                if near - threshold >= -SLACK:
                    choices[column] = row, 1.0 / EPSILON + bounds[g, t] + EPSILON * near
            rows.append(choices)
        found.append(np.array(_best(rows), dtype=np.int64).reshape(-1, 2))
    return found


def count(sequence, thresholds=THRESHOLDS):
    true, predicted = _lengths(sequence.truth), _lengths(sequence.predicted)
    numbers, sums = [], []
    for threshold in thresholds:
        together, near = {}, 0.0
        for frame, pairs in enumerate(match(sequence, threshold)):
            for row, column in pairs.tolist():
                key = int(sequence.truth[frame][row]), int(sequence.predicted[frame][column])
                together[key] = together.get(key, 0) + 1
                near += float(sequence.similarity[frame][row, column])
        tp = sum(together.values())
        numbers.append((tp, sum(true.values()) - tp, sum(predicted.values()) - tp))
        jaccard = recall = precision = 0.0
        for (g, t), number in together.items():
            jaccard += number * (number / (true[g] + predicted[t] - number))
            recall += number * (number / true[g])
            precision += number * (number / predicted[t])
        sums.append((jaccard, recall, precision, near))
    columns = np.array(numbers, dtype=np.int64).reshape(-1, 3).T, np.array(sums, dtype=np.float64).reshape(-1, 4).T
    return Counts(tuple(thresholds), *(np.array(each) for part in columns for each in part))


def evaluate(counts):
    if len(counts) == 0:
        raise ValueError("no counts")
    for each in counts:
        if each.thresholds != counts[0].thresholds:
            raise ValueError("thresholds differ")
    rows = {name: [] for name in Scores.__dataclass_fields__}
    for place in range(len(counts[0].thresholds)):
        tp, fn, fp = (sum(int(getattr(each, name)[place]) for each in counts) for name in ("tp", "fn", "fp"))
        sums = {
            name: sum(float(getattr(each, name)[place]) for each in counts)
            for name in ("association", "association_recall", "association_precision", "similarity")
        }
        rows["det_a"].append(tp / (tp + fn + fp) if tp + fn + fp else 0.0)
        rows["det_re"].append(tp / (tp + fn) if tp + fn else 0.0)
        rows["det_pr"].append(tp / (tp + fp) if tp + fp else 0.0)
        rows["ass_a"].append(sums["association"] / tp if tp else 0.0)
        rows["ass_re"].append(sums["association_recall"] / tp if tp else 0.0)
        rows["ass_pr"].append(sums["association_precision"] / tp if tp else 0.0)
        rows["loc_a"].append(sums["similarity"] / tp if tp else 1.0)
        rows["hota"].append(math.sqrt(rows["det_a"][-1] * rows["ass_a"][-1]))
    scores = Scores(**{name: np.array(values) for name, values in rows.items()})
    return scores, {name: math.fsum(values) / len(values) for name, values in rows.items()}

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
