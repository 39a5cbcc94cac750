"""Hidden tests of the task hota."""

import itertools

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent

aligning = pytest.mark.interface("tracking.hota.alignment")
matching = pytest.mark.interface("tracking.hota.match")
counting = pytest.mark.interface("tracking.hota.count")
scoring = pytest.mark.interface("tracking.hota.evaluate")

SUMS = ("association", "association_recall", "association_precision", "similarity")
COUNTS = ("thresholds", "tp", "fn", "fp", *SUMS)
SCORES = ("hota", "det_a", "det_re", "det_pr", "ass_a", "ass_re", "ass_pr", "loc_a")
EPSILON = 1e-4


def parts(record, names):
    return {name: getattr(record, name) for name in names}


def names_of(rng, count):
    """Ids far from each other, in no order."""
    ids = rng.choice(10**6, count, replace=False) * 10**9 - 3 * 10**14
    return rng.permutation(ids)


def video(rng, true=4, predicted=5, frames=12):
    """Ids and similarities of each frame; every track is there in some frames and some frames are empty on either side.

    Tracks have a favourite partner, with which they overlap more.
    """
    true_ids, predicted_ids = names_of(rng, true), names_of(rng, predicted)
    found = ([], [], [])
    for frame in range(frames):
        here = [np.flatnonzero(rng.uniform(size=count) < 0.7) for count in (true, predicted)]
        here = [
            rng.permutation(each[: 0 if frame in (empty, 5) else None])
            for each, empty in zip(here, (3, 8), strict=True)
        ]
        partner = (here[0][:, None] == here[1][None]) * rng.uniform(0.0, 0.5, (len(here[0]), len(here[1])))
        found[0].append(true_ids[here[0]])
        found[1].append(predicted_ids[here[1]])
        found[2].append(np.minimum(rng.uniform(0.0, 0.7, partner.shape) + partner, 1.0))
    return found


def shapes_of(frames):
    return [(len(true), len(predicted)) for true, predicted in zip(frames[0], frames[1], strict=True)]


def constant(lengths, value=0.8):
    return [np.full(shape, value) for shape in lengths]


def best_scores(frames, threshold):
    """Equation (5), pair by pair: a dict by the two ids, and the ids."""
    true, predicted, similarity = frames
    ids = [sorted({int(each) for frame in side for each in frame}) for side in (true, predicted)]
    scores = {}
    for g, t in itertools.product(*ids):
        reached = sum(
            similarity[frame][list(true[frame]).index(g), list(predicted[frame]).index(t)] >= threshold
            for frame in range(len(true))
            if g in true[frame] and t in predicted[frame]
        )
        length = sum(g in frame for frame in true) + sum(t in frame for frame in predicted)
        scores[g, t] = reached / (length - reached)
    return scores, ids


def aims(frames, threshold):
    """Equation (6) for each frame."""
    scores, _ = best_scores(frames, threshold)
    for true, predicted, similarity in zip(*frames, strict=True):
        bound = np.array([[scores[int(g), int(t)] for t in predicted] for g in true]).reshape(similarity.shape)
        yield np.where(similarity >= threshold, 1.0 / EPSILON + bound + EPSILON * similarity, 0.0)


def largest_total(aim):
    """By trying all assignments."""
    aim = aim if len(aim) <= len(aim.T) else aim.T
    rows = range(len(aim))
    return max(
        sum(aim[row, column] for row, column in zip(rows, columns, strict=True))
        for columns in itertools.permutations(range(len(aim.T)), len(aim))
    )


# alignment


@aligning
def test_alignment_is_the_best_association_of_each_pair(candidate, rng):
    frames = video(rng)
    for threshold in (0.05, 0.35, 0.6, 0.95):
        scores, (true, predicted) = best_scores(frames, threshold)
        expected = np.array([[scores[g, t] for t in predicted] for g in true])
        found = candidate.tracking.hota.alignment(candidate.tracking.sequence.Sequence(*frames), threshold)
        assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@aligning
