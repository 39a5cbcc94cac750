"""Hidden tests of the task token-merging."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

matching = pytest.mark.interface("vit.merging.match")
merging = pytest.mark.interface("vit.merging.merge")
tracing = pytest.mark.interface("vit.merging.trace")
unmerging = pytest.mark.interface("vit.merging.unmerge")
attending = pytest.mark.interface("vit.merging.attend")

# Sums of a few dozen float64 numbers: their rounding is far below a relative 1e-6.
CLOSE = {"rtol": 1e-6, "atol": 1e-9}
FIELDS = ("first", "second", "sources", "destinations")


def fields(found):
    return [getattr(found, name) for name in FIELDS]


def cosine(one, two):
    lengths = math.sqrt(float(one @ one)) * math.sqrt(float(two @ two))
    return float(one @ two) / lengths if lengths > 0.0 else 0.0


def match_by_hand(metric, r, protected):
    metric = np.asarray(metric, dtype=np.float64)
    count = len(metric)
    r = max(min(r, (count - protected) // 2), 0)
    if r == 0:
        return [np.array(each, dtype=np.int64) for each in (range(count), (), (), ())]
    edges = []
    for a in range(0, count, 2):
        if a >= protected:
            pairs = [(-cosine(metric[a], metric[b]), b) for b in range(1, count, 2) if b >= protected]
            edges.append((min(pairs)[0], a, min(pairs)[1]))
    pairs = sorted((a, b) for _, a, b in sorted(edges)[:r])
    sources = [a for a, _ in pairs]
    first = [a for a in range(0, count, 2) if a not in sources]
    arrays = first, range(1, count, 2), sources, [b for _, b in pairs]
    return [np.array(each, dtype=np.int64) for each in arrays]


def drawn(rng, count=11, merged=3):
    """Arrays of a matching; two tokens are merged into the same one."""
    left, second = np.arange(0, count, 2), np.arange(1, count, 2)
    sources = np.sort(rng.choice(left[1:], merged, replace=False))
    destinations = rng.choice(second, merged - 1, replace=False)
    destinations = rng.permutation(np.append(destinations, destinations[0]))
    return np.setdiff1d(left, sources), second, sources, destinations


def rows_of(first, second, sources, destinations):
    """The row of each token after merging."""
    order = [*first.tolist(), *second.tolist()]
    partner = dict(zip(sources.tolist(), destinations.tolist(), strict=True))
    return [order.index(partner.get(place, place)) for place in range(len(order) + len(partner))]


def matching_of(side, arrays):
    return side.vit.matching.Matching(*(each.copy() for each in arrays))


# match


@matching
def test_the_most_similar_pairs_are_matched(candidate, rng):
    """Lengths of vectors play no part; vectors of a common direction have other partners by inner product."""
    for count in (6, 13, 16):
        metric = rng.normal(size=(count, 5)) * 10.0 ** rng.uniform(-30.0, 30.0, (count, 1))
        for protected in (0, 1, 2, 3):
            for r in (1, 2, 4):
                found = assert_unmodified(candidate.vit.merging.match, metric, r, protected)
                assert_equivalent(fields(found), match_by_hand(metric, r, protected), check_dtype=True)
        found = candidate.vit.merging.match(metric, 2)
        assert_equivalent(fields(found), match_by_hand(metric, 2, 1))


@matching
def test_protected_tokens_have_no_edges(candidate, rng):
    """All tokens look like the protected ones, and less like each other."""
    for protected in (1, 2, 3):
        metric = np.zeros((12, 14))
        metric[:, 0], metric[protected:, 1:13] = 1.0, np.diag(rng.uniform(0.5, 1.0, 12))[protected:]
        for r in (2, 20):
            found = candidate.vit.merging.match(metric, r, protected)
            assert_equivalent(fields(found), match_by_hand(metric, r, protected))
            assert not set(range(protected)) & {*found.sources.tolist(), *found.destinations.tolist()}
        opposite = np.where(np.arange(12) % 2 == 0, 1.0, -1.0)[:, None] * 2.0 ** rng.integers(-4, 5, (12, 1))
        for r in (1, 20):  # no similarity is above -1
            found = candidate.vit.merging.match(opposite, r, protected)
            assert_equivalent(fields(found), match_by_hand(opposite, r, protected))


@matching
def test_equal_similarities(candidate, rng):
    """Multiples of unit vectors by powers of two: all arithmetic is exact."""
    for count, kinds in ((70, 3), (17, 2), (20, 1)):
        kind = rng.integers(0, kinds, count)
        metric = np.eye(4)[kind] * 2.0 ** rng.integers(-4, 5, (count, 1))
        for r in (1, 3, 5, count // 2):
            found = candidate.vit.merging.match(metric, r)
            assert_equivalent(fields(found), match_by_hand(metric, r, 1))


@matching
def test_close_similarities_are_not_equal(candidate, rng):
    """They differ by 1e-9 to 1e-6: much more than the rounding of float64, and less than that of float32."""
    metric = np.tile([1.0, 1.0], (16, 1))
    metric[::2, 1] = 1e-4 * rng.permutation(np.arange(1, 9))
    metric[[3, 9]] = [[1.0, -3e-5], [1.0, 0.0]]  # the second is the better partner, for all
    for dtype in (np.float64, np.float32):
        for r in (1, 3, 5):
            found = candidate.vit.merging.match(metric.astype(dtype), r)
            assert_equivalent(fields(found), match_by_hand(metric.astype(dtype), r, 1))


@matching
def test_vectors_of_zeros(candidate, rng):
    """They are as similar to everything as vectors at a right angle, and more than those at an obtuse one."""
    metric = np.zeros((10, 3))
    metric[[0, 2, 4]] = rng.uniform(0.5, 1.0, (3, 3))
    metric[[1, 7, 9]] = -rng.uniform(0.5, 1.0, (3, 3))
    metric[6] = metric[7] * rng.uniform(1.0, 2.0)
    for r, sources, destinations in ((1, [6], [7]), (2, [2, 6], [3, 7]), (4, [2, 4, 6, 8], [3, 3, 7, 1])):
        found = candidate.vit.merging.match(metric, r)
        np.testing.assert_array_equal(found.sources, sources)
        np.testing.assert_array_equal(found.destinations, destinations)


@matching
def test_limits_and_orders_that_stay(candidate, rng):
    none = np.zeros(0, dtype=np.int64)
    for count, protected, r in ((7, 1, 0), (8, 0, 0), (2, 1, 3), (3, 2, 1), (1, 1, 5), (1, 4, 2), (5, 6, 1), (0, 0, 1)):
        found = candidate.vit.merging.match(rng.normal(size=(count, 3)), r, protected)
        assert_equivalent(fields(found), [np.arange(count), none, none, none], check_dtype=True)
    for count, protected, most in ((9, 1, 4), (9, 0, 4), (8, 1, 3), (8, 2, 3), (2, 0, 1), (7, 4, 1)):
        metric = rng.normal(size=(count, 3))
        found = candidate.vit.merging.match(metric, 100, protected)
        assert len(found.sources) == most
        assert_equivalent(fields(found), match_by_hand(metric, 100, protected))
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.vit.merging.match(metric, -1, protected)


@matching
def test_metrics_of_other_types(candidate, rng):
    metric = rng.integers(-128, 128, (14, 4))
    for given in (metric.astype(np.int8), metric.astype(np.int16), metric.astype(np.float32)):
        assert_equivalent(fields(candidate.vit.merging.match(given, 4)), match_by_hand(metric, 4, 1))


# merge


@merging
def test_tokens_are_means_weighted_by_size(candidate, rng):
    for count, merged in ((11, 3), (14, 5)):
        arrays = drawn(rng, count, merged)
        rows, after = rows_of(*arrays), count - merged
        x, size = rng.normal(size=(count, 4)), rng.uniform(0.3, 5.0, count)
        members = [[place for place in range(count) if rows[place] == row] for row in range(after)]
        sizes = np.array([sum(size[place] for place in each) for each in members])
        tokens = np.array([sum(size[place] * x[place] for place in each) for each in members]) / sizes[:, None]
        found = assert_unmodified(candidate.vit.merging.merge, matching_of(candidate, arrays), x, size)
        assert_equivalent(tuple(found), (tokens, sizes), **CLOSE, check_dtype=True)
        whole = np.round(30 * x).astype(np.int8), np.ceil(20 * size).astype(np.int8)
        found = candidate.vit.merging.merge(matching_of(candidate, arrays), *whole)
        exact = candidate.vit.merging.merge(
            matching_of(candidate, arrays), *(each.astype(np.float64) for each in whole)
        )
        assert_equivalent(tuple(found), tuple(exact), **CLOSE, check_dtype=True)


@merging
def test_merging_twice_gives_means_of_all_patches(candidate, rng):
    x = rng.normal(size=(12, 3))
    tokens, size, groups = x, np.ones(12), [[place] for place in range(12)]
    for merged in (4, 3):
        arrays = drawn(rng, len(tokens), merged)
        tokens, size = candidate.vit.merging.merge(matching_of(candidate, arrays), tokens, size)
        rows = rows_of(*arrays)
        groups = [
            [each for place, group in enumerate(groups) if rows[place] == row for each in group]
            for row in range(len(tokens))
        ]
    np.testing.assert_allclose(size, [len(group) for group in groups], rtol=1e-9)
    np.testing.assert_allclose(tokens, [x[group].mean(axis=0) for group in groups], rtol=1e-6, atol=1e-9)


@merging
def test_nothing_to_merge_and_wrong_numbers(candidate, rng):
    x, size, none = rng.normal(size=(6, 3)), rng.uniform(1.0, 4.0, 6), np.zeros(0, dtype=np.int64)
    same = matching_of(candidate, (np.arange(6), none, none, none))
    assert_equivalent(tuple(candidate.vit.merging.merge(same, x, size)), (x, size), **CLOSE)
    arrays = drawn(rng, 6, 2)
    for bad in ((x[:1], size), (x[:5], size[:5]), (x, size[:5]), (x[:5], size), (x, size[:, None]), (x, size[:1])):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.vit.merging.merge(matching_of(candidate, arrays), *bad)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.vit.merging.merge(
            matching_of(candidate, arrays), np.concatenate([x, x[:1]]), np.concatenate([size, size[:1]])
        )


# trace


@tracing
def test_sources_of_merged_tokens(candidate, rng):
    arrays = drawn(rng, 13, 4)
    rows = rows_of(*arrays)
    source = rng.uniform(size=(13, 17)) < 0.4
    expected = np.array([source[[place for place in range(13) if rows[place] == row]].any(axis=0) for row in range(9)])
    found = assert_unmodified(candidate.vit.merging.trace, matching_of(candidate, arrays), source)
    assert_equivalent(found, expected, check_dtype=True)
    for bad in (source[:12], source[:9], source[:1], np.concatenate([source, source[:1]])):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.vit.merging.trace(matching_of(candidate, arrays), bad)


@tracing
def test_the_model_is_that_of_the_authors(candidate, reference, rng):
    """Three blocks, the last of which is limited. Each token stands for as many patches as its size says."""
    shapes = [(2, 6, 4), (2, 6, 4), (2, 6, 3), (2, 3, 6), (6, 8), (8, 6)]
    weights = [[rng.normal(scale=0.5, size=shape) for shape in shapes] for _ in range(3)]
    image, embedding, token = rng.normal(size=(6, 12)), rng.normal(size=(4, 6)), rng.normal(size=6)
    found = []
    for side in (candidate, reference):
        model = side.vit.model.Model(tuple(side.vit.block.Block(*each) for each in weights), 7)
        output = model(side.vit.patches.tokens_of(image, 2, embedding, token))
        assert output.tokens.shape == (4, 6)
        np.testing.assert_array_equal(output.source.sum(axis=1), output.size)
        np.testing.assert_array_equal(output.source[0], np.arange(19) == 0)
        found.append([output.tokens, output.size, output.source, output.dense()])
    assert_equivalent(found[0], found[1], **CLOSE)


# unmerge


@unmerging
def test_rows_are_copied_back(candidate, rng):
    for count, merged in ((11, 3), (12, 5)):
        arrays = drawn(rng, count, merged)
        y = rng.normal(size=(count - merged, 4))
        found = assert_unmodified(candidate.vit.merging.unmerge, matching_of(candidate, arrays), y)
        assert_equivalent(found, y[rows_of(*arrays)], rtol=0.0, atol=0.0, check_dtype=True)
        single = candidate.vit.merging.unmerge(matching_of(candidate, arrays), y.astype(np.float32))
        assert_equivalent(single, y.astype(np.float32).astype(np.float64)[rows_of(*arrays)], check_dtype=True)


@unmerging
def test_unmerging_nothing_and_wrong_numbers(candidate, rng):
    none = np.zeros(0, dtype=np.int64)
    y = rng.normal(size=(6, 3))
    same = matching_of(candidate, (np.arange(6), none, none, none))
    assert_equivalent(candidate.vit.merging.unmerge(same, y), y)
    arrays = drawn(rng, 9, 3)
    assert candidate.vit.merging.unmerge(matching_of(candidate, arrays), y).shape == (9, 3)
    for bad in (y[:5], np.concatenate([y, y[:1]]), np.concatenate([y, y[:3]])):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.vit.merging.unmerge(matching_of(candidate, arrays), bad)


# attend


def attention_by_hand(queries, keys, values, size):
    result = np.zeros((*queries.shape[:2], values.shape[2]))
    for head, place in np.ndindex(queries.shape[:2]):
        logits = keys[head] @ queries[head, place] / math.sqrt(keys.shape[2])
        weights = size * np.exp(logits - logits.max())
        result[head, place] = weights @ values[head] / weights.sum()
    return result


@attending
def test_attention_is_proportional_to_size(candidate, rng):
    queries, keys, values = rng.normal(size=(3, 7, 5)), rng.normal(size=(3, 7, 5)), rng.normal(size=(3, 7, 4))
    size = rng.uniform(0.2, 6.0, 7)
    found = assert_unmodified(candidate.vit.merging.attend, queries, keys, values, size)
    assert_equivalent(found, attention_by_hand(queries, keys, values, size), **CLOSE, check_dtype=True)


@attending
def test_a_token_of_size_s_counts_as_s_copies(candidate, rng):
    queries, keys, values = rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 3)), rng.normal(size=(2, 5, 3))
    size = rng.integers(1, 5, 5)
    many = [np.repeat(each, size, axis=1) for each in (queries, keys, values)]
    found = candidate.vit.merging.attend(queries, keys, values, size)
    copies = candidate.vit.merging.attend(*many, np.ones(size.sum()))
    assert_equivalent(np.repeat(found, size, axis=1), copies, **CLOSE)
    assert_equivalent(copies, attention_by_hand(*many, np.ones(size.sum())), **CLOSE)


@attending
def test_large_logits_and_other_types(candidate, rng):
    """Logits of 1e4 and -1e4, in the same row or in others; single precision would be wrong by more than the tolerance."""
    queries, keys = rng.normal(size=(2, 6, 4)), rng.normal(size=(2, 6, 4))
    values, size = rng.normal(size=(2, 6, 3)), rng.integers(1, 9, 6)
    queries[..., 0], keys[..., 0] = 200.0, 100.0
    queries[:, ::2, 0], keys[0, 1::3, 0] = -200.0, -100.0
    for dtype in (np.float64, np.float32):
        given = [each.astype(dtype) for each in (queries, keys, values)]
        expected = attention_by_hand(*(each.astype(np.float64) for each in given), size.astype(np.float64))
        found = candidate.vit.merging.attend(*given, size.astype(np.int8))
        assert_equivalent(found, expected, rtol=1e-6, atol=1e-8, check_dtype=True)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
