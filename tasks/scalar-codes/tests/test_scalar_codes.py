"""Hidden tests of the task scalar-codes."""

import collections
import itertools
import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

bounding = pytest.mark.interface("tokenizer.codes.bound")
slope = pytest.mark.interface("tokenizer.codes.gradient")
encoding = pytest.mark.interface("tokenizer.codes.encode")
decoding = pytest.mark.interface("tokenizer.codes.decode")
counting = pytest.mark.interface("tokenizer.codes.usage")


def drawn(rng, most=9):
    """Levels of four dimensions, two odd and two even ones, and an eps."""
    levels = [*(2 * rng.integers(1, most // 2, 2) + 1), *(2 * rng.integers(2, most // 2, 2))]
    return tuple(rng.permutation(levels).tolist()), rng.uniform(0.001, 0.05)


def parts_of(level, eps):
    half = (level - 1) * (1 - eps) / 2
    offset = 0.0 if level % 2 else 0.5
    return half, offset, math.atanh(offset / half)


def bounded_by_hand(z, levels, eps):
    result = np.empty(z.shape)
    for place in np.ndindex(z.shape):
        half, offset, shift = parts_of(levels[place[-1]], eps)
        result[place] = half * math.tanh(z[place] + shift) - offset
    return result


def gradient_by_hand(z, upstream, levels, eps):
    result = np.empty(z.shape)
    for place in np.ndindex(z.shape):
        level = levels[place[-1]]
        half, _, shift = parts_of(level, eps)
        result[place] = float(upstream[place]) * half / math.cosh(float(z[place]) + shift) ** 2 / (level // 2)
    return result


# Sums and products of a few floats: rounding is far below the tolerances.


@bounding
def test_each_number_is_bounded_by_its_own_levels(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    for shape in ((2, 3, 4), (4,), (0, 4)):
        z = rng.normal(size=shape)
        bounded = assert_unmodified(candidate.tokenizer.codes.bound, z, grid)
        assert_equivalent(bounded, bounded_by_hand(z, levels, eps), rtol=1e-9, atol=1e-9, check_dtype=True)


@bounding
def test_zero_and_infinity(candidate, rng):
    """Zero stays zero, whatever the number of levels; all integers of a dimension, and no others, are within reach."""
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = np.array([[0.0] * 4, [-np.inf] * 4, [np.inf] * 4])
    zero, low, high = candidate.tokenizer.codes.bound(z, grid)
    np.testing.assert_allclose(zero, np.zeros(4), atol=1e-9)
    reach = (np.array(levels) - 1) * (1 - eps) / 2
    middle = np.where(np.array(levels) % 2, 0.0, 0.5)
    np.testing.assert_allclose(low, -reach - middle, rtol=1e-9)
    np.testing.assert_allclose(high, reach - middle, rtol=1e-9)


@bounding
def test_other_types_are_worked_on_in_float64(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = rng.normal(size=(5, 4))
    whole = rng.integers(-2, 3, (3, 4))
    for given in (z.astype(np.float32), whole, whole.astype(np.int8), whole.tolist()):
        expected = bounded_by_hand(np.array(given, dtype=np.float64), levels, eps)
        bounded = candidate.tokenizer.codes.bound(given, grid)
        assert_equivalent(bounded, expected, rtol=1e-9, atol=1e-9, check_dtype=True)


@bounding
def test_other_dimensions_are_refused(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = rng.normal(size=(2, 4))
    assert candidate.tokenizer.codes.bound(z, grid).shape == (2, 4)
    for bad in (z[:, :3], z[:, :1], np.float64(0.5), z.T):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.tokenizer.codes.bound(bad, grid)


# gradient


@slope
def test_gradient_is_that_of_the_bound_alone(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z, upstream = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
    found = assert_unmodified(candidate.tokenizer.codes.gradient, z, upstream, grid)
    assert_equivalent(found, gradient_by_hand(z, upstream, levels, eps), rtol=1e-9, check_dtype=True)


@slope
def test_gradient_of_other_types_is_worked_on_in_float64(candidate, rng):
    """Numbers that float32 holds, but whose exponentials it does not; whole numbers; lists of them."""
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z, upstream = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    z[1:] = rng.choice([-1.0, 1.0], (2, 4)) * rng.uniform(40.0, 60.0, (2, 4))
    z, upstream = z.astype(np.float32), upstream.astype(np.float32)
    whole = rng.integers(1, 20, (2, 2, 4))
    for given in ((z, upstream), tuple(whole), tuple(whole.astype(np.uint8))):
        expected = gradient_by_hand(*given, levels, eps)
        for form in (given, tuple(each.tolist() for each in given)):
            found = candidate.tokenizer.codes.gradient(*form, grid)
            assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@slope
def test_gradient_of_far_numbers(candidate, rng):
    """Where tanh is 1, the slope is 4 exp(-2 |x|), up to a relative error of 2 exp(-2 |x|)."""
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = np.concatenate([rng.uniform(15.0, 20.0, (3, 4)), rng.uniform(80.0, 100.0, (3, 4))])
    half, _, shift = np.array([parts_of(level, eps) for level in levels]).T
    for sign in (1.0, -1.0):
        found = candidate.tokenizer.codes.gradient(sign * z, np.ones((6, 4)), grid)
        expected = half / (np.array(levels) // 2) * 4.0 * np.exp(-2.0 * np.abs(sign * z + shift))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    z[::2], z[1::2] = np.inf, -np.inf
    np.testing.assert_array_equal(candidate.tokenizer.codes.gradient(z, np.ones((6, 4)), grid), np.zeros((6, 4)))


@slope
def test_gradient_of_numbers_of_any_size(candidate, rng):
    """The squared tangent is close to 1 long before the slope is an exponential."""
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = rng.uniform(-30.0, 30.0, (100, 4))
    found = candidate.tokenizer.codes.gradient(z, np.ones((100, 4)), grid)
    np.testing.assert_allclose(found, gradient_by_hand(z, np.ones((100, 4)), levels, eps), rtol=1e-9)


@slope
def test_shapes_must_be_the_same(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    z = rng.normal(size=(4, 4))
    assert candidate.tokenizer.codes.gradient(z.tolist(), z.tolist(), grid).shape == (4, 4)
    for bad in ((z, z[0]), (z[0], z), (z, z[:, :1]), (z, z[None]), (z[:, :3], z[:, :3])):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.tokenizer.codes.gradient(*bad, grid)


@slope
def test_a_step_of_the_network_is_that_of_the_authors(candidate, reference, rng):
    levels, eps = drawn(rng)
    images = rng.normal(size=(2, 6, 9))
    weights = rng.normal(size=(9, 4)), rng.normal(size=(4, 9))
    found = []
    for side in (candidate, reference):
        network = side.tokenizer.network.Network(*weights, 3, side.tokenizer.grid.Grid(levels, eps))
        found.append(network.loss(images))
    assert_equivalent(found[0], found[1], rtol=1e-9, atol=1e-12)


# encode


def listed(levels):
    """Digits of all tokens in order: the first dimension changes fastest."""
    return np.array([digits[::-1] for digits in itertools.product(*map(range, levels[::-1]))])


@encoding
def test_all_tokens_in_order(candidate, rng):
    levels, eps = drawn(rng, most=6)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    integers = listed(levels) - np.array(levels) // 2
    bounded = integers + rng.uniform(-0.49, 0.49, integers.shape)
    tokens = assert_unmodified(candidate.tokenizer.codes.encode, bounded, grid)
    assert_equivalent(tokens, np.arange(grid.size), check_dtype=True)
    assert_equivalent(candidate.tokenizer.codes.encode(bounded.reshape(2, -1, 4), grid), tokens.reshape(2, -1))
    assert candidate.tokenizer.codes.encode(bounded[7], grid) == 7
    tokens = candidate.tokenizer.codes.encode(np.zeros((0, 2, 4)), grid)
    assert_equivalent(tokens, np.zeros((0, 2), dtype=np.int64), check_dtype=True)


@encoding
def test_half_way_goes_up(candidate, rng):
    """All half-way points of a dimension, and the floats next to them."""
    level = rng.integers(7, 13).item()
    grid = candidate.tokenizer.grid.Grid((level,), 1e-3)
    points = np.arange(-(level // 2), (level - 1) // 2) + 0.5
    digits = np.arange(1, level)
    for near, expected in (
        (points, digits),
        (np.nextafter(points, -np.inf), digits - 1),
        (np.nextafter(points, np.inf), digits),
    ):
        np.testing.assert_array_equal(candidate.tokenizer.codes.encode(near[:, None], grid), expected)


@encoding
def test_numbers_beyond_the_range_get_the_outermost_integer(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    far = np.array([[0.51], [1.2], [3.0], [40.0], [1e30]]) + rng.uniform(0.0, 0.1, (5, 4))
    low, high = -(np.array(levels) // 2), (np.array(levels) - 1) // 2
    np.testing.assert_array_equal(candidate.tokenizer.codes.encode(low - far, grid), np.zeros(5, dtype=np.int64))
    np.testing.assert_array_equal(candidate.tokenizer.codes.encode(high + far, grid), np.full(5, grid.size - 1))
    mixed = np.stack([low - far[0], high + far[0]])[[0, 1, 1, 0], np.arange(4)]
    digits = np.where([False, True, True, False], np.array(levels) - 1, 0)
    expected = sum(int(digit) * math.prod(levels[:axis]) for axis, digit in enumerate(digits))
    assert candidate.tokenizer.codes.encode(mixed, grid) == expected


def large(rng):
    """Levels of a grid with about 1e18 codes, a grid's digits, and their tokens as Python integers."""
    levels = tuple(rng.integers(900, 1000, 6).tolist())
    digits = np.concatenate([rng.integers(0, levels, (5, 6)), np.array(levels)[None] - 1])
    tokens = [sum(int(n) * math.prod(levels[:axis]) for axis, n in enumerate(row)) for row in digits]
    return levels, digits, np.array(tokens)


@encoding
def test_large_tokens_are_exact(candidate, rng):
    levels, digits, tokens = large(rng)
    grid = candidate.tokenizer.grid.Grid(levels, 1e-4)
    bounded = digits - np.array(levels) // 2
    assert_equivalent(candidate.tokenizer.codes.encode(bounded, grid), tokens, check_dtype=True)
    assert_equivalent(candidate.tokenizer.codes.encode(bounded.tolist(), grid), tokens, check_dtype=True)
    assert_equivalent(candidate.tokenizer.codes.encode(bounded.astype(np.int16), grid), tokens, check_dtype=True)
    small = np.array([[127, 0], [-128, 127]], dtype=np.int8)  # the digits do not fit into this type
    middle = rng.integers(130, 250, 2).tolist()
    expected = [
        127 + middle[0] + middle[1] * (2 * middle[0] + 1),
        middle[0] - 128 + (middle[1] + 127) * (2 * middle[0] + 1),
    ]
    wide = candidate.tokenizer.grid.Grid([2 * each + 1 for each in middle], 1e-4)
    np.testing.assert_array_equal(candidate.tokenizer.codes.encode(small, wide), expected)
    high = np.append(rng.integers(126, 131, (3, 2)), [[0, 255], [255, 0]], axis=0)  # 255 is beyond both dimensions
    digits = np.minimum(high, middle) + middle
    expected = digits[:, 0] + digits[:, 1] * (2 * middle[0] + 1)
    for dtype in (np.uint8, np.uint16, np.uint64):
        np.testing.assert_array_equal(candidate.tokenizer.codes.encode(high.astype(dtype), wide), expected)
    for bad in (bounded[:, :5], bounded[:, :1], bounded[0, 0]):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.tokenizer.codes.encode(bad, grid)


# decode


@decoding
def test_codes_of_all_tokens(candidate, rng):
    levels, eps = drawn(rng, most=6)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    half = np.array(levels) // 2
    expected = (listed(levels) - half) / half
    tokens = rng.permutation(grid.size)
    codes = assert_unmodified(candidate.tokenizer.codes.decode, tokens, grid)
    assert_equivalent(codes, expected[tokens], rtol=1e-9, check_dtype=True)
    square = tokens[:24].reshape(2, 3, 4).tolist()
    assert_equivalent(candidate.tokenizer.codes.decode(square, grid), expected[square], rtol=1e-9)
    assert_equivalent(candidate.tokenizer.codes.decode(5, grid), expected[5], rtol=1e-9, check_dtype=True)
    assert_equivalent(candidate.tokenizer.codes.decode(np.zeros((3, 0), dtype=np.int64), grid), np.zeros((3, 0, 4)))


@decoding
def test_tokens_of_other_types(candidate, rng):
    """A grid of more codes than the small types can count, and tokens that float64 cannot tell apart."""
    levels, digits, tokens = large(rng)
    grid = candidate.tokenizer.grid.Grid(levels, 1e-4)
    half = np.array(levels) // 2
    for dtype in (np.int64, np.uint64):
        codes = candidate.tokenizer.codes.decode(tokens.astype(dtype), grid)
        assert_equivalent(codes, (digits - half) / half, rtol=1e-9, check_dtype=True)
    small = rng.integers(0, 128, 6)
    expected = np.tile(-1.0, (6, 6))
    expected[:, 0] = (small - half[0]) / half[0]
    for dtype in (np.uint8, np.int8, np.uint32):
        codes = candidate.tokenizer.codes.decode(small.astype(dtype), grid)
        assert_equivalent(codes, expected, rtol=1e-9, check_dtype=True)


@decoding
def test_tokens_outside_the_grid_are_refused(candidate, rng):
    levels, _, _ = large(rng)
    for grid in (candidate.tokenizer.grid.Grid(levels, 1e-4), candidate.tokenizer.grid.Grid((3, 4))):
        last = np.array([0, grid.size - 1])
        assert candidate.tokenizer.codes.decode(last, grid)[1, 0] > 0.9
        for bad in (last - 1, last + 1, last.astype(np.uint64) + np.uint64(1), last[::-1] - last[1] - 1):
            with pytest.raises(ValueError):  # noqa: PT011
                candidate.tokenizer.codes.decode(bad, grid)


# usage


@counting
def test_usage_of_counted_tokens(candidate, rng):
    levels, eps = drawn(rng)
    grid = candidate.tokenizer.grid.Grid(levels, eps)
    tokens = rng.choice(rng.choice(grid.size, 20, replace=False), (4, 5, 6), p=rng.dirichlet(np.ones(20)))
    mask = rng.uniform(size=tokens.shape) < 0.6
    for given, counted in (((tokens, grid), tokens.ravel()), ((tokens, grid, mask), tokens[mask])):
        shares = [count / len(counted) for count in collections.Counter(counted.tolist()).values()]
        expected = len(shares) / grid.size, math.exp(-sum(p * math.log(p) for p in shares))
        found = assert_unmodified(candidate.tokenizer.codes.usage, *given)
        assert [type(number) for number in found] == [float, float]
        assert_equivalent(tuple(found), expected, rtol=1e-9)
    lists = candidate.tokenizer.codes.usage(tokens.tolist(), grid, mask.tolist())
    assert_equivalent(tuple(lists), expected, rtol=1e-9)


@counting
def test_usage_of_few_tokens(candidate, rng):
    """None, one, a few that are all different; a grid whose codes cannot be listed."""
    levels, _, tokens = large(rng)
    grid = candidate.tokenizer.grid.Grid(levels, 1e-4)
    run = candidate.tokenizer.codes.usage
    for nothing in ((tokens[:0], grid), (tokens, grid, np.zeros(6, dtype=bool))):
        found = run(*nothing)
        assert [type(number) for number in found] == [float, float]
        assert_equivalent(tuple(found), (0.0, 0.0))
    one = tokens[0].item()
    assert_equivalent(tuple(run(one, grid)), (1 / grid.size, 1.0), rtol=1e-9)
    near = one // 2 - np.arange(6)  # equal once rounded to float64
    found = run(near.astype(np.uint64), grid)
    assert_equivalent(tuple(found), (6 / grid.size, 6.0), rtol=1e-9)


@counting
def test_the_report_is_that_of_the_authors(candidate, reference, rng):
    levels, eps = drawn(rng)
    images = rng.normal(size=(3, 8, 12))
    weights = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    found = []
    for side in (candidate, reference):
        network = side.tokenizer.network.Network(*weights, 2, side.tokenizer.grid.Grid(levels, eps))
        found.append([side.tokenizer.report.report(network, images, border) for border in (0, 1, 2)])
    assert_equivalent(found[0], found[1], rtol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