def test_rows_and_columns_are_in_the_order_of_the_ids(candidate, rng):
    """Whatever the order in which the tracks appear: here that of decreasing ids."""
    truth, predicted = (np.sort(names_of(rng, 3))[::-1] for _ in range(2))
    partners = np.eye(3)[[1, 2, 0]]
    sequence = candidate.tracking.sequence.Sequence([truth], [predicted], [0.8 * partners])
    np.testing.assert_array_equal(candidate.tracking.hota.alignment(sequence, 0.5), partners[::-1, ::-1])


@aligning
def test_a_similarity_that_equals_the_threshold_reaches_it(candidate, rng):
    """Up to rounding, and no further."""
    thresholds = candidate.tracking.settings.THRESHOLDS
    truth, predicted = [names_of(rng, 1)], [names_of(rng, 6)]
    for threshold in (rng.uniform(0.2, 0.9), thresholds[2], thresholds[6], thresholds[18]):
        offsets = np.array([[0.0, -1e-10, 1e-10, -1e-8, np.spacing(threshold), -np.spacing(threshold)]])
        order = np.argsort(predicted[0])
        sequence = candidate.tracking.sequence.Sequence(truth, predicted, [threshold + offsets])
        found = candidate.tracking.hota.alignment(sequence, threshold)
        np.testing.assert_array_equal(found, np.array([[1.0, 1.0, 1.0, 0.0, 1.0, 1.0]])[:, order])


@aligning
def test_tracks_without_a_partner(candidate, rng):
    truth, nobody, run = [names_of(rng, 3)] * 2, [np.zeros(0, dtype=np.int64)] * 2, candidate.tracking.hota.alignment
    sequence = candidate.tracking.sequence.Sequence
    assert run(sequence(truth, nobody, [np.zeros((3, 0))] * 2), 0.5).shape == (3, 0)
    assert run(sequence(nobody, truth, [np.zeros((0, 3))] * 2), 0.5).shape == (0, 3)
    assert run(sequence([], [], []), 0.5).shape == (0, 0)
    apart = sequence([truth[0], nobody[0]], [nobody[0], truth[0]], [np.zeros((3, 0)), np.zeros((0, 3))])
    assert_equivalent(run(apart, 0.5), np.zeros((3, 3)), check_dtype=True)
    both, alone, beside = rng.integers(1, 5, 3).tolist()  # frames together, of the true one only, of the other one only
    one, other, nobody = names_of(rng, 1), names_of(rng, 1), np.zeros(0, dtype=np.int64)
    truth = [one] * both + [one] * alone + [nobody] * beside
    predicted = [other] * both + [nobody] * alone + [other] * beside
    similarity = constant(shapes_of((truth, predicted)))
    np.testing.assert_allclose(run(sequence(truth, predicted, similarity), 0.5), [[both / (both + alone + beside)]])


# match


@matching
def test_matches_have_the_largest_sum_of_all_assignments(candidate, rng):
    frames = video(rng)
    equal = rng.uniform(0.4, 1.0)  # a frame of equal similarities: several assignments may be best
    frames[2][6] = np.full(frames[2][6].shape, equal)
    for threshold in (0.1, 0.4, 0.7):
        found = candidate.tracking.hota.match(candidate.tracking.sequence.Sequence(*frames), threshold)
        assert len(found) == 12
        for pairs, similarity, aim in zip(found, frames[2], aims(frames, threshold), strict=True):
            assert pairs.dtype == np.int64
            assert pairs.shape == (len(pairs), 2)
            assert np.all(np.diff(pairs[:, 0]) > 0)
            assert len(set(pairs[:, 1].tolist())) == len(pairs)
            assert np.all(similarity[pairs[:, 0], pairs[:, 1]] >= threshold)
            np.testing.assert_allclose(aim[pairs[:, 0], pairs[:, 1]].sum(), largest_total(aim), rtol=1e-13)


