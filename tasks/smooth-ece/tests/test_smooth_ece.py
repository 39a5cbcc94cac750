"""Hidden tests of the task smooth-ece."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

kernel = pytest.mark.interface("smece.smoothing.log_kernel")
measuring = pytest.mark.interface("smece.smoothing.smoothed_error")
solving = pytest.mark.interface("smece.smoothing.smooth_ece")
drawing = pytest.mark.interface("smece.smoothing.reliability_curve")

# Sums of a few hundred smooth terms: rounding is below 1e-11.
RTOL, ATOL = 1e-8, 1e-9
CELLS = 128
MIDDLES = (np.arange(CELLS) + 0.5) / CELLS


def forecasts(rng, count=12, bias=0.35):
    """Predictions with repetitions and both ends of the interval, and outcomes that fall short of them."""
    predictions = np.round(rng.uniform(0.0, 1.0, count), 2)
    predictions[:4] = 0.0, 1.0, predictions[5], 0.9
    outcomes = (rng.uniform(size=count) < np.clip(predictions - bias, 0.0, 1.0)).astype(np.float64)
    outcomes[1], outcomes[3] = 1.0, 0.0
    return predictions, outcomes


def by_images(points, centres, width, most=5):
    """Equation (2), one image after the other."""
    scale = width * math.sqrt(2.0 * math.pi)
    return np.array(
        [
            [
                math.fsum(
                    math.exp(-0.5 * ((2 * m + sign * t - f) / width) ** 2) / scale
                    for m in range(-most, most + 1)
                    for sign in (1, -1)
                )
                for f in centres
            ]
            for t in points
        ]
    )


def cosines(values, count):
    return np.cos(math.pi * np.multiply.outer(np.asarray(values), np.arange(count)))


def by_waves(points, centres, width):
    """The same kernel as a series of cosines (the heat equation on the interval)."""
    count = int(9.0 / (math.pi * width)) + 3
    factors = np.exp(-0.5 * (math.pi * width * np.arange(count)) ** 2) * np.where(np.arange(count) > 0, 2.0, 1.0)
    return (cosines(points, count) * factors) @ cosines(centres, count).T


def error_at(predictions, outcomes, width):
    smooth = by_waves(MIDDLES, predictions, width) @ (outcomes - predictions) / len(predictions)
    return math.fsum(np.abs(smooth).tolist()) / CELLS


def solved(predictions, outcomes):
    low, high = 1.0 / CELLS, 1.0
    if error_at(predictions, outcomes, low) <= low:
        return error_at(predictions, outcomes, low), low
    for _ in range(12):
        middle = (low + high) / 2.0
        low, high = (middle, high) if error_at(predictions, outcomes, middle) > middle else (low, middle)
    return error_at(predictions, outcomes, (low + high) / 2.0), (low + high) / 2.0


def decided(predictions, outcomes):
    """Whether each halving compares numbers that differ by more than rounding."""
    low, high = 1.0 / CELLS, 1.0
    for _ in range(12):
        middle = (low + high) / 2.0
        error = error_at(predictions, outcomes, middle)
        if abs(error - middle) < 1e-7:
            return False
        low, high = (middle, high) if error > middle else (low, middle)
    return True


# log_kernel


@kernel
def test_kernel_adds_the_images_of_each_point(candidate, rng):
    points = np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 5)])
    centres = np.concatenate([[1.0, 0.0], rng.uniform(0.0, 1.0, 4)])
    for width in (0.1, 0.3, 0.55, 1.0):
        found = assert_unmodified(candidate.smece.smoothing.log_kernel, points, centres, width)
        assert_equivalent(found, np.log(by_images(points, centres, width)), rtol=RTOL, atol=ATOL, check_dtype=True)


@kernel
def test_wide_kernels_are_flat(candidate, rng):
    points, centres = rng.uniform(0.0, 1.0, 4), rng.uniform(0.0, 1.0, 3)
    for width in (0.8, 1.7, 2.4, 3.0, 9.5, 30.0):
        found = np.exp(candidate.smece.smoothing.log_kernel(points, centres, width))
        assert_equivalent(found, by_waves(points, centres, width), rtol=RTOL)


@kernel
def test_narrow_kernels_do_not_underflow(candidate, rng):
    """Only the nearest image matters; at the ends it counts twice."""
    points = np.concatenate([[0.0], rng.uniform(0.1, 0.4, 12), [1.0]])
    centres = rng.uniform(0.45, 0.55, 4)
    twice = math.log(2.0) * (np.arange(14) % 13 == 0)[:, None]
    for width in (1e-6, 1e-4, 1e-3, 0.01):
        expected = (
            -0.5 * ((points[:, None] - centres) / width) ** 2 - math.log(width * math.sqrt(2.0 * math.pi)) + twice
        )
        found = candidate.smece.smoothing.log_kernel(points, centres, width)
        assert_equivalent(found, expected, rtol=RTOL, atol=ATOL)


@kernel
def test_kernels_of_every_width(candidate, rng):
    """Widths from 1e-6 to 30 and points that are as close to each other and to the ends as the width is."""
    for width in 10.0 ** rng.uniform(np.linspace(-6.0, 1.27, 30), np.linspace(-5.8, 1.47, 30)):
        near = np.clip(rng.normal(size=6) * width, -0.5, 0.5) % 1.0
        points, centres = np.append(near[:3], rng.uniform()), np.append(near[3:], rng.uniform())
        reach = math.ceil(5.0 * width) + 1
        shifts = 2.0 * np.arange(-reach, reach + 1)
        apart = points[:, None, None] * np.array([1.0, -1.0]) + shifts[:, None, None, None] - centres[:, None]
        exponents = np.moveaxis(-0.5 * (apart / width) ** 2, 0, 2).reshape(4, 4, -1)
        top = exponents.max(axis=-1)
        expected = (
            top + np.log(np.exp(exponents - top[..., None]).sum(axis=-1)) - math.log(width * math.sqrt(2 * math.pi))
        )
        found = candidate.smece.smoothing.log_kernel(points, centres, width)
        assert_equivalent(found, expected, rtol=2e-9, atol=2e-9)


@kernel
def test_other_types_no_points_and_refusals(candidate, rng):
    run = candidate.smece.smoothing.log_kernel
    half = rng.uniform(0.0, 1.0, 4).astype(np.float16)
    expected = np.log(by_images(half.tolist(), [0, 1], 0.25))
    for points in (half, half.tolist()):
        assert_equivalent(run(points, [0, 1], 0.25), expected, rtol=RTOL, atol=ATOL, check_dtype=True)
        found = run([0, 1], points, 0.25)
        assert_equivalent(found, expected.T.copy(), rtol=RTOL, atol=ATOL, check_dtype=True)
    assert run(np.zeros(0), half, 0.5).shape == (0, 4)
    assert run(half, np.zeros(0), 0.5).shape == (4, 0)
    good = rng.uniform(0.0, 1.0, 3)
    for bad in (-1e-9, 1.0 + 1e-9, np.nan):
        wrong = np.append(good, bad)
        for given in ((wrong, good), (good, wrong)):
            with pytest.raises(ValueError):  # noqa: PT011
                run(*given, 0.5)
    for given in ((good[None], good), (good, good[:, None]), (0.5, good), (good, 0.5)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*given, 0.5)
    for width in (0.0, -0.5, np.nan):
        with pytest.raises(ValueError):  # noqa: PT011
            run(good, good, width)


# smoothed_error


@measuring
def test_error_is_the_mass_of_the_smoothed_residuals(candidate, rng):
    predictions, outcomes = forecasts(rng)
    for width in (1.0 / 128.0, 0.03, 0.2, 0.7, 2.0):
        found = assert_unmodified(candidate.smece.smoothing.smoothed_error, predictions, outcomes, width)
        assert type(found) is float
        np.testing.assert_allclose(found, error_at(predictions, outcomes, width), rtol=RTOL, atol=ATOL)


@measuring
def test_one_forecast_has_the_same_error_at_each_width(candidate, rng):
    """The kernel has mass 1; the midpoint rule is exact up to 1e-8 for smooth even functions of this width."""
    prediction, outcome = rng.uniform(0.0, 1.0, 2)
    for width in (0.01, 0.05, 0.4, 1.5):
        found = candidate.smece.smoothing.smoothed_error([prediction], [outcome], width)
        assert np.ndim(found) == 0
        np.testing.assert_allclose(found, abs(outcome - prediction), rtol=1e-6, atol=ATOL)


@measuring
def test_residuals_cancel_only_where_they_are(candidate, rng):
    """Two forecasts in one place cancel at any width; two in different places do with a wide kernel only."""
    run = candidate.smece.smoothing.smoothed_error
    place = rng.uniform(0.2, 0.8)
    assert abs(run([place, place], [place + 0.1, place - 0.1], 0.02)) < 1e-12
    predictions, outcomes = np.array([0.1, 0.9]), np.array([0.4, 0.6])
    np.testing.assert_allclose(run(predictions, outcomes, 0.02), 0.3, rtol=RTOL)
    assert run(predictions, outcomes, 3.0) < 1e-9


@measuring
def test_other_types_and_arguments_that_are_refused(candidate, rng):
    run = candidate.smece.smoothing.smoothed_error
    half = rng.uniform(0.0, 1.0, 6).astype(np.float16)
    outcomes = rng.permutation([0, 1, 0, 1, 0, 1])
    expected = error_at(half.astype(np.float64), outcomes, 0.05)
    for given in ((half, outcomes), (half.tolist(), outcomes.tolist()), (half, outcomes.astype(bool))):
        np.testing.assert_allclose(run(*given, 0.05), expected, rtol=RTOL)
    predictions, outcomes = forecasts(rng)
    assert run(predictions, outcomes, 1.0 / 128.0) > 0.0
    high = outcomes.copy()
    high[2] = 1.5
    for bad in (
        (predictions, outcomes, np.nextafter(1.0 / 128.0, 0.0).item()),
        (predictions, outcomes, -0.5),
        (predictions, outcomes, math.nan),
        (predictions[:-1], outcomes, 0.1),
        (predictions, high, 0.1),
        (2.0 * predictions - 0.5, outcomes, 0.1),
        ([], [], 0.1),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


# smooth_ece


@solving
def test_the_width_equals_the_error(candidate, rng):
    alternating = (np.arange(10) + rng.uniform(0.0, 1.0, 10)) / 10.0, np.arange(10) % 2  # cancels at larger widths
    for predictions, outcomes in (forecasts(rng, 6, 0.9), (alternating[0], alternating[1].astype(np.float64))):
        found = assert_unmodified(candidate.smece.smoothing.smooth_ece, predictions, outcomes)
        error, width = solved(predictions, outcomes)
        assert [type(each) for each in (found.error, found.width)] == [float, float]
        np.testing.assert_allclose([found.error, found.width], [error, width], rtol=RTOL, atol=ATOL)


@solving
def test_the_width_is_the_middle_after_twelve_halvings(candidate, rng):
    """The error of one forecast is its distance at each width, so the width is that of the cell around it."""
    cell = (1.0 - 1.0 / CELLS) / 2.0**12
    for distance in (rng.uniform(0.1, 0.5), rng.uniform(0.5, 0.95)):
        place = rng.uniform(0.0, 0.99 - distance)
        number = (distance - 1.0 / CELLS) // cell
        distance = 1.0 / CELLS + (number + rng.choice([0.2, 0.4, 0.6, 0.8])) * cell
        found = candidate.smece.smoothing.smooth_ece([place], [place + distance])
        assert abs(found.width / (1.0 / CELLS + (number + 0.5) * cell) - 1.0) < 1e-12
        assert abs(found.error / distance - 1.0) < 1e-6


@solving
def test_forecasts_that_are_calibrated_and_ones_that_are_all_wrong(candidate, rng):
    run = candidate.smece.smoothing.smooth_ece
    place = rng.uniform(0.2, 0.8)
    found = run([place, place], [place + 0.1, place - 0.1])
    assert abs(found.error) < 1e-12
    assert found.width == 1.0 / 128.0
    error = rng.uniform(1e-4, 6e-3)
    found = run([place], [place + error])
    np.testing.assert_allclose(found.error, error, rtol=1e-6)
    assert found.width == 1.0 / 128.0
    assert [type(each) for each in (found.error, found.width)] == [float, float]
    found = run([0, 0, 0], [1, 1, 1])
    np.testing.assert_allclose([found.error, found.width], [1.0, 1.0 - (1.0 - 1.0 / 128.0) / 2.0**13], rtol=RTOL)


@solving
def test_measure_of_other_types_and_of_forecasts_that_are_refused(candidate, rng):
    run = candidate.smece.smoothing.smooth_ece
    half, outcomes = rng.uniform(0.0, 0.4, 6).astype(np.float16), rng.permutation([0, 1, 1, 1, 0, 1])
    while not decided(half.astype(np.float64), outcomes):  # few bits: the mean residual can be a width that is tried
        half = rng.uniform(0.0, 0.4, 6).astype(np.float16)
    error, width = solved(half.astype(np.float64), outcomes)
    for given in ((half, outcomes), (half.tolist(), outcomes.tolist())):
        found = run(*given)
        np.testing.assert_allclose([found.error, found.width], [error, width], rtol=RTOL)
    for bad in (([], []), ([0.5, 0.4], [1.0]), ([0.5], [1.1]), ([[0.5]], [[1.0]])):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


# reliability_curve


def fields(found):
    return found.points, found.calibration, found.density


@drawing
def test_curve_is_the_regression_of_the_outcomes(candidate, rng):
    predictions, _ = forecasts(rng)
    outcomes = rng.uniform(0.0, 1.0, 12)
    points = rng.permutation(np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 7)]))
    for width in (0.15, 0.4, 1.2):
        found = assert_unmodified(candidate.smece.smoothing.reliability_curve, predictions, outcomes, width, points)
        weights = by_images(points, predictions, width)
        expected = points, weights @ outcomes / weights.sum(axis=1), weights.mean(axis=1)
        assert_equivalent(fields(found), expected, rtol=RTOL, atol=ATOL, check_dtype=True)


@drawing
def test_curve_without_points_is_on_the_grid(candidate, rng):
    predictions, outcomes = forecasts(rng)
    found = candidate.smece.smoothing.reliability_curve(predictions, outcomes, 0.1)
    weights = by_waves(MIDDLES, predictions, 0.1)
    np.testing.assert_allclose(found.points, MIDDLES, rtol=1e-12)
    np.testing.assert_allclose(found.density, weights.mean(axis=1), rtol=RTOL, atol=1e-7)
    np.testing.assert_allclose(found.density.mean(), 1.0, rtol=RTOL)
    assert found.calibration.shape == (128,)


@drawing
def test_curve_far_from_all_predictions(candidate, rng):
    """Kernels that underflow; between two predictions, the nearer one decides, and in the middle both count."""
    low, high = 0.2 + rng.uniform(0.0, 0.1), 0.7 + rng.uniform(0.0, 0.1)
    outcomes = rng.uniform(0.1, 0.9, 2)
    points = [0.0, low + 0.1, high - 0.1, 1.0]
    for width in (1e-6, 1e-4, 2e-3):
        found = candidate.smece.smoothing.reliability_curve([low, high], outcomes, width, points)
        assert_equivalent(found.calibration, outcomes[[0, 0, 1, 1]], rtol=RTOL)
        assert_equivalent(found.density, np.zeros(4), atol=1e-100)
    found = candidate.smece.smoothing.reliability_curve([0.25, 0.75, 0.75], [0.0, 1.0, 1.0], 1e-3, [0.5])
    np.testing.assert_allclose(found.calibration, [2.0 / 3.0], rtol=RTOL)


@drawing
def test_curve_of_other_types_and_arguments_that_are_refused(candidate, rng):
    run = candidate.smece.smoothing.reliability_curve
    half = rng.uniform(0.0, 1.0, 5).astype(np.float16)
    outcomes = [0, 1, 1, 0, 1]
    weights = by_images([0, 1], half.tolist(), 0.3)
    for given in ((half, np.array(outcomes)), (half.tolist(), outcomes)):
        found = run(*given, 0.3, [0, 1])
        expected = np.array([0.0, 1.0]), weights @ outcomes / weights.sum(axis=1), weights.mean(axis=1)
        assert_equivalent(fields(found), expected, rtol=RTOL, atol=ATOL, check_dtype=True)
    empty = np.zeros(0)
    assert_equivalent(fields(run(half, outcomes, 0.3, [])), (empty, empty, empty), check_dtype=True)
    for bad in (
        (half, outcomes, 0.0),
        (half, outcomes[:-1], 0.3),
        (half, [0, 1, 1, 0, 2], 0.3),
        (half, outcomes, 0.3, [1.5]),
        (half, outcomes, 0.3, [[0.5]]),
        ([], [], 0.3),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


@drawing
def test_the_driver_reports_as_that_of_the_authors(candidate, reference, rng):
    predictions, outcomes = forecasts(rng)
    found = [side.smece.report.report(predictions, outcomes) for side in (candidate, reference)]
    assert_equivalent(found[0], found[1], rtol=1e-7, atol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
