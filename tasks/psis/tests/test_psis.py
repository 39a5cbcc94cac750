"""Hidden tests of the task psis."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

fitting = pytest.mark.interface("psis.pareto.gpd_fit")
inverting = pytest.mark.interface("psis.pareto.gpd_quantile")
counting = pytest.mark.interface("psis.smoothing.tail_length")
smoothing = pytest.mark.interface("psis.smoothing.smooth")
diagnosing = pytest.mark.interface("psis.smoothing.diagnose")

# The fit averages over a grid and loses a few digits where shapes are near 0; wrong formulas differ by 1e-3 and more.
RTOL, ATOL = 1e-6, 1e-9


def pareto(rng, count, k=0.4, sigma=1.0):
    return sigma * np.expm1(k * rng.exponential(size=count)) / k


def fit(x, weak_prior=True):
    """Equations (2) to (6), one number after the other."""
    x = sorted(float(each) for each in x)
    n, m = len(x), 30 + math.floor(math.sqrt(len(x)))
    star = x[math.floor(n / 4 + 0.5) - 1]

    def shape(theta):
        return math.fsum(math.log1p(-theta * each) for each in x) / n

    def scale(theta):
        return -shape(theta) / theta if abs(theta) > 1e-14 / x[-1] else math.fsum(x) / n

    grid = [1.0 / x[-1] + (1.0 - math.sqrt(m / (j - 0.5))) / (3.0 * star) for j in range(1, m + 1)]
    logs = [n * (-math.log(scale(theta)) - shape(theta) - 1.0) for theta in grid]
    weights = [math.exp(each - max(logs)) for each in logs]
    theta = sum(w * t for w, t in zip(weights, grid, strict=True)) / sum(weights)
    k, sigma = shape(theta), scale(theta)
    return ((n * k + 5.0) / (n + 10.0) if weak_prior else k), sigma


def quantile(p, k, sigma):
    return sigma * math.expm1(-k * math.log1p(-p)) / k


def normalised(values):
    top = max(values)
    total = top + math.log(math.fsum(math.exp(each - top) for each in values))
    return np.array([each - total for each in values])


def length_of(size, efficiency=1.0):
    return math.ceil(min(size / 5, 3.0 * math.sqrt(size / efficiency)))


def smoothed(log_ratios, efficiency=1.0):
    """The algorithm with the ratios themselves: log weights, k, number of the tail, and how many were truncated."""
    logs = np.asarray(log_ratios, dtype=np.float64) - np.max(log_ratios)
    ratios = np.exp(logs).tolist()
    size = len(ratios)
    ranking = sorted(range(size), key=lambda i: (logs[i], i))
    count = length_of(size, efficiency)
    tail, cutoff = ranking[size - count :], ratios[ranking[size - count - 1]]
    k, sigma = fit([ratios[i] - cutoff for i in tail])
    new = [cutoff + quantile((rank + 0.5) / count, k, sigma) for rank in range(count)]
    values = logs.tolist()
    for i, value in zip(tail, new, strict=True):
        values[i] = math.log(min(value, 1.0))
    return normalised(values), k, count, sum(value > 1.0 for value in new)


def fields(found):
    return found.log_weights, found.k, found.tail


# gpd_fit


@fitting
@pytest.mark.parametrize("weak_prior", [True, False])
def test_fit_is_the_average_over_the_grid(candidate, rng, weak_prior):
    for count, k in ((5, 0.4), (14, 0.9), (18, -0.4), (37, 0.2), (64, 1.5), (400, 4.0)):
        x = pareto(rng, count, k, rng.uniform(0.5, 3.0))
        found = assert_unmodified(candidate.psis.pareto.gpd_fit, x, weak_prior=weak_prior)
        assert_equivalent(found, fit(x, weak_prior), rtol=RTOL, atol=ATOL)
        assert [type(each) for each in found] == [float, float]


@fitting
def test_the_weak_prior_is_the_default_and_only_for_the_shape(candidate, rng):
    x = pareto(rng, 25)
    run = candidate.psis.pareto.gpd_fit
    (k, sigma), raw = run(x), run(x, weak_prior=False)
    np.testing.assert_allclose(k, (25 * raw[0] + 5.0) / 35.0, rtol=RTOL)
    assert sigma == raw[1]


@fitting
def test_the_unit_of_the_exceedances_is_a_factor_of_the_scale(candidate, rng):
    x = pareto(rng, 40)
    k, sigma = fit(x)
    for unit in (1e-100, 1e-9, 1e9, 1e99):
        found = candidate.psis.pareto.gpd_fit(unit * x)
        assert_equivalent((found[0], found[1] / unit), (k, sigma), rtol=RTOL)


@fitting
def test_exceedances_of_very_unlike_sizes(candidate, rng):
    """The fifth of 20 is the quartile; those below it may be anything."""
    for decades in (20.0, 50.0, 99.0):
        x = 10.0 ** np.concatenate(
            [rng.uniform(-250.0, -100.0, 4), [-decades], -decades * rng.uniform(0.0, 0.9, 14), [0.0]]
        )
        found = candidate.psis.pareto.gpd_fit(rng.permutation(x))
        assert_equivalent(found[0], fit(x)[0], rtol=RTOL)
        assert_equivalent(found[1], fit(x)[1], rtol=RTOL, atol=0.0)


@fitting
def test_a_point_of_the_grid_that_is_zero(candidate, rng):
    """20 exceedances have a grid of 34 points; the ninth is 0 if the largest is exactly 3 times the fifth."""
    star = rng.uniform(0.5, 2.0)
    x = np.concatenate([star * rng.uniform(0.01, 0.3, 4), [star], star * rng.uniform(1.0, 1.2, 14), [3.0 * star]])
    found = candidate.psis.pareto.gpd_fit(rng.permutation(x))
    assert_equivalent(found, fit(x), rtol=RTOL)
    for count in (100, 112, 120):  # the third of 40 points, if the fifth is the largest; exact for powers of two
        top = 2.0 ** rng.integers(-20, 21)
        x = np.concatenate([np.full(count - 12, top), top * rng.uniform(0.2, 0.9, 12)])
        assert_equivalent(candidate.psis.pareto.gpd_fit(rng.permutation(x)), fit(x), rtol=RTOL)


@fitting
def test_exceedances_that_are_equal_or_zero(candidate, rng):
    run = candidate.psis.pareto.gpd_fit
    for x in (
        np.concatenate([np.zeros(3), pareto(rng, 15)]),
        np.repeat(rng.uniform(0.5, 2.0, 6), [4, 1, 3, 2, 5, 3]),
        np.array([1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]) * rng.uniform(0.5, 2.0),
        np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]) * rng.uniform(0.5, 2.0),
    ):
        assert_equivalent(run(rng.permutation(x)), fit(x), rtol=RTOL, atol=ATOL)


@fitting
def test_other_types_of_exceedances(candidate, rng):
    run = candidate.psis.pareto.gpd_fit
    whole = rng.permutation(np.concatenate([rng.integers(1, 200, 19), [255]])).astype(np.uint8)
    halves = [pareto(rng, size).astype(np.float16) for size in (20, 30)]
    for given in (whole, whole.tolist(), *halves):
        assert_equivalent(run(given), fit(given), rtol=1e-10, atol=1e-12)


@fitting
def test_exceedances_that_cannot_be_fitted(candidate, rng):
    run = candidate.psis.pareto.gpd_fit
    x = pareto(rng, 12)
    negative, unknown, endless = x.copy(), x.copy(), x.copy()
    negative[4], unknown[4], endless[4] = -1e-9, np.nan, np.inf
    low = np.sort(x) * (np.arange(12) > 2)  # the third one is the quartile
    for bad in (x[:4], x[:0], x[:, None], negative, unknown, endless, np.full(9, x[0]), low):
        with pytest.raises(ValueError):  # noqa: PT011
            run(bad)
    low[2] = low[3] / 2.0
    assert_equivalent(run(low), fit(low), rtol=RTOL, atol=ATOL)
    assert_equivalent(run(x[:5]), fit(x[:5]), rtol=RTOL, atol=ATOL)


# gpd_quantile


@inverting
def test_quantiles_in_closed_form(candidate, rng):
    run = candidate.psis.pareto.gpd_quantile
    p, sigma = rng.uniform(0.0, 1.0, (3, 4)), rng.uniform(0.2, 5.0)
    for k, expected in (
        (1.0, p / (1.0 - p)),
        (-1.0, p),
        (0.5, 2.0 * (1.0 / np.sqrt(1.0 - p) - 1.0)),
        (-2.0, (1.0 - (1.0 - p) ** 2) / 2.0),
        (0.0, -np.log1p(-p)),
    ):
        found = assert_unmodified(run, p, k, sigma)
        assert_equivalent(found, sigma * expected, rtol=1e-9, atol=1e-12, check_dtype=True)


@inverting
def test_small_shapes_and_small_probabilities(candidate, rng):
    run = candidate.psis.pareto.gpd_quantile
    p, sigma = rng.uniform(0.05, 0.95, 6), rng.uniform(0.2, 5.0)
    level = -np.log1p(-p)
    for k in (1e-13, -1e-13, 1e-7, -1e-7, 1e-30):
        assert_equivalent(run(p, k, sigma), sigma * (level + k * level**2 / 2.0), rtol=1e-11)
    small = 10.0 ** rng.uniform(-30.0, -14.0, 5)
    for k in (0.7, -0.7, 0.0):
        assert_equivalent(run(small, k, sigma), sigma * small, rtol=1e-9, atol=0.0)


@inverting
def test_any_shape_and_any_probability(candidate, rng):
    """A power loses digits long before the quantile is the probability, or that of the exponential distribution."""
    p, sigma = np.append(10.0 ** rng.uniform(-30.0, 0.0, 60), rng.uniform(size=20)), rng.uniform(0.2, 5.0)
    for size in 10.0 ** np.append(rng.uniform(-16.0, 0.5, 30), [-8.5, -6.5, -4.5]):
        k = size.item() * rng.choice([-1.0, 1.0]).item()
        expected = [quantile(each, k, sigma) for each in p.tolist()]
        np.testing.assert_allclose(candidate.psis.pareto.gpd_quantile(p, k, sigma), expected, rtol=1e-9)


@inverting
def test_ends_types_and_refusals(candidate, rng):
    run = candidate.psis.pareto.gpd_quantile
    sigma, k = rng.uniform(0.2, 5.0), rng.uniform(0.2, 2.0)
    for shape, end in ((k, np.inf), (0.0, np.inf), (-k, sigma / k)):
        assert_equivalent(run([0, 1], shape, sigma), np.array([0.0, end]), rtol=1e-9, check_dtype=True)
    single = np.array([0.1, 0.3], dtype=np.float32)
    expected = sigma * np.expm1(-k * np.log1p(-single.astype(np.float64))) / k
    assert_equivalent(run(single, k, sigma), expected, rtol=1e-9, check_dtype=True)
    assert_equivalent(run(np.zeros((0, 2)), k, sigma), np.zeros((0, 2)), check_dtype=True)
    for p, scale in (
        ([0.5, 1.0 + 1e-9], 1.0),
        ([-1e-9], 1.0),
        ([np.nan, 0.5], 1.0),
        ([0.5], 0.0),
        ([0.5], -1.0),
        ([0.5], np.nan),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(p, k, scale)


# tail_length


@counting
def test_tail_lengths(candidate, rng):
    run = candidate.psis.smoothing.tail_length
    for size, expected in (
        (1, 1),
        (5, 1),
        (6, 2),
        (20, 4),
        (21, 5),
        (224, 45),
        (225, 45),
        (226, 46),
        (400, 60),
        (10**6, 3000),
    ):
        found = run(size)
        assert found == expected
        assert type(found) is int
    efficiency = rng.uniform(0.3, 0.9)
    for size, share in ((10**5, efficiency), (5000, 1.0 / efficiency), (1000, 1e-3)):
        assert run(size, share) == length_of(size, share)
    for bad in ((0,), (-3,), (10, 0.0), (10, -1.0), (10, math.nan)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


# smooth


@smoothing
@pytest.mark.parametrize(("size", "spread"), [(23, 1.0), (100, 0.3), (300, 2.5)])
def test_smooth_follows_the_algorithm(candidate, rng, size, spread):
    ratios = spread * rng.normal(size=size) - 3.0
    found = assert_unmodified(candidate.psis.smoothing.smooth, ratios)
    assert_equivalent(fields(found), smoothed(ratios)[:3], rtol=RTOL, atol=ATOL, check_dtype=True)
    assert [type(each) for each in fields(found)[1:]] == [float, int]
    np.testing.assert_allclose(np.exp(found.log_weights).sum(), 1.0, rtol=1e-9)


@smoothing
def test_the_relative_efficiency_changes_the_tail(candidate, rng):
    ratios = rng.normal(size=400)
    efficiency = rng.uniform(0.65, 0.9)
    found = candidate.psis.smoothing.smooth(ratios, efficiency)
    assert_equivalent(fields(found), smoothed(ratios, efficiency)[:3], rtol=RTOL, atol=ATOL)
    assert found.tail > 60


@smoothing
def test_smoothed_values_are_truncated_at_the_largest_ratio(candidate, rng):
    """Tails whose largest ratio falls short of what the fit expects; the truncated ones are equal."""
    while True:
        ratios = 0.4 * rng.normal(size=60)
        ratios[np.argsort(ratios)[-12:]] += 2.0 * rng.exponential(size=12)
        expected = smoothed(ratios)
        if expected[3] > 0:
            break
    found = candidate.psis.smoothing.smooth(ratios)
    assert_equivalent(fields(found), expected[:3], rtol=RTOL, atol=ATOL)


@smoothing
def test_equal_log_ratios_are_ranked_by_position(candidate, rng):
    """Ties inside of the tail, and at the cutoff: the later draw is the larger one."""
    levels = np.repeat(np.arange(12) * rng.uniform(0.2, 0.3), 5)
    for ratios in (rng.permutation(levels), rng.permutation(np.append(levels[:-3], [3.5, 4.0, 4.5]))):
        found = candidate.psis.smoothing.smooth(ratios)
        expected, k, count, _ = smoothed(ratios)
        assert count == 12
        assert_equivalent(fields(found), (expected, k, count), rtol=RTOL, atol=ATOL)


@smoothing
def test_offsets_and_far_away_ratios(candidate, rng):
    """Nothing depends on a common offset; draws outside of the tail, the cutoff included, may have almost no weight."""
    for far in (60, 64):
        ratios = 1.5 * rng.normal(size=80)
        ratios[np.argsort(ratios)[:far]] -= rng.uniform(800.0, 5000.0, far)
        expected = smoothed(ratios)[:3]
        for offset in (0.0, 1e4, -1e4):
            found = candidate.psis.smoothing.smooth(ratios + offset)
            assert_equivalent(fields(found), expected, rtol=RTOL, atol=1e-7)


@smoothing
def test_tails_that_reach_far_down(candidate, rng):
    """The third of 12 is the quartile, up to 225 below the largest; two are up to 599 below it, the cutoff more."""
    for depth, below in ((60.0, 650.0), (150.0, 650.0), (225.0, 900.0)):
        tail = np.concatenate([rng.uniform(-599.0, -300.0, 2), [-depth], -depth * rng.uniform(0.0, 0.9, 8), [0.0]])
        ratios = rng.permutation(np.append(tail, -below - rng.uniform(0.0, 50.0, 48)))
        found = candidate.psis.smoothing.smooth(ratios + 1e3)
        assert_equivalent(fields(found), smoothed(ratios)[:3], rtol=RTOL, atol=1e-7)


@smoothing
def test_log_ratios_that_hardly_differ(candidate, rng):
    """The shape is that of the differences themselves."""
    ratios = pareto(rng, 60)
    ranked = np.sort(ratios)
    k, _ = fit(ranked[-12:] - ranked[-13])
    found = candidate.psis.smoothing.smooth(1e-15 * (ratios - ranked[-20]) / (ranked[-1] - ranked[0]))
    np.testing.assert_allclose(found.k, k, rtol=RTOL, atol=ATOL)
    assert found.tail == 12
    np.testing.assert_allclose(found.log_weights, np.full(60, -math.log(60)), rtol=1e-9)


@smoothing
def test_ratios_of_zero(candidate, rng):
    """Below the tail, at the cutoff, and one in the tail."""
    for zeros in (10, 48, 49):
        ratios = rng.permutation(np.append(rng.normal(size=60 - zeros), np.full(zeros, -np.inf)))
        found = candidate.psis.smoothing.smooth(ratios)
        assert_equivalent(fields(found), smoothed(ratios)[:3], rtol=RTOL, atol=ATOL)


@smoothing
def test_tails_that_cannot_be_fitted(candidate, rng):
    """Too few draws, a constant tail, a tail of which a quarter equals the cutoff, and equal draws."""
    run = candidate.psis.smoothing.smooth
    top = rng.uniform(1.0, 2.0)
    tied = np.concatenate([np.full(45, -0.5), rng.uniform(0.1, 2.0, 5)])
    constant = np.concatenate([rng.uniform(-2.0, 0.0, 40), np.full(10, top)])
    for ratios in (rng.normal(size=20), rng.normal(size=1), constant, tied, np.full(30, top), np.array([-np.inf, top])):
        found = run(rng.permutation(ratios).copy())
        assert sorted(found.log_weights.tolist()) == pytest.approx(np.sort(normalised(ratios.tolist())).tolist())
        assert (found.k, found.tail) == (math.inf, 0)
        assert [type(each) for each in fields(found)[1:]] == [float, int]
    straight = rng.normal(size=20)
    assert_equivalent(run(straight).log_weights, normalised(straight.tolist()), rtol=RTOL, check_dtype=True)
    tied[44] = -0.2  # now less than a quarter
    tied[43] = -0.1
    tied[42] = -0.3
    found = run(tied)
    assert_equivalent(fields(found), smoothed(tied)[:3], rtol=RTOL, atol=ATOL)


@smoothing
def test_other_types_and_log_ratios_that_are_refused(candidate, rng):
    run = candidate.psis.smoothing.smooth
    ratios = rng.permutation(np.arange(40) ** 2 // 50)
    single, half = rng.normal(size=40).astype(np.float32), (5.0 * rng.normal(size=40)).astype(np.float16)
    for given in (ratios, ratios.astype(np.uint8), ratios.tolist(), single, half):
        assert_equivalent(fields(run(given)), smoothed(given)[:3], rtol=RTOL, atol=ATOL, check_dtype=True)
    unknown, endless = rng.normal(size=(2, 40))
    unknown[3], endless[3] = np.nan, np.inf
    for bad in (
        unknown,
        endless,
        np.full(40, -np.inf),
        np.zeros(0),
        rng.normal(size=(40, 1)),
        rng.normal(size=(1, 40)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(bad)
    with pytest.raises(ValueError):  # noqa: PT011
        run(single, 0.0)


# diagnose


def diagnosis(found):
    return found.threshold, found.min_sample_size, found.effective_sample_size, found.reliable


@diagnosing
def test_thresholds_and_sizes(candidate, rng):
    parts, run = candidate.psis.results, candidate.psis.smoothing.diagnose
    for size, k in ((2, 0.3), (30, 0.2), (300, 0.5), (1500, 0.69), (2500, 0.69), (2500, 0.71), (40, -0.4)):
        weights = rng.dirichlet(np.ones(size))
        logs = np.log(weights)
        given = parts.Smoothed(logs.copy(), k, 5)
        found = run(given)
        np.testing.assert_array_equal(given.log_weights, logs)
        threshold = min(0.7, 1.0 - 1.0 / math.log10(size))
        expected = (
            threshold,
            10.0 ** (1.0 / (1.0 - max(k, 0.0))),
            1.0 / math.fsum((weights**2).tolist()),
            k < threshold,
        )
        assert_equivalent(diagnosis(found), expected, rtol=RTOL)
        assert [type(each) for each in diagnosis(found)] == [float, float, float, bool]


@diagnosing
def test_shapes_at_the_threshold_and_beyond(candidate, rng):
    parts, run = candidate.psis.results, candidate.psis.smoothing.diagnose
    uniform = np.full(3000, -math.log(3000))
    for k, needed, reliable in (
        (0.7, 10.0 ** (1.0 / (1.0 - 0.7)), False),
        (np.nextafter(0.7, 0.0).item(), 10.0 ** (1.0 / (1.0 - 0.7)), True),
        (0.999, math.inf, False),
        (0.99, 1e100, False),
        (0.99675, 10.0 ** (1.0 / (1.0 - 0.99675)), False),
        (1.0, math.inf, False),
        (1.0 + rng.uniform(0.1, 3.0), math.inf, False),
        (math.inf, math.inf, False),
        (-rng.uniform(0.1, 3.0), 10.0, True),
    ):
        found = run(parts.Smoothed(uniform, k, 5))
        assert_equivalent(diagnosis(found), (0.7, needed, 3000.0, reliable), rtol=RTOL)


@diagnosing
def test_weights_of_zero_and_almost_zero(candidate, rng):
    parts, run = candidate.psis.results, candidate.psis.smoothing.diagnose
    logs = rng.permutation([math.log(0.25), math.log(0.25), math.log(0.5), -800.0, -400.0, -np.inf])
    found = run(parts.Smoothed(logs, 0.1, 5))
    np.testing.assert_allclose(found.effective_sample_size, 1.0 / 0.375, rtol=RTOL)
    assert_equivalent(
        run(parts.Smoothed(np.log([1.0, 0.5, 0.5]) - math.log(2.0), 0.1, 5)).effective_sample_size,
        1.0 / 0.375,
        rtol=RTOL,
    )
    for size in (0, 1):
        with pytest.raises(ValueError):  # noqa: PT011
            run(parts.Smoothed(np.zeros(size), 0.1, 0))


@diagnosing
def test_the_driver_estimates_as_that_of_the_authors(candidate, reference, rng):
    values, ratios = rng.normal(size=(2, 250))
    for efficiency, scale in ((1.0, 0.5), (0.8, 2.0)):
        found = [side.psis.estimate.expectation(values, scale * ratios, efficiency) for side in (candidate, reference)]
        assert_equivalent(found[0], found[1], rtol=RTOL, atol=ATOL)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