@matching
def test_matches_are_those_of_the_authors(candidate, reference, rng):
    frames = video(rng, true=6, predicted=4, frames=15)
    for threshold in (0.05, 0.3, 0.65):
        found, expected = (
            side.tracking.hota.match(side.tracking.sequence.Sequence(*frames), threshold)
            for side in (candidate, reference)
        )
        assert_equivalent(list(found), expected, check_dtype=True)


@matching
def test_the_number_of_pairs_comes_first(candidate, rng):
    """The pair with the best association and similarity is given up for two others."""
    true, predicted = names_of(rng, 2), names_of(rng, 2)
    alone = [np.array([[rng.uniform(0.9, 1.0)]])] * 8
    last = np.array([[1.0, 0.55], [0.55, rng.uniform(0.0, 0.4)]])
    sequence = candidate.tracking.sequence.Sequence(
        [true[:1]] * 8 + [true], [predicted[:1]] * 8 + [predicted], [*alone, last]
    )
    found = candidate.tracking.hota.match(sequence, 0.5)
    np.testing.assert_array_equal(found[8], [[0, 1], [1, 0]])
    found = candidate.tracking.hota.match(sequence, 0.6)  # here there are no two others
    np.testing.assert_array_equal(found[8], [[0, 0]])
    # Three pairs that have hardly met before, against two that belong together.
    true, predicted = names_of(rng, 3), names_of(rng, 3)
    together = np.diag(rng.uniform(0.9, 1.0, 2))
    last = np.array([[0.9, 0.7, 0.0], [0.0, 0.9, 0.7], [0.7, 0.0, 0.0]])
    sequence = candidate.tracking.sequence.Sequence(
        [true[:2]] * 8 + [true], [predicted[:2]] * 8 + [predicted], [together] * 8 + [last]
    )
    found = candidate.tracking.hota.match(sequence, 0.6)
    np.testing.assert_array_equal(found[8], [[0, 1], [1, 2], [2, 0]])


@matching
def test_pairs_that_equal_the_threshold_are_matched(candidate, rng):
    thresholds = candidate.tracking.settings.THRESHOLDS
    for threshold in (rng.uniform(0.2, 0.9), thresholds[2], thresholds[6], thresholds[13]):
        offsets = rng.permutation([0.0, -1e-10, -1e-8, -0.1])
        near = np.where(np.eye(4), threshold + offsets, 0.0)
        found = candidate.tracking.hota.match(
            candidate.tracking.sequence.Sequence([names_of(rng, 4)], [names_of(rng, 4)], [near]), threshold
        )
        rows = np.flatnonzero(offsets > -1e-9)
        np.testing.assert_array_equal(found[0], np.stack([rows, rows], axis=1))


@matching
def test_the_whole_video_comes_before_the_similarity(candidate, rng):
    """The partner of many frames is kept in a frame where another one overlaps more, if it reaches the threshold."""
    true, predicted = names_of(rng, 1), names_of(rng, 2)
    shown = [predicted] * 6
    similarity = [np.array([[rng.uniform(0.7, 0.8), rng.uniform(0.0, 0.3)]]) for _ in range(5)]
    sequence = candidate.tracking.sequence.Sequence([true] * 6, shown, [*similarity, np.array([[0.4, 1.0]])])
    found = candidate.tracking.hota.match(sequence, 0.35)
    np.testing.assert_array_equal(np.concatenate(found), [[0, 0]] * 6)
    found = candidate.tracking.hota.match(sequence, 0.45)
    np.testing.assert_array_equal(np.concatenate(found), [[0, 0]] * 5 + [[0, 1]])


