"""Hidden tests of the task opes."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

estimating = pytest.mark.interface("flattening.opes.density")
averaging = pytest.mark.interface("flattening.opes.explored_average")
biasing = pytest.mark.interface("flattening.opes.bias")
compressing = pytest.mark.interface("flattening.opes.compress")
updating = pytest.mark.interface("flattening.opes.update")

# Sums of a dozen Gaussians whose exponents are below 1e3, known to 1e-13.
RTOL = 1e-8
NAMES = ("centers", "widths", "heights")


def settings_of(side, **values):
    """kt = 2.5, a barrier of 25, one variable of width 0.3, if nothing else is given."""
    options = {"barrier": 25.0, "kt": 2.5, "widths": (0.3,), "periods": (0.0,), **values}
    return side.flattening.settings.Settings(**options)


def kernels_of(side, parts):
    return side.flattening.kernels.Kernels(*parts)


def estimate_of(side, parts, weight=1.0, square=1.0):
    return side.flattening.kernels.Estimate(kernels_of(side, parts), weight, square)


def crowd(rng, count=7, variables=2, spread=1.0):
    """Kernels: centers, widths, heights."""
    centers = rng.normal(size=(count, variables)) * spread
    return centers, rng.uniform(0.2, 0.6, (count, variables)), rng.uniform(0.5, 2.0, count)


def shortest(way, periods):
    """Differences of positions, moved by whole periods."""
    return np.stack(
        [
            each - period * np.round(each / period) if period else each
            for each, period in zip(way.T, periods, strict=True)
        ],
        axis=-1,
    )


def summed(parts, weight, periods, point):
    """Equation (3) and its derivatives at one point, kernel by kernel."""
    value, slope = 0.0, np.zeros(len(periods))
    for center, width, height in zip(*parts, strict=True):
        way = shortest((point - center)[None], periods)[0]
        term = height * math.exp(-0.5 * math.fsum((way / width) ** 2)) / weight
        value += term
        slope -= term * way / width**2
    return value, slope


def fields(kernels):
    return {name: getattr(kernels, name) for name in NAMES}


def positions(rng, periods, count=6):
    """Points, some of them several periods away."""
    turns = rng.integers(-3, 4, (count, len(periods)))
    turns[-1] = 9  # too far for a normal number to be in the first period
    return rng.normal(size=(count, len(periods))) + np.array(periods) * turns


SPACES = ((0.0, 0.0), (2.0 * math.pi, 0.0), (3.0, 4.0))


# density


@estimating
def test_density_is_a_sum_of_gaussians(candidate, rng):
    for periods in SPACES:
        parts, weight, points = crowd(rng), rng.uniform(2.0, 9.0), positions(rng, periods)
        settings = settings_of(candidate, widths=(0.3, 0.4), periods=periods)
        estimate = estimate_of(candidate, parts, weight, 0.5)
        found = assert_unmodified(candidate.flattening.opes.density, estimate, settings, points)
        expected = np.array([summed(parts, weight, periods, point)[0] for point in points])
        assert_equivalent(found, expected, rtol=RTOL, atol=0.0, check_dtype=True)
        little = estimate_of(candidate, (*parts[:2], 1e-120 * parts[2]), 1e-120 * weight, 1e-240)
        found = candidate.flattening.opes.density(little, settings, points)
        assert_equivalent(found, expected, rtol=RTOL, atol=0.0)
        assert_equivalent(fields(estimate.kernels), dict(zip(NAMES, parts, strict=True)), rtol=0.0, atol=0.0)


@estimating
def test_density_without_kernels_or_points(candidate, rng):
    run = candidate.flattening.opes.density
    settings, parts = settings_of(candidate, widths=(0.3, 0.4), periods=(0.0, 3.0)), crowd(rng)
    empty = estimate_of(candidate, (np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0)), 0.0, 0.0)
    assert_equivalent(run(empty, settings, rng.normal(size=(4, 2)).tolist()), np.zeros(4), check_dtype=True)
    assert_equivalent(run(estimate_of(candidate, parts), settings, np.zeros((0, 2))), np.zeros(0), check_dtype=True)
    points = rng.integers(-1, 2, (3, 2))
    whole = run(estimate_of(candidate, parts), settings, points.tolist())
    np.testing.assert_allclose(whole, run(estimate_of(candidate, parts), settings, points.astype(float)), rtol=RTOL)
    for each in (estimate_of(candidate, parts), empty):
        for bad in (np.zeros((3, 1)), np.zeros(2), np.zeros((2, 2, 2))):
            with pytest.raises(ValueError):  # noqa: PT011
                run(each, settings, bad)


# explored_average


@averaging
def test_average_over_the_centres(candidate, rng):
    for periods in SPACES:
        parts, weight = crowd(rng, count=6), rng.uniform(2.0, 9.0)
        parts = (parts[0], parts[1], parts[2] * 10.0 ** rng.uniform(-2.0, 2.0, 6))
        settings = settings_of(candidate, widths=(0.3, 0.4), periods=periods)
        estimate = estimate_of(candidate, parts, weight)
        found = candidate.flattening.opes.explored_average(estimate, settings)
        assert type(found) is float
        assert_equivalent(fields(estimate.kernels), dict(zip(NAMES, parts, strict=True)), rtol=0.0, atol=0.0)
        expected = np.mean([summed(parts, weight, periods, point)[0] for point in parts[0]])
        np.testing.assert_allclose(found, expected, rtol=RTOL)
        little = estimate_of(candidate, (*parts[:2], 1e-120 * parts[2]), 1e-120 * weight, (1e-120 * weight) ** 2)
        np.testing.assert_allclose(candidate.flattening.opes.explored_average(little, settings), expected, rtol=RTOL)


@averaging
def test_average_of_one_kernel_and_of_none(candidate, rng):
    run, height, weight = candidate.flattening.opes.explored_average, rng.uniform(0.5, 2.0), rng.uniform(2.0, 3.0)
    one = estimate_of(candidate, ([[0.7]], [[0.2]], [height]), weight)
    np.testing.assert_allclose(run(one, settings_of(candidate)), height / weight, rtol=RTOL)
    none = estimate_of(candidate, (np.zeros((0, 1)), np.zeros((0, 1)), np.zeros(0)), 0.0, 0.0)
    found = run(none, settings_of(candidate))
    assert (found, type(found)) == (1.0, float)


# bias


@biasing
def test_bias_and_forces_follow_from_the_density(candidate, rng):
    for periods in SPACES:
        parts, weight, points = crowd(rng), rng.uniform(2.0, 9.0), positions(rng, periods)
        kt = rng.uniform(0.5, 3.0)
        barrier = kt * rng.uniform(1.5, 8.0)
        settings = settings_of(candidate, kt=kt, barrier=barrier, widths=(0.3, 0.4), periods=periods)
        few = estimate_of(candidate, (*parts[:2], 1e-120 * parts[2]), weight)  # a factor of P is one of Z, too
        scale = kt - kt * kt / barrier
        average = np.mean([summed(parts, weight, periods, point)[0] for point in parts[0]])
        at = [summed(parts, weight, periods, point) for point in points]
        relative = np.array([value for value, _ in at]) / average + math.exp(-barrier / scale)
        slopes = np.array([slope for _, slope in at]) / average
        for estimate in (estimate_of(candidate, parts, weight), few):
            values, forces = candidate.flattening.opes.bias(estimate, settings, points)
            assert_equivalent(values, scale * np.log(relative), rtol=RTOL, atol=1e-9, check_dtype=True)
            assert_equivalent(forces, -scale * slopes / relative[:, None], rtol=RTOL, atol=1e-9, check_dtype=True)


@biasing
def test_bias_is_never_below_the_barrier(candidate, rng):
    """Far from all kernels, at the largest barrier and at a low one; nothing pushes there."""
    for high in (1.01, 8.0, 300.0):
        kt, width = rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.3)
        settings, scale = settings_of(candidate, kt=kt, barrier=high * kt), kt * (1.0 - 1.0 / high)
        one = estimate_of(candidate, ([[1.0]], [[width]], [rng.uniform(1.0, 2.0)]), rng.uniform(1.0, 2.0))
        points = np.array([[1.0], [1.0 + 45.0 * width], [-1e3], [1e9]])
        values, forces = candidate.flattening.opes.bias(one, settings, points)
        np.testing.assert_allclose(values[1:], [-high * kt] * 3, rtol=RTOL)
        np.testing.assert_allclose(values[0], scale * math.log1p(math.exp(-high * kt / scale)), rtol=RTOL, atol=1e-9)
        np.testing.assert_allclose(forces, np.zeros((4, 1)), atol=1e-9)
        beside = np.array([[1.0 + 3.0 * width]])  # pushed away from what was seen
        _, forces = candidate.flattening.opes.bias(one, settings, beside)
        floor = math.exp(4.5 - high * kt / scale)
        np.testing.assert_allclose(forces, [[scale * 3.0 / width / (1.0 + floor)]], rtol=RTOL)


@biasing
def test_bias_without_kernels_or_points(candidate, rng):
    run, barrier = candidate.flattening.opes.bias, rng.uniform(10.0, 20.0)
    settings = settings_of(candidate, barrier=barrier, widths=(0.3, 0.4), periods=(0.0, 2.0))
    empty = estimate_of(candidate, (np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0)), 0.0, 0.0)
    found = run(empty, settings, rng.normal(size=(3, 2)).tolist())
    assert_equivalent(list(found), [np.full(3, -barrier), np.zeros((3, 2))], rtol=RTOL, check_dtype=True)
    found = run(estimate_of(candidate, crowd(rng)), settings, np.zeros((0, 2)))
    assert_equivalent(list(found), [np.zeros(0), np.zeros((0, 2))], check_dtype=True)
    for each in (empty, estimate_of(candidate, crowd(rng))):
        with pytest.raises(ValueError):  # noqa: PT011
            run(each, settings, np.zeros((3, 3)))


# compress


@compressing
def test_a_distant_kernel_is_added(candidate, rng):
    """In the first period; also to none, and also at the threshold exactly."""
    parts, settings = crowd(rng, count=4), settings_of(candidate, widths=(0.3, 0.4), periods=(40.0, 0.0))
    width = rng.uniform(0.1, 0.3, 2)
    for given in (parts, (np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))):
        found = candidate.flattening.opes.compress(kernels_of(candidate, given), settings, [90.0, -3.0], width, 0.5)
        expected = {
            "centers": np.vstack([given[0], [10.0, -3.0]]),
            "widths": np.vstack([given[1], width]),
            "heights": np.append(given[2], 0.5),
        }
        assert_equivalent(fields(found), expected, rtol=RTOL, check_dtype=True)
    size = 2.0 ** rng.integers(-3, 4).item()
    one = kernels_of(candidate, ([[size]], [[0.5 * size]], [1.0]))
    for threshold, count in ((2.0, 2), (2.0 + 1e-9, 1), (2.0 - 1e-9, 2)):
        settings = settings_of(candidate, threshold=threshold)
        found = candidate.flattening.opes.compress(one, settings, [0.0], [8.0 * size], 1.0)
        assert found.heights.shape == (count,)


@compressing
def test_merging_keeps_the_mean_and_the_variance(candidate, rng):
    """One old kernel, with coordinates that are large compared to the widths, and heights that differ much."""
    offset = rng.uniform(-1e5, 1e5, 2)
    for heights in ((1.0, 2.0), (1e-120, 3e-120), (1.0, 1e-100), (1e-100, 1.0)):
        width, other, way = *rng.uniform(0.1, 0.2, (2, 2)), rng.uniform(-0.1, 0.1, 2)
        settings = settings_of(candidate, widths=(0.3, 0.4), periods=(0.0, 0.0), threshold=3.0)
        old = kernels_of(candidate, (offset[None], width[None], heights[:1]))
        found = candidate.flattening.opes.compress(old, settings, offset + way, other, heights[1])
        total = sum(heights)
        first, second = (each / total for each in heights)
        expected = {
            "centers": (offset + second * way)[None],
            "widths": np.sqrt(first * width**2 + second * other**2 + first * second * way**2)[None],
            "heights": np.array([total]),
        }
        # The way is a difference of coordinates: 1e5 times the rounding of 1e-16 in 0.1.
        np.testing.assert_allclose(found.centers - offset, expected["centers"] - offset, atol=1e-9)
        assert_equivalent(fields(found), expected, rtol=RTOL, atol=0.0, check_dtype=True)


@compressing
def test_the_nearest_old_kernel_is_merged(candidate, rng):
    """In units of the widths of the old ones, each of its own; the others keep their order."""
    parts = (
        np.array([[0.0, 5.0], [0.8, 0.0], [-1.0, 0.0], [0.0, -0.9], [6.0, 0.0]]),
        np.array([[1.0, 1.0], [0.9, 3.0], [2.0, 0.5], [1.0, 1.5], [1.0, 1.0]]),
        rng.uniform(1.0, 2.0, 5),
    )
    shift = rng.uniform(-1.0, 1.0, 2)
    settings = settings_of(candidate, widths=(0.3, 0.4), periods=(0.0, 0.0), threshold=0.95)
    old = kernels_of(candidate, (parts[0] + shift, *parts[1:]))
    found = candidate.flattening.opes.compress(old, settings, shift, [0.01, 0.01], 1e-9)
    rest = [0, 1, 3, 4]
    np.testing.assert_allclose(found.centers, np.vstack([parts[0][rest], parts[0][2]]) + shift, atol=1e-7)
    np.testing.assert_allclose(found.heights, np.append(parts[2][rest], parts[2][2]), rtol=1e-7)
    for sign in (1.0, -1.0):  # two at the same distance
        once = kernels_of(candidate, ([[sign], [-sign]], [[2.0]] * 2, [2.0, 3.0]))
        found = candidate.flattening.opes.compress(once, settings_of(candidate, threshold=0.501), [0.0], [0.5], 0.01)
        np.testing.assert_allclose(found.heights, [3.0, 2.01], rtol=RTOL)


@compressing
def test_a_merged_kernel_may_be_merged_again(candidate, rng):
    """A chain: the new kernel reaches one, together they reach the next one, and so on, up to a kernel that is too far."""
    height, gap = rng.uniform(1.0, 2.0), rng.uniform(0.9, 0.99)
    centers = np.array([[0.8 * gap], [1.3 * gap], [1.75 * gap], [4.0]])
    old = (centers, np.full((4, 1), 0.8), np.array([9.0, 30.0, 200.0, 1.0]) * height)
    settings = settings_of(candidate, threshold=1.0)
    start = kernels_of(candidate, old)
    found = candidate.flattening.opes.compress(start, settings, [0.1 * gap], [0.5], height)
    heights = np.append(old[2][:3], height)
    places = np.append(centers[:3, 0], 0.1 * gap)
    mean = (heights * places).sum() / heights.sum()
    spread = (heights * (np.array([0.8, 0.8, 0.8, 0.5]) ** 2 + (places - mean) ** 2)).sum() / heights.sum()
    expected = {
        "centers": np.array([[4.0], [mean]]),
        "widths": np.array([[0.8], [math.sqrt(spread)]]),
        "heights": np.array([height, heights.sum()]),
    }
    assert_equivalent(fields(found), expected, rtol=RTOL)


@compressing
def test_merging_across_the_border_of_a_period(candidate, rng):
    period = rng.uniform(2.0, 5.0)
    half, width = 0.5 * period, rng.uniform(0.1, 0.2)
    settings = settings_of(candidate, periods=(period,))
    for side, turns in ((1.0, 0), (-1.0, 0), (1.0, 2), (-1.0, -3)):
        old = kernels_of(candidate, ([[side * (half - 0.04)]], [[width]], [3.0]))
        center = [side * (half + 0.04) + turns * period]
        found = candidate.flattening.opes.compress(old, settings, center, [2.0 * width], 1.0)
        expected = {
            "centers": np.array([[side * (half - 0.02)]]),
            "widths": np.array([[math.sqrt(1.75 * width**2 + 0.0012)]]),
            "heights": np.array([4.0]),
        }
        assert_equivalent(fields(found), expected, rtol=RTOL)
        found = candidate.flattening.opes.compress(old, settings, center, [2.0 * width], 27.0)
        np.testing.assert_allclose(found.centers, [[side * (0.032 - half)]], rtol=RTOL)
        # The mean may lie beyond the border as seen from the heavier kernel, whichever it is.
        for near, heights, place in ((0.01, (2.0, 1.0), -0.05 / 3.0), (0.07, (1.0, 2.0), 0.05 / 3.0)):
            old = kernels_of(candidate, ([[side * (half - near)]], [[width]], heights[:1]))
            beyond = [side * (half + 0.08 - near) + turns * period]
            found = candidate.flattening.opes.compress(old, settings, beyond, [width], heights[1])
            expected = {
                "centers": np.array([[side * (half - place if place > 0.0 else -half - place)]]),
                "widths": np.array([[math.sqrt(width**2 + 0.0128 / 9.0)]]),
                "heights": np.array([3.0]),
            }
            assert_equivalent(fields(found), expected, rtol=RTOL)


@compressing
def test_old_kernels_keep_their_values(candidate, rng):
    """Also in other periods: those that are not merged come back as they were, those that are count as if they were near."""
    period, width = rng.uniform(2.0, 5.0), rng.uniform(0.1, 0.2)
    settings = settings_of(candidate, periods=(period,))
    turns = rng.permutation([-2, 1, 3])
    centers = np.array([[0.0], [0.4 * period], [-0.4 * period]]) + turns[:, None] * period
    old = centers, np.full((3, 1), width), rng.uniform(1.0, 2.0, 3)
    found = candidate.flattening.opes.compress(kernels_of(candidate, old), settings, [0.25 * period], [width], 1.0)
    for name, before in zip(NAMES, old, strict=True):
        np.testing.assert_array_equal(fields(found)[name][:3], before)
    near = 0.4 * period - 0.5 * width
    found = candidate.flattening.opes.compress(kernels_of(candidate, old), settings, [near], [width], old[2][1])
    np.testing.assert_array_equal(found.centers[:2], centers[[0, 2]])
    np.testing.assert_allclose(found.centers[2], [near + 0.25 * width], rtol=RTOL)
    np.testing.assert_allclose(found.heights[2], 2.0 * old[2][1], rtol=RTOL)


@compressing
def test_compression_is_that_of_the_authors(candidate, reference, rng):
    """Many kernels in a row."""
    for periods in SPACES:
        found = []
        points, widths, heights = positions(rng, periods, 25), rng.uniform(0.2, 0.5, (25, 2)), rng.uniform(0.1, 2.0, 25)
        for side in (candidate, reference):
            kernels = side.flattening.kernels.Kernels.none(2)
            settings = settings_of(side, widths=(0.3, 0.4), periods=periods)
            for parts in zip(points, widths, heights.tolist(), strict=True):
                kernels = side.flattening.opes.compress(kernels, settings, *parts)
            found.append(fields(kernels))
        assert 1 < len(found[1]["heights"]) < 25
        np.testing.assert_allclose(found[0]["heights"].sum(), heights.sum(), rtol=RTOL)
        assert_equivalent(found[0], found[1], rtol=RTOL, atol=1e-12)


# update


@updating
def test_updates_weigh_and_shrink(candidate, rng):
    """Without compression: each kernel by its own weight and width, also at the highest barrier."""
    for variables, depth in ((1, 8.0), (3, 8.0), (2, 300.0)):
        kt, widths = rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.5, variables)
        settings = settings_of(
            candidate,
            kt=kt,
            barrier=max(10.0, depth) * kt,
            widths=tuple(widths.tolist()),
            periods=(0.0,) * variables,
            threshold=0.0,
        )
        estimate = candidate.flattening.kernels.Estimate(candidate.flattening.kernels.Kernels.none(variables))
        points, biases = rng.normal(size=(5, variables)), -kt * rng.uniform(0.0, depth, 5)
        biases[0] = -kt * depth  # as the driver begins
        weights = np.exp(biases / kt)
        for count, (point, value) in enumerate(zip(points, biases.tolist(), strict=True), 1):
            estimate = candidate.flattening.opes.update(estimate, settings, point, value)
            seen = weights[:count]
            size = seen.sum() ** 2 / (seen**2).sum()
            width = widths * (size * (variables + 2) / 4) ** (-1 / (variables + 4))
            np.testing.assert_allclose([estimate.weight, estimate.square], [seen.sum(), (seen**2).sum()], rtol=RTOL)
            np.testing.assert_allclose(estimate.kernels.widths[-1], width, rtol=RTOL)
            height = weights[count - 1] / np.prod(width * math.sqrt(2.0 * math.pi))
            np.testing.assert_allclose(estimate.kernels.heights[-1], height, rtol=RTOL)
            assert {type(estimate.weight), type(estimate.square)} == {float}
        np.testing.assert_allclose(estimate.kernels.centers, points, rtol=RTOL)


@updating
def test_sums_count_merged_points(candidate, rng):
    """One kernel for all, at the same place, in another period."""
    period = rng.uniform(2.0, 3.0)
    settings = settings_of(candidate, periods=(period,))
    estimate = candidate.flattening.kernels.Estimate(candidate.flattening.kernels.Kernels.none(1))
    place, height = rng.uniform(0.2, 0.9), 0.0
    for count in range(1, 5):
        old, point = estimate, np.array([place + count * period])  # never in the first period
        before = {name: values.copy() for name, values in fields(old.kernels).items()}
        given = point if count % 2 else point.tolist()
        estimate = assert_unmodified(candidate.flattening.opes.update, old, settings, given, 0.0)
        assert_equivalent(fields(old.kernels), before, rtol=0.0, atol=0.0)
        assert (old.weight, old.square) == (count - 1, count - 1)
        height += 1.0 / (0.3 * (0.75 * count) ** -0.2 * math.sqrt(2.0 * math.pi))
        assert (estimate.weight, estimate.square) == (count, count)
        np.testing.assert_allclose(estimate.kernels.heights, [height], rtol=RTOL)
        np.testing.assert_allclose(estimate.kernels.centers, [[place]], rtol=RTOL)


@updating
def test_a_simulation_is_that_of_the_authors(candidate, reference, rng):
    """A walker in a double well, with one more variable that is periodic."""

    def force(point):
        return np.array([4.0 * point[0] * (1.0 - point[0] ** 2), -np.sin(point[1])])

    noise, results = rng.normal(size=(24, 2)), []
    grid = rng.uniform(-1.5, 1.5, (5, 2))
    for side in (candidate, reference):
        settings = settings_of(side, kt=0.5, barrier=4.0, widths=(0.2, 0.3), periods=(0.0, 2.0 * math.pi))
        path, estimate = side.flattening.run.run(settings, np.array([-1.0, 0.0]), noise, force, 0.02, 2)
        assert estimate.weight > 0.0
        energy = side.flattening.run.free_energy(estimate, settings, grid)
        results.append([path, fields(estimate.kernels), energy, estimate.weight, estimate.square])
    assert_equivalent(results[0], results[1], rtol=1e-6, atol=1e-9)


# arguments


@compressing
def test_kernels_are_not_modified(candidate, rng):
    parts = crowd(rng, count=5, spread=0.1)
    settings = settings_of(candidate, widths=(0.3, 0.4), periods=(1.0, 0.0))
    old = kernels_of(candidate, parts)
    center, width = parts[0][0] + [3.0, 0.0], parts[1][1] * 1.0
    found = assert_unmodified(candidate.flattening.opes.compress, old, settings, center, width, 1.0)
    assert len(found.heights) < 5
    assert_equivalent(fields(old), dict(zip(NAMES, parts, strict=True)), rtol=0.0, atol=0.0)


@biasing
def test_estimates_are_not_modified(candidate, rng):
    parts, points = crowd(rng), positions(rng, (1.0, 0.0), 4)
    settings = settings_of(candidate, widths=(0.3, 0.4), periods=(1.0, 0.0))
    estimate = estimate_of(candidate, parts, 3.0, 2.0)
    values, _ = assert_unmodified(candidate.flattening.opes.bias, estimate, settings, points)
    assert values.shape == (4,)
    assert_equivalent(fields(estimate.kernels), dict(zip(NAMES, parts, strict=True)), rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
