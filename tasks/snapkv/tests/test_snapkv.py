"""Hidden tests of the task snapkv."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

voting = pytest.mark.interface("serving.snapkv.votes")
pooling = pytest.mark.interface("serving.snapkv.pool")
selecting = pytest.mark.interface("serving.snapkv.select")
compressing = pytest.mark.interface("serving.snapkv.compress")
hitting = pytest.mark.interface("serving.snapkv.hit_rate")

# Sums of a few dozen float64 numbers: their rounding is far below a relative 1e-6, that of float32 is not.
CLOSE = {"rtol": 1e-6, "atol": 1e-9}
ODD = ("average", "max")


def drawn(rng, size, heads=2, group=3, width=5, scale=2.0):
    """Queries, keys and values of a prompt."""
    queries = rng.normal(scale=scale, size=(heads * group, size, width))
    keys, values = rng.normal(scale=scale, size=(heads, size, width)), rng.normal(size=(heads, size, width + 2))
    return queries, keys, values


def votes_by_hand(queries, keys, window):
    group, size = len(queries) // len(keys), keys.shape[1]
    found = np.zeros((len(queries), size - window))
    for head, query in enumerate(queries.astype(np.float64)):
        key = keys[head // group].astype(np.float64)
        for place in range(size - window, size):
            logits = [float(query[place] @ key[other]) / math.sqrt(len(key[0])) for other in range(place + 1)]
            weights = [math.exp(logit - max(logits)) for logit in logits]
            found[head] += np.array(weights[: size - window]) / sum(weights)
    return found


def pooled_by_hand(row, kernel, how):
    reach = kernel // 2
    near = [row[max(place - reach, 0) : place + reach + 1] for place in range(len(row))]
    return [sum(each) / kernel if how == "average" else max(each) for each in near]


def largest(row, count):
    return sorted(sorted(range(len(row)), key=lambda place: (-row[place], place))[:count])


def settings_of(side, **options):
    return side.serving.settings.Settings(**options)


# votes


@voting
def test_votes_are_sums_of_causal_attention(candidate, rng):
    for heads, group, size, window in ((2, 3, 17, 4), (3, 1, 12, 1), (1, 4, 9, 8)):
        queries, keys, values = drawn(rng, size, heads, group)
        prompt = candidate.serving.prompt.Prompt(queries, keys, values)
        found = candidate.serving.snapkv.votes(prompt, window)
        assert_equivalent(found, votes_by_hand(queries, keys, window), **CLOSE, check_dtype=True)


@voting
def test_keys_without_direction_share_all_attention(candidate, rng):
    """Each token of the window divides its attention among itself and all tokens before."""
    size, window = rng.integers(12, 30).item(), rng.integers(2, 8).item()
    queries, keys, values = drawn(rng, size, width=4)
    share = sum(1 / (place + 1) for place in range(size - window, size))
    for query, key in ((queries, 0.0), (100.0, 50.0), (100.0, -50.0)):  # logits of 0, 1e4 and -1e4
        given = np.broadcast_to(query, queries.shape), np.full_like(keys, key)
        prompt = candidate.serving.prompt.Prompt(*given, values)
        assert_equivalent(candidate.serving.snapkv.votes(prompt, window), np.full((6, size - window), share), **CLOSE)


@voting
def test_large_logits(candidate, rng):
    """All attention goes to one position, and an offset of all logits changes nothing."""
    size, window = 14, 3
    for sign in (1.0, -1.0):
        queries = np.full((4, size, 4), 100.0)
        keys = np.full((2, size, 4), sign * 50.0)  # logits of 1e4 in one head and -1e4 in the other
        keys[1] *= -1.0
        chosen = rng.integers(0, size - window, 2)
        keys[[0, 1], chosen] += 25.0
        found = candidate.serving.snapkv.votes(candidate.serving.prompt.Prompt(queries, keys, keys), window)
        expected = np.zeros((4, size - window))
        expected[np.arange(4), np.repeat(chosen, 2)] = window
        assert_equivalent(found, expected, **CLOSE)


@voting
def test_work_is_done_in_float64(candidate, rng):
    """Single-precision logits of a few hundred would be wrong by more than the tolerance, half-precision ones overflow."""
    queries, keys, values = drawn(rng, 16, scale=1.0)
    keys[..., 0], queries[..., 0] = 20.0, 30.0
    for dtype in (np.float32, np.float16):
        given = [each.astype(dtype) for each in (10.0 * queries, keys, values)]
        found = candidate.serving.snapkv.votes(candidate.serving.prompt.Prompt(*given), 4)
        assert_equivalent(found, votes_by_hand(*given[:2], 4), **CLOSE, check_dtype=True)


@voting
def test_a_prompt_without_prefix_and_one_that_is_too_short(candidate, rng):
    queries, keys, values = drawn(rng, 5)
    prompt = candidate.serving.prompt.Prompt(queries, keys, values)
    assert candidate.serving.snapkv.votes(prompt, 5).shape == (6, 0)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.serving.snapkv.votes(prompt, 6)
    assert_equivalent([prompt.queries, prompt.keys, prompt.values], [queries, keys, values], rtol=0.0, atol=0.0)


# pool


@pooling
@pytest.mark.parametrize("how", ODD)
def test_pooling_of_neighbours(candidate, rng, how):
    for kernel in (1, 3, 7, 25):
        settings = settings_of(candidate, window=1, capacity=2, kernel=kernel, pooling=how)
        votes = rng.normal(size=(2, 3, 9)) - 1.0
        found = assert_unmodified(candidate.serving.snapkv.pool, votes, settings)
        expected = np.array([[pooled_by_hand(list(row), kernel, how) for row in head] for head in votes])
        assert_equivalent(found, expected, **CLOSE, check_dtype=True)
        assert candidate.serving.snapkv.pool(votes[..., :0], settings).shape == (2, 3, 0)
        single = candidate.serving.snapkv.pool(votes[0, 0].astype(np.float32), settings)
        expected = np.array(pooled_by_hand(votes[0, 0].astype(np.float32).astype(np.float64), kernel, how))
        assert_equivalent(single, expected, rtol=1e-9, atol=1e-12, check_dtype=True)
        whole = rng.integers(200, 256, 9, dtype=np.uint8)
        expected = np.array(pooled_by_hand(whole.tolist(), kernel, how), dtype=np.float64)
        assert_equivalent(candidate.serving.snapkv.pool(whole, settings), expected, **CLOSE, check_dtype=True)


@pooling
def test_all_negative_votes(candidate, rng):
    """The largest neighbour is one that exists, also at the ends."""
    settings = settings_of(candidate, window=1, capacity=2, kernel=5, pooling="max")
    votes = -rng.uniform(1.0, 2.0, 8)
    found = candidate.serving.snapkv.pool(votes, settings)
    assert_equivalent(found, np.array(pooled_by_hand(list(votes), 5, "max")), **CLOSE)
    default = candidate.serving.snapkv.pool(np.full(8, -3.0), settings_of(candidate))
    assert_equivalent(default, -3.0 * np.array([0.6, 0.8, 1.0, 1.0, 1.0, 1.0, 0.8, 0.6]), **CLOSE)


# select


@selecting
def test_largest_scores_in_order_of_position(candidate, rng):
    scores = rng.permuted(np.linspace(-1.0, 1.0, 24).reshape(2, 12), axis=1).reshape(2, 1, 12)
    for count in (0, 1, 5, 12):
        found = assert_unmodified(candidate.serving.snapkv.select, scores, count)
        expected = np.array([[largest(row, count) for row in head] for head in scores], dtype=np.int64)
        assert_equivalent(found, expected.reshape(2, 1, count), check_dtype=True)
    assert_equivalent(candidate.serving.snapkv.select(scores[1, 0], 3), expected[1, 0][largest(scores[1, 0], 3)])


@selecting
def test_equal_scores_by_position(candidate, rng):
    scores = rng.choice([0.25, 0.5, 0.75], (5, 40))
    for count in (3, 20, 33):
        found = candidate.serving.snapkv.select(scores, count)
        np.testing.assert_array_equal(found, [largest(row, count) for row in scores])
    near = 0.5 + 1e-9 * rng.permuted(np.tile(np.arange(20), (3, 1)), axis=1)  # close, but not equal
    np.testing.assert_array_equal(candidate.serving.snapkv.select(near, 6), [largest(row, 6) for row in near])


@selecting
def test_other_types_and_wrong_counts(candidate, rng):
    scores = rng.permutation(np.array([0, 1, 2, 3, 126, 127, 127, 5], dtype=np.uint8))
    for dtype in (np.uint8, np.int8, np.uint64, np.float32):
        found = candidate.serving.snapkv.select(scores.astype(dtype), 4)
        np.testing.assert_array_equal(found, largest(scores.tolist(), 4))
    for dtype in (np.int8, np.int16, np.int32):  # the smallest integer has no negative of its own type
        signed = rng.permutation(np.array([np.iinfo(dtype).min, -5, 5, 7, 0], dtype=dtype))
        np.testing.assert_array_equal(candidate.serving.snapkv.select(signed, 2), largest(signed.tolist(), 2))
    ends = rng.permutation([1.0, -np.inf, -np.inf, -np.inf, np.inf])
    for count in (3, 4, 5):
        np.testing.assert_array_equal(candidate.serving.snapkv.select(ends, count), largest(ends.tolist(), count))
    flags = rng.permutation([True, False, False, True, False])
    np.testing.assert_array_equal(candidate.serving.snapkv.select(flags, 3), largest(flags.tolist(), 3))
    for count in (-1, 9):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.serving.snapkv.select(scores, count)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.serving.snapkv.select(np.zeros((9, 3)), 4)


# compress


def fields(cache):
    return cache.keys, cache.values, cache.positions, cache.length


@compressing
@pytest.mark.parametrize("how", ODD)
def test_each_head_keeps_what_its_group_votes_for(candidate, rng, how):
    for heads, group, size, window in ((2, 3, 40, 4), (3, 1, 30, 5), (1, 4, 36, 2), (2, 2, 50, 6)):
        queries, keys, values = drawn(rng, size, heads, group)
        queries, values = queries.astype(np.float32), values.astype(np.float32)
        settings = settings_of(candidate, window=window, capacity=window + 11, kernel=5, pooling=how)
        prompt = candidate.serving.prompt.Prompt(queries, keys, values)
        pooled = np.array([pooled_by_hand(list(row), 5, how) for row in votes_by_hand(queries, keys, window)])
        scores = pooled.reshape(heads, group, -1).sum(axis=1)
        kept = np.array([[*largest(row, 11), *range(size - window, size)] for row in scores])
        chosen = [np.stack([part[head, rows] for head, rows in enumerate(kept)]) for part in (keys, values)]
        found = fields(candidate.serving.snapkv.compress(prompt, settings))
        assert_equivalent(found, (*chosen, kept, size), rtol=0.0, atol=0.0, check_dtype=True)
        assert_equivalent([prompt.queries, prompt.keys, prompt.values], [queries, keys, values], rtol=0.0, atol=0.0)


@compressing
@pytest.mark.parametrize("how", ODD)
def test_a_needle_is_kept_with_its_neighbours(candidate, rng, how):
    """One position of each head gets all attention. What is left is filled up with the first positions."""
    size, window, kernel, room = 40, 3, 7, 12
    needles = np.array([rng.integers(0, 3), rng.integers(16, 30), rng.integers(34, 37)])
    keys = np.zeros((3, size, 2))
    keys[np.arange(3), needles] = 1000.0
    prompt = candidate.serving.prompt.Prompt(np.full((6, size, 2), 1000.0), keys, keys)
    settings = settings_of(candidate, window=window, capacity=window + room, kernel=kernel, pooling=how)
    found = candidate.serving.snapkv.compress(prompt, settings)
    expected = []
    for needle in needles.tolist():
        near = [place for place in range(size - window) if abs(place - needle) <= 3]
        rest = [place for place in range(size - window) if place not in near]
        expected.append([*sorted([*near, *rest[: room - len(near)]]), *range(size - window, size)])
    np.testing.assert_array_equal(found.positions, expected)
    settings = settings_of(candidate, window=window, capacity=window + 1, kernel=kernel, pooling=how)
    found = candidate.serving.snapkv.compress(prompt, settings)
    np.testing.assert_array_equal(found.positions[:, 0], np.maximum(needles - 3, 0))


@compressing
def test_short_prompts_are_kept_whole(candidate, rng):
    """Shorter than the window, than the capacity, and just as long; one more token is one too many."""
    settings = settings_of(candidate, window=6, capacity=15, kernel=3)
    for size in (1, 4, 6, 11, 14, 15):
        queries, keys, values = drawn(rng, size)
        prompt = candidate.serving.prompt.Prompt(queries, keys.astype(np.float32), values.astype(np.float16))
        found = fields(candidate.serving.snapkv.compress(prompt, settings))
        expected = (prompt.keys, prompt.values, np.tile(np.arange(size), (2, 1)), size)
        assert_equivalent(found, expected, rtol=0.0, atol=0.0, check_dtype=True)
    prompt = candidate.serving.prompt.Prompt(*drawn(rng, 16))
    assert candidate.serving.snapkv.compress(prompt, settings).positions.shape == (2, 15)


def layer_of(side, rng, heads=2, group=2, depth=6):
    """A layer with sharp attention."""
    shapes = (heads * group, depth, 4), (heads, depth, 4), (heads, depth, 3), (heads * group, 3, depth)
    return side.serving.layer.Layer(
        *(rng.normal(scale=1.5 if k < 2 else 0.6, size=each) for k, each in enumerate(shapes))
    )


@compressing
def test_generation_is_that_of_the_authors(candidate, reference, rng):
    seed, tokens = rng.integers(2**32), rng.normal(size=(31, 6))
    for capacity in (12, 40):
        outputs = []
        for side in (candidate, reference):
            layer = layer_of(side, np.random.default_rng(seed))
            settings = settings_of(side, window=4, capacity=capacity, kernel=3, pooling="max")
            outputs.append(layer.generate(tokens, 4, settings))
        assert_equivalent(*outputs, rtol=1e-6, atol=1e-9)


# hit_rate


@hitting
def test_hits_among_important_weights(candidate, rng):
    weights = rng.dirichlet(np.full(15, 0.3), (2, 6))
    for each, threshold in zip(weights, (0.02, 0.1), strict=True):
        positions = np.array([rng.permutation(15)[:7] for _ in range(3)])
        hits = [
            place in positions[head // 2]
            for head in range(6)
            for place in range(15)
            if each[head, place] > threshold
        ]  # fmt: skip
        found = assert_unmodified(candidate.serving.snapkv.hit_rate, each, positions, threshold)
        assert type(found) is float
        assert_equivalent(found, sum(hits) / len(hits), rtol=1e-9)


@hitting
def test_thresholds_windows_and_nothing_important(candidate, rng):
    run = candidate.serving.snapkv.hit_rate
    heads = rng.permutation(4)
    weights = np.full((4, 10), 0.01)
    weights[heads[0], 2], weights[heads[1], 7], weights[heads[2], 9], weights[heads[3], 0] = 0.05, 0.051, 0.8, 0.049
    assert_equivalent(run(weights, np.tile([2, 0, 7], (4, 1))), 0.5, rtol=1e-9)
    assert_equivalent(run(weights, np.tile([12, 9, 10, 11, 7], (2, 1))), 1.0, rtol=1e-9)
    assert_equivalent(run(weights, np.tile([9, 10, 11], (1, 1)), 0.7), 1.0, rtol=1e-9)
    assert_equivalent(run(weights, np.tile([8, 10, 11], (1, 1)), 0.7), 0.0, rtol=1e-9)
    for threshold in (0.8, 0.9):
        found = run(weights, np.array([[3], [5]]), threshold)
        assert type(found) is float
        assert found == 1.0
    assert run(weights, np.zeros((2, 0), dtype=np.int64)) == 0.0
    assert run(weights[:, :0], np.array([[3], [5]])) == 1.0
    for threshold in (0.05, 0.9):
        with pytest.raises(ValueError):  # noqa: PT011
            run(weights, np.tile([2, 7, 9], (3, 1)), threshold)
        for count in (1, 2, 3):  # fewer query heads than key-value heads
            with pytest.raises(ValueError):  # noqa: PT011
                run(weights[:count], np.tile([2, 7, 9], (4, 1)), threshold)
    single = np.full((2, 6), 0.05, dtype=np.float32)  # a little more than 0.05
    assert_equivalent(run(single, np.array([[3]])), 1 / 6, rtol=1e-9)


@hitting
def test_hit_rates_of_a_layer_are_those_of_the_authors(candidate, reference, rng):
    seed, tokens = rng.integers(2**32), rng.normal(size=(34, 6))
    found = []
    for side in (candidate, reference):
        layer = layer_of(side, np.random.default_rng(seed), heads=2, group=3)
        settings = settings_of(side, window=4, capacity=10, kernel=3)
        found.append(side.serving.report.hit_rates(layer, tokens, 5, settings, 0.03))
    assert_equivalent(*found, rtol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