@matching
def test_lengths_of_tracks_matter(candidate, rng):
    """Both partners were met equally often, but one of them has been elsewhere as well, without any true object."""
    true, predicted = names_of(rng, 1), names_of(rng, 2)
    extra, nobody = rng.integers(1, 4).item(), np.zeros(0, dtype=np.int64)
    similarity = np.array([[rng.uniform(0.9, 1.0), rng.uniform(0.5, 0.6)]])
    sequence = candidate.tracking.sequence.Sequence(
        [true] * 4 + [nobody] * extra,
        [predicted] * 4 + [predicted[:1]] * extra,
        [similarity] * 4 + [np.zeros((0, 1))] * extra,
    )
    found = candidate.tracking.hota.match(sequence, 0.5)
    np.testing.assert_array_equal(np.concatenate(found), [[0, 1]] * 4)


@matching
def test_similarity_decides_where_association_does_not(candidate, rng):
    true, predicted = names_of(rng, 2), names_of(rng, 2)
    base, step = rng.uniform(0.5, 0.6), rng.uniform(0.001, 0.1)
    crossed = np.array([[base, base + step], [base + step, base]])
    frames = [crossed, crossed[::-1], np.array([[base + step, base], [base, base]])]
    sequence = candidate.tracking.sequence.Sequence([true] * 3, [predicted] * 3, frames)
    found = candidate.tracking.hota.match(sequence, 0.45)
    np.testing.assert_array_equal(np.concatenate(found), [[0, 1], [1, 0], [0, 0], [1, 1], [0, 0], [1, 1]])


@matching
def test_frames_without_pairs(candidate, rng):
    true, predicted, nobody = names_of(rng, 2), names_of(rng, 3), np.zeros(0, dtype=np.int64)
    truth, shown = [true, nobody, nobody, true, true], [nobody, predicted, nobody, predicted, predicted]
    similarity = constant([(2, 0), (0, 3), (0, 0), (2, 3), (2, 3)], 0.5)
    similarity[3][:] = 0.0
    found = candidate.tracking.hota.match(candidate.tracking.sequence.Sequence(truth, shown, similarity), 0.4)
    assert_equivalent(list(found[:4]), [np.zeros((0, 2), dtype=np.int64)] * 4, check_dtype=True)
    assert found[4].shape == (2, 2)
    assert list(candidate.tracking.hota.match(candidate.tracking.sequence.Sequence([], [], []), 0.4)) == []


# count


@counting
def test_counts_follow_from_the_matches(candidate, reference, rng):
    """Track by track and pair by pair, from the matches of the authors."""
    frames = video(rng, true=5, predicted=4, frames=14)
    thresholds = (0.5, 0.2, 0.9, 0.2)
    counts = candidate.tracking.hota.count(candidate.tracking.sequence.Sequence(*frames), thresholds)
    assert tuple(counts.thresholds) == thresholds
    for place, threshold in enumerate(thresholds):
        found = reference.tracking.hota.match(reference.tracking.sequence.Sequence(*frames), threshold)
        pairs = [
            (int(frames[0][frame][row]), int(frames[1][frame][column]), frames[2][frame][row, column])
            for frame, rows in enumerate(found)
            for row, column in rows
        ]
        sums = np.zeros(4)
        for g, t, similarity in pairs:
            together = sum((g, t) == pair[:2] for pair in pairs)
            long, wide = (sum(each in frame for frame in side) for each, side in zip((g, t), frames[:2], strict=True))
            sums += together / (long + wide - together), together / long, together / wide, similarity
        objects = [sum(map(len, side)) for side in frames[:2]]
        assert [counts.tp[place], counts.fn[place], counts.fp[place]] == [
            len(pairs), objects[0] - len(pairs), objects[1] - len(pairs)
        ]  # fmt: skip
        for name, expected in zip(SUMS, sums, strict=True):
            np.testing.assert_allclose(getattr(counts, name)[place], expected, rtol=1e-9)


@counting
def test_counts_are_those_of_the_authors(candidate, reference, rng):
    """At the default thresholds, with similarities that equal some of them."""
    frames = video(rng)
    thresholds = np.array(reference.tracking.settings.THRESHOLDS)
    for similarity in frames[2]:
        if similarity.size:  # one in each frame, so that no two sums of similarities are equal
            similarity.flat[rng.integers(similarity.size)] = rng.choice(thresholds)
    found, expected = (
        parts(side.tracking.hota.count(side.tracking.sequence.Sequence(*frames)), COUNTS)
        for side in (candidate, reference)
    )
    assert len(expected["tp"]) == 19
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@counting
def test_a_track_in_pieces(candidate, rng):
    """One object, well detected, under a new id in each piece: each piece is associated with its share of the track."""
    first, second, missed = rng.integers(2, 9, 3).tolist()
    true, predicted, nobody = names_of(rng, 1), names_of(rng, 2), np.zeros(0, dtype=np.int64)
    shown = [predicted[:1]] * first + [nobody] * missed + [predicted[1:]] * second
    similarity = constant([(1, len(frame)) for frame in shown])
    sequence = candidate.tracking.sequence.Sequence([true] * len(shown), shown, similarity)
    counts = candidate.tracking.hota.count(sequence, (0.3, 0.8, 0.85))
    total, squares = first + second + missed, first**2 + second**2
    expected = {
        "thresholds": (0.3, 0.8, 0.85),
        "tp": np.array([first + second] * 2 + [0]),
        "fn": np.array([missed, missed, total]),
        "fp": np.array([0, 0, first + second]),
        "association": np.array([squares / total] * 2 + [0.0]),
        "association_recall": np.array([squares / total] * 2 + [0.0]),
        "association_precision": np.array([first + second] * 2 + [0.0]),
        "similarity": np.array([0.8 * (first + second)] * 2 + [0.0]),
    }
    assert_equivalent(parts(counts, COUNTS), expected, rtol=1e-9, check_dtype=True)


@counting
def test_ids_are_names_only(candidate, rng):
    """Other ids, in another order, and truth and prediction with ids in common."""
    frames = video(rng)
    thresholds = (0.1, 0.5)
    pools = [np.unique(np.concatenate(side)) for side in frames[:2]]
    renamed = []
    for side, pool in zip(frames[:2], pools, strict=True):
        new = rng.permutation(len(pool)) - 2
        renamed.append([new[np.searchsorted(pool, frame)] for frame in side])
    once, again = (
        parts(candidate.tracking.hota.count(candidate.tracking.sequence.Sequence(*each), thresholds), COUNTS)
        for each in (frames, (*renamed, frames[2]))
    )
    assert once["tp"][0] > 0
    assert_equivalent(again, once, rtol=1e-9, check_dtype=True)


@counting
def test_nothing_true_nothing_predicted_and_nothing_at_all(candidate, rng):
    ids, nobody = [names_of(rng, 3)] * 2, [np.zeros(0, dtype=np.int64)] * 2
    for frames, missed, invented in (
        ((ids, nobody, [np.zeros((3, 0))] * 2), 6, 0),
        ((nobody, ids, [np.zeros((0, 3))] * 2), 0, 6),
        ((nobody, nobody, [np.zeros((0, 0))] * 2), 0, 0),
        (([], [], []), 0, 0),
    ):
        counts = candidate.tracking.hota.count(candidate.tracking.sequence.Sequence(*frames), (0.25, 0.5))
        expected = {
            "thresholds": (0.25, 0.5),
            "tp": np.zeros(2, dtype=np.int64),
            "fn": np.full(2, missed),
            "fp": np.full(2, invented),
            **dict.fromkeys(SUMS, np.zeros(2)),
        }
        assert_equivalent(parts(counts, COUNTS), expected, check_dtype=True)


@counting
def test_sequences_are_not_modified(candidate, rng):
    frames = video(rng)
    sequence = candidate.tracking.sequence.Sequence(*frames)
    counts = candidate.tracking.hota.count(sequence, (0.2, 0.6))
    assert counts.tp[0] > 0
    kept = [list(getattr(sequence, name)) for name in ("truth", "predicted", "similarity")]
    assert_equivalent(kept, [list(side) for side in frames], rtol=0.0, atol=0.0)


# evaluate


def counted(rng, thresholds):
    """Arguments of counts that are possible in one sequence: with the same objects at each threshold, of which a higher
    one matches fewer, and with the same lengths of all tracks."""
    size = len(thresholds)
    true, predicted = rng.integers(30, 80, 2)
    tp = np.empty(size, dtype=np.int64)
    tp[np.argsort(thresholds)] = np.sort(rng.integers(1, 30, size))[::-1]
    recall, precision = rng.uniform(0.2, 1.0, (2, size))
    return {
        "thresholds": thresholds,
        "tp": tp,
        "fn": true - tp,
        "fp": predicted - tp,
        "association": tp / (1.0 / recall + 1.0 / precision - 1.0),
        "association_recall": tp * recall,
        "association_precision": tp * precision,
        "similarity": tp * rng.uniform(thresholds, 1.0),
    }


@scoring
@pytest.mark.parametrize("count", [1, 3])
def test_scores_are_those_of_the_totals(candidate, rng, count):
    thresholds = tuple(rng.uniform(0.1, 0.9, 4).tolist())
    given = [counted(rng, thresholds) for _ in range(count)]
    scores, means = candidate.tracking.hota.evaluate([candidate.tracking.results.Counts(**each) for each in given])
    total = {name: sum(each[name] for each in given) for name in COUNTS[1:]}
    tp = total["tp"]
    expected = {
        "det_a": tp / (tp + total["fn"] + total["fp"]),
        "det_re": tp / (tp + total["fn"]),
        "det_pr": tp / (tp + total["fp"]),
        "ass_a": total["association"] / tp,
        "ass_re": total["association_recall"] / tp,
        "ass_pr": total["association_precision"] / tp,
        "loc_a": total["similarity"] / tp,
    }
    expected["hota"] = np.sqrt(expected["det_a"] * expected["ass_a"])
    assert_equivalent(parts(scores, SCORES), expected, rtol=1e-9, check_dtype=True)
    assert_equivalent(means, {name: values.mean().item() for name, values in expected.items()}, rtol=1e-9)
    assert {type(value) for value in means.values()} == {float}


@scoring
def test_scores_without_anything_to_divide_by(candidate, rng):
    """Nothing at all, only misses, only inventions, both; a sequence of this kind among others changes little."""
    nothing = np.zeros(4, dtype=np.int64)
    thresholds = (0.2, 0.4, 0.6, 0.8)
    counts, run = candidate.tracking.results.Counts, candidate.tracking.hota.evaluate
    for missed, invented in ((0, 0), (5, 0), (0, 3), (5, 3)):
        empty = {
            "thresholds": thresholds,
            "tp": nothing,
            "fn": np.full(4, missed),
            "fp": np.full(4, invented),
            **dict.fromkeys(SUMS, np.zeros(4)),
        }
        scores, means = run([counts(**empty)])
        expected = {**dict.fromkeys(SCORES, np.zeros(4)), "loc_a": np.ones(4)}
        assert_equivalent(parts(scores, SCORES), expected, check_dtype=True)
        assert_equivalent(means, {**dict.fromkeys(SCORES, 0.0), "loc_a": 1.0})
        full = counted(rng, thresholds)
        scores, _ = run([counts(**empty), counts(**full)])
        np.testing.assert_allclose(scores.loc_a, full["similarity"] / full["tp"], rtol=1e-9)
        np.testing.assert_allclose(scores.ass_a, full["association"] / full["tp"], rtol=1e-9)
        lost = full["fn"] + full["fp"] + empty["fn"] + empty["fp"]
        np.testing.assert_allclose(scores.det_a, full["tp"] / (full["tp"] + lost), rtol=1e-9)
        single = {"thresholds": thresholds, "tp": nothing + 1, "fn": nothing, "fp": nothing}
        single |= {**dict.fromkeys(SUMS, np.ones(4)), "similarity": rng.uniform(0.8, 1.0, 4)}
        scores, _ = run([counts(**single), counts(**{**empty, "fn": nothing, "fp": nothing})])
        np.testing.assert_allclose(scores.loc_a, single["similarity"], rtol=1e-9)
        for score in (scores.ass_pr, scores.det_re):
            np.testing.assert_allclose(score, np.ones(4), rtol=1e-9)


@scoring
def test_counts_that_do_not_belong_together_are_refused(candidate, rng):
    run, counts = candidate.tracking.hota.evaluate, candidate.tracking.results.Counts
    one = counts(**counted(rng, (0.25, 0.5)))
    for other in ((0.25, 0.75), (0.5, 0.25), (0.25,), (0.25, 0.5, 0.75)):
        with pytest.raises(ValueError):  # noqa: PT011
            run([one, counts(**counted(rng, other))])
        with pytest.raises(ValueError):  # noqa: PT011 - neither the first nor the last one
            run([one, counts(**counted(rng, other)), one])
    with pytest.raises(ValueError):  # noqa: PT011
        run([])
    scores, _ = run([one, counts(**counted(rng, (0.25, 0.5)))])
    assert scores.hota.shape == (2,)


@scoring
def test_a_perfect_tracker_and_one_that_forgets(candidate, rng):
    """All scores are 1; with a new id in every frame, only association suffers."""
    size, frames = 3, rng.integers(4, 9).item()
    true = names_of(rng, size)
    order = [rng.permutation(size) for _ in range(frames)]
    similarity = [np.where(each[None] == np.arange(size)[:, None], 1.0, 0.0) for each in order]
    fresh = names_of(rng, size * frames).reshape(frames, size)
    results = []
    for shown in ([true[each] for each in order], list(fresh)):
        sequence = candidate.tracking.sequence.Sequence([true] * frames, shown, similarity)
        results.append(candidate.tracking.hota.evaluate([candidate.tracking.hota.count(sequence)])[1])
    assert_equivalent(results[0], dict.fromkeys(SCORES, 1.0), rtol=1e-9)
    expected = {**dict.fromkeys(SCORES, 1.0), "ass_a": 1 / frames, "ass_re": 1 / frames, "hota": frames**-0.5}
    assert_equivalent(results[1], expected, rtol=1e-9)


@scoring
def test_the_report_is_that_of_the_authors(candidate, reference, rng):
    """Boxes that move, with misses, inventions and exchanged ids; two sequences with the same ids."""

    def rows(noise):
        found = []
        for frame, track in itertools.product(range(1, 9), range(4)):
            if rng.uniform() < 0.85:
                place = np.array([10.0 * track + frame, 5.0 * frame]) + noise * rng.normal(size=2)
                name = 7 * track if frame < 6 else 7 * (3 - track)
                found.append([frame, name if noise else track, *place, 12.0, 9.0])
        return np.array(found)

    boxes = [(rows(0.0), rows(noise)) for noise in (1.0, 2.5)]
    tables = [
        side.tracking.report.report(
            {f"sequence {k}": side.tracking.boxes.sequence_of(*each, 8) for k, each in enumerate(boxes)}
        )
        for side in (candidate, reference)
    ]
    assert 0.0 < tables[1]["combined"]["hota"] < 1.0
    assert_equivalent(tables[0], tables[1], rtol=1e-9)


@scoring
def test_counts_are_not_modified(candidate, rng):
    given = [counted(rng, (0.25, 0.5)) for _ in range(2)]
    records = [candidate.tracking.results.Counts(**each) for each in given]
    scores, _ = candidate.tracking.hota.evaluate(records)
    assert scores.hota.all()
    for record, before in zip(records, given, strict=True):
        assert_equivalent(parts(record, COUNTS), before, rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
