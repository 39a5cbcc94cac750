"""Hidden tests of the task aaa-continuum."""

import itertools

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

values_of = pytest.mark.interface("rational.continuum.evaluate")
rooting = pytest.mark.interface("rational.continuum.roots")
sampling = pytest.mark.interface("rational.continuum.samples")
fitting = pytest.mark.interface("rational.continuum.aaa")


def apart(rng, count, low=-1.0, high=1.0):
    """Random numbers that are not close to each other, in no order."""
    edges = np.linspace(low, high, count + 1)
    return rng.permutation(edges[:-1] + np.diff(edges) * rng.uniform(0.2, 0.8, count))


def barycentric(support, poles, value):
    """Support, values and weights of the function that is `value(x)` and has these poles."""
    weights = [
        np.prod(z - poles) / np.prod([z - other for k, other in enumerate(support) if k != j])
        for j, z in enumerate(support)
    ]
    return support, np.array([value(z) for z in support]), np.array(weights)


def by_roots(rng, size, kind, zero=None):
    """A function with `size` support points, and its poles, zeros and residues."""
    support = apart(rng, size)
    poles, zeros = apart(rng, size - 1, 1.5, 4.0), apart(rng, size - 1, -4.0, -1.5)
    if kind == "complex":
        poles, zeros = poles * np.exp(2j * rng.uniform(-1.0, 1.0)), zeros + 1j * rng.normal(size=size - 1)
    if kind == "inside":  # two conjugate poles, and zeros between the support points
        poles = np.array([complex(0.1, 0.4), complex(0.1, -0.4), *poles[2:]])
        zeros = np.array([rng.uniform(-0.1, 0.1), *zeros[1:]])
    if zero is not None:
        zeros[0] = support[zero]
    factor = rng.uniform(1.0, 3.0)

    def value(x):
        found = factor * np.prod((x - zeros) / (x - poles))
        return found if kind == "complex" else found.real

    residues = [factor * np.prod(p - zeros) / np.prod([p - q for q in poles if q != p]) for p in poles]
    parts = barycentric(support, poles, value)
    return (parts if kind == "complex" else [np.real(each) for each in parts]), poles, zeros, np.array(residues)


def direct(parts, x):
    """Equation (1) at one point."""
    support, values, weights = parts
    terms = [w / (x - z) for z, w in zip(support, weights, strict=True)]
    return sum(term * value for term, value in zip(terms, values, strict=True)) / sum(terms)


def match(found, expected, rtol=1e-7):
    """The order in which `found` has the expected numbers."""
    assert found.shape == expected.shape
    assert found.dtype == np.complex128
    order = [int(np.argmin(np.abs(found - each))) for each in expected]
    np.testing.assert_allclose(found[order], expected, rtol=rtol, atol=rtol)
    assert sorted(order) == list(range(len(expected)))
    return order


# evaluate


@values_of
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_values_are_those_of_the_formula(candidate, rng, kind):
    support = apart(rng, 5) + (1j * rng.normal(size=5) if kind == "complex" else 0.0)
    parts = [support, rng.normal(size=5), rng.uniform(0.5, 2.0, 5) * np.array([1, -1, 1, -1, 1])]
    rational = candidate.rational.results.Barycentric(*parts)
    points = rng.uniform(1.5, 3.0, (2, 3))
    for given in (points, points + 0.5j, points[0, 0], points[:0]):
        found = assert_unmodified(candidate.rational.continuum.evaluate, rational, given)
        expected = [direct(parts, x) for x in np.ravel(given)]
        expected = np.array(expected, dtype=np.result_type(support, given)).reshape(np.shape(given))
        assert_equivalent(np.asarray(found), expected, rtol=1e-9, check_dtype=True)
    for place in range(3):  # one of the three arrays is complex
        mixed = [each.real.copy() for each in parts]
        mixed[place] = mixed[place] + 1j * rng.uniform(0.1, 0.5, 5)
        found = candidate.rational.continuum.evaluate(candidate.rational.results.Barycentric(*mixed), points[0])
        assert_equivalent(found, np.array([direct(mixed, x) for x in points[0]]), rtol=1e-9, check_dtype=True)
    whole = rng.integers(3, 9, 4)
    expected = np.array([direct(parts, float(x)) for x in whole])
    for given in (whole.tolist(), whole.astype(np.int8), whole.astype(np.float32)):
        found = candidate.rational.continuum.evaluate(rational, given)
        assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)
    single = np.float32(rng.uniform(1.5, 3.0, 3))
    expected = np.array([direct(parts, float(x)) for x in single])
    assert_equivalent(candidate.rational.continuum.evaluate(rational, single), expected, rtol=1e-9, check_dtype=True)


@values_of
def test_values_at_and_near_support_points(candidate, rng):
    run = candidate.rational.continuum.evaluate
    support = apart(rng, 6)
    support[2] = 0.0
    values, weights = rng.normal(size=6), rng.uniform(0.5, 2.0, 6) * np.array([1, -1, 1, -1, 1, -1])
    rational = candidate.rational.results.Barycentric(support, values, weights)
    order = rng.permutation(6)
    np.testing.assert_array_equal(run(rational, support[order]), values[order])
    np.testing.assert_array_equal(run(rational, support[order] + 0j), values[order])
    np.testing.assert_array_equal(run(rational, [1e-310, -5e-324, 1e-310j]), np.full(3, values[2]))
    near = np.concatenate([np.nextafter(support, 2.0), [1e-300]])
    np.testing.assert_allclose(run(rational, near), [*values, values[2]], atol=1e-12)
    beside = support + 1e-6  # the values differ from those at the support points by about 1e-6
    expected = [direct((support, values, weights), x) for x in beside]
    np.testing.assert_allclose(run(rational, beside), expected, rtol=0.0, atol=1e-9)
    for factor in (10.0 ** -rng.integers(14, 100), np.where(np.arange(6) == order[0], 1e-14, 1.0)):
        other = candidate.rational.results.Barycentric(support, values, factor * weights)
        np.testing.assert_array_equal(run(other, support[order]), values[order])
        expected = [direct((support, values, factor * weights), x) for x in beside]
        np.testing.assert_allclose(run(other, beside), expected, rtol=0.0, atol=1e-9)
    one = candidate.rational.results.Barycentric(support[:1], values[:1], -weights[:1])
    np.testing.assert_allclose(run(one, [support[0], 3.0, 1e-5, np.inf]), np.full(4, values[0]), rtol=1e-12)


@values_of
def test_values_at_infinity_and_nan(candidate, rng):
    parts = [apart(rng, 4), rng.normal(size=4), rng.uniform(0.5, 2.0, 4)]
    rational = candidate.rational.results.Barycentric(*parts)
    limit = np.sum(parts[1] * parts[2]) / np.sum(parts[2])
    points = np.array([[np.inf, parts[0][1]], [-np.inf, np.nan]])
    found = candidate.rational.continuum.evaluate(rational, points)
    np.testing.assert_allclose(found, [[limit, parts[1][1]], [limit, np.nan]], rtol=1e-12)
    found = candidate.rational.continuum.evaluate(
        rational, [complex(0.0, np.inf), complex(np.nan, 1.0), 1e200, complex(1.0, np.nan)]
    )
    np.testing.assert_allclose(found[[0, 2]], [limit, limit], rtol=1e-9)
    assert np.isnan(found[[1, 3]]).all()


@values_of
def test_support_points_without_weight(candidate, rng):
    parts = [apart(rng, 5), rng.normal(size=5), rng.uniform(0.5, 2.0, 5)]
    parts[2][[1, 4]] = 0.0
    rational = candidate.rational.results.Barycentric(*parts)
    points = np.concatenate([parts[0], [0.0, 2.0]])
    found = candidate.rational.continuum.evaluate(rational, points)
    less = [np.delete(each, [1, 4]) for each in parts]
    expected = [direct(less, x) for x in points]
    for column in (0, 2, 3):
        expected[column] = parts[1][column]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


# roots


@rooting
@pytest.mark.parametrize("kind", ["real", "complex", "inside"])
def test_roots_and_residues_are_known(candidate, rng, kind):
    for size in (2, 3, 5) if kind != "inside" else (3, 4):
        parts, poles, zeros, residues = by_roots(rng, size, kind)
        unit, scale = 10.0 ** rng.integers(-8, 9), 1.0 if size == 3 else 10.0 ** -rng.integers(12, 40)
        parts, residues = [parts[0], scale * parts[1], parts[2]], scale * residues
        rational = candidate.rational.results.Barycentric(parts[0], parts[1], unit * parts[2])
        found = candidate.rational.continuum.roots(rational)
        order = match(found.poles, poles)
        match(found.zeros, zeros)
        assert found.residues.dtype == np.complex128
        np.testing.assert_allclose(found.residues[order], residues, rtol=1e-6)
        assert_equivalent(
            [rational.support, rational.values, rational.weights], [parts[0], parts[1], unit * parts[2]], rtol=0.0
        )


@rooting
def test_zeros_at_support_points(candidate, rng):
    parts, poles, zeros, _ = by_roots(rng, 4, "real", zero=2)
    parts[1][2] = 0.0
    found = candidate.rational.continuum.roots(candidate.rational.results.Barycentric(*parts))
    match(found.poles, poles)
    match(found.zeros, zeros)


@rooting
def test_weights_of_zero_are_no_roots(candidate, rng):
    """Two more support points, whose values are anything."""
    parts, poles, zeros, residues = by_roots(rng, 4, "real")
    extra = [np.array([-1.3, 1.2]), np.array([0.0, 5.0]), np.zeros(2)]
    order = rng.permutation(6)
    mixed = [np.concatenate(both)[order] for both in zip(parts, extra, strict=True)]
    found = candidate.rational.continuum.roots(candidate.rational.results.Barycentric(*mixed))
    places = match(found.poles, poles)
    np.testing.assert_allclose(found.residues[places], residues, rtol=1e-6)
    match(found.zeros, zeros)


@rooting
def test_roots_at_infinity_are_left_out(candidate, rng):
    """A denominator or a numerator of a lower degree; a straight line; constants."""
    run, record = candidate.rational.continuum.roots, candidate.rational.results.Barycentric
    for _ in range(4):
        support = apart(rng, 4)
        for poles, zeros in (
            (apart(rng, 2, 1.5, 4.0), apart(rng, 3, -4.0, -1.5)),
            (apart(rng, 3, -4.0, -1.5), apart(rng, 2, 1.5, 4.0)),
        ):
            found = run(
                record(*barycentric(support, poles, lambda x, p=poles, z=zeros: np.prod(x - z) / np.prod(x - p)))
            )
            match(found.poles, poles)
            match(found.zeros, zeros)
    line = rng.uniform(1.0, 2.0)
    found = run(record(np.array([-1.0, 1.0]), line + np.array([-0.5, 0.5]), np.array([0.5, -0.5])))
    assert (found.poles.shape, found.residues.shape) == ((0,), (0,))
    match(found.zeros, np.array([-2.0 * line]))
    found = run(record(support[:1], np.array([2.0]), np.array([3.0])))
    assert [each.shape for each in (found.poles, found.residues, found.zeros)] == [(0,)] * 3
    found = run(record(*barycentric(support, apart(rng, 3, 1.5, 4.0), lambda _: 0.0)))
    assert found.poles.shape == (3,)
    assert found.zeros.shape == (0,)
    np.testing.assert_allclose(found.residues, np.zeros(3), atol=1e-12)


# samples


@sampling
def test_samples_lie_in_the_gaps(candidate, rng):
    support = apart(rng, 6, -3.0, 5.0)
    for count in (1, 3, 14):
        found = assert_unmodified(candidate.rational.continuum.samples, support, count)
        ordered = sorted(support.tolist())
        expected = [
            left + (right - left) * step / (count + 1)
            for left, right in itertools.pairwise(ordered)
            for step in range(1, count + 1)
        ]
        assert_equivalent(found, np.array(expected), rtol=1e-12, atol=1e-14, check_dtype=True)


@sampling
def test_samples_of_lists_and_of_a_single_point(candidate, rng):
    low = int(rng.integers(-9, 9))
    found = candidate.rational.continuum.samples([low + 4, low, low + 2], 3)
    assert_equivalent(found, low + np.array([0.5, 1.0, 1.5, 2.5, 3.0, 3.5]), atol=1e-14, check_dtype=True)
    assert candidate.rational.continuum.samples(np.array([0.5]), 5).shape == (0,)
    middle = int(rng.choice([-1, 1])) * int(rng.integers(20, 60))
    small = candidate.rational.continuum.samples(np.array([-120, 120, middle], dtype=np.int8), 1)
    assert_equivalent(small, np.array([(middle - 120) / 2, (middle + 120) / 2]), rtol=1e-14, check_dtype=True)
    single = rng.normal(size=4).astype(np.float32)
    expected = candidate.rational.continuum.samples(single.astype(np.float64), 2)
    assert_equivalent(candidate.rational.continuum.samples(single, 2), expected, rtol=1e-14, check_dtype=True)


# aaa


def converged(fit):
    """Whether the fit says so, with a bool of Python or of numpy."""
    assert isinstance(fit.converged, bool | np.bool_)
    return bool(fit.converged)


def same_fit(found, expected, side, other, rtol=1e-6):
    """The same path and the same function; weights may differ by a factor."""
    assert_equivalent(found.errors, expected.errors, rtol=1e-4, atol=1e-12, check_dtype=True)
    assert_equivalent(found.rational.support, expected.rational.support, rtol=1e-12, check_dtype=True)
    assert_equivalent(found.rational.values, expected.rational.values, rtol=1e-12, check_dtype=True)
    assert converged(found) == converged(expected)
    points = np.linspace(-0.99, 0.98, 41)
    values = [
        each.rational.continuum.evaluate(fit.rational, points) for each, fit in ((side, found), (other, expected))
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=0.0, atol=rtol * np.abs(values[1]).max())


@fitting
@pytest.mark.parametrize("name", ["bump", "kink", "decay", "steep"])
def test_fits_are_those_of_the_authors(candidate, reference, rng, name):
    """Tolerances and degrees at which errors are far above rounding."""
    centre, width = rng.uniform(-0.6, 0.6), rng.uniform(0.15, 0.4)
    function = {
        "bump": lambda x: -np.exp(-(((x - centre) / width) ** 2)),
        "kink": lambda x: np.abs(x - centre) + 0.3 * x,
        "steep": lambda x: np.tanh(60.0 * (x - centre)),
        "decay": lambda x: -np.exp(-3.0 * (x + centre)) / (width * (x + 2.0)),
    }[name]
    for tolerance, degree in ((1e-6, 40), (0.02, 40), (1e-9, 4), (1e-9, 1)):
        fits = [
            side.rational.continuum.aaa(
                function, tolerance=tolerance, max_degree=degree if name != "kink" else min(degree, 9)
            )
            for side in (candidate, reference)
        ]
        same_fit(*fits, candidate, reference)


@fitting
def test_rational_functions_are_recovered(candidate, rng):
    """With the default tolerance, and in as many iterations as the degree."""
    centre, width, size = rng.uniform(-0.6, 0.6), rng.uniform(0.1, 0.5), 10.0 ** rng.integers(-9, 10)
    fit = candidate.rational.continuum.aaa(lambda x: size * (x + 2.0) / (1.0 + ((x - centre) / width) ** 2))
    assert converged(fit)
    assert fit.errors.shape == (2,)
    assert fit.errors[1] <= 1e-13
    found = candidate.rational.continuum.roots(fit.rational)
    match(found.poles, np.array([complex(centre, width), complex(centre, -width)]), rtol=1e-9)
    match(found.zeros[np.abs(found.zeros) < 1e3], np.array([-2.0 + 0j]), rtol=1e-7)


@fitting
def test_narrow_functions_are_found_by_samples_that_follow(candidate, rng):
    """Poles at a distance of 0.016: uniform samples would need to be much closer than that everywhere."""
    centre = rng.uniform(-0.6, 0.6)
    fit = candidate.rational.continuum.aaa(lambda x: np.tanh((x - centre) / 0.01), tolerance=1e-6)
    assert converged(fit)
    points = centre + np.linspace(-0.25, 0.25, 201)
    error = candidate.rational.continuum.evaluate(fit.rational, points) - np.tanh((points - centre) / 0.01)
    assert np.abs(error).max() < 1e-4
    poles = candidate.rational.continuum.roots(fit.rational).poles
    assert not np.any((poles.imag == 0.0) & (np.abs(poles.real) <= 1.0))


@fitting
def test_the_function_is_evaluated_at_samples(candidate, rng):
    centre, points = rng.uniform(-0.6, 0.6), []

    def function(x):
        points.append(x.copy())
        return np.abs(x - centre)

    for degree in (2, 14):
        points.clear()
        fit = candidate.rational.continuum.aaa(function, tolerance=1e-12, max_degree=degree)
        assert {(each.dtype, each.ndim) for each in points} == {(np.dtype(np.float64), 1)}
        assert not converged(fit)
        assert fit.errors.shape == (degree,)
        if len(fit.rational.support) != degree + 1:
            continue  # an earlier one was better, and the last support points are not known
        expected = [np.array([-1.0, 1.0])]
        for size in range(2, degree + 2):
            support, count = np.sort(fit.rational.support[:size]), max(3, 16 - size)
            steps = np.arange(1, count + 1) / (count + 1)
            expected.append((support[:-1, None] + np.diff(support)[:, None] * steps).ravel())
        sides = [np.unique(np.round(np.concatenate(each), 9)) for each in (points, expected)]
        np.testing.assert_allclose(sides[0], sides[1], atol=1e-8)


@fitting
def test_bad_poles_are_not_accepted(candidate, rng):
    """A pole outside and a small one between samples: degree 2 is exact and has both, degree 1 does not."""
    # the first samples are at half-integers times 2 / 15
    centre, shift = 2.0 / 15.0 * (rng.integers(-4, 5) + rng.uniform(0.02, 0.06)), rng.uniform(-0.5, 0.5)

    def function(x):
        return 1.0 / (x - 3.0 - shift) + 0.002 / (x - centre)

    for degree in (2, 3):
        fit = candidate.rational.continuum.aaa(function, tolerance=1e-7, max_degree=degree)
        assert not converged(fit)
        assert fit.errors.shape == (degree,)
        assert fit.errors[1] < 1e-8
        np.testing.assert_array_equal(fit.rational.support, [-1.0, 1.0])
    alone = candidate.rational.continuum.aaa(lambda x: 1.0 / (x - centre), tolerance=1e-7, max_degree=1)
    assert not converged(alone)  # there is nothing better
    poles = candidate.rational.continuum.roots(alone.rational).poles
    np.testing.assert_allclose(poles, [centre], rtol=1e-6, atol=1e-9)
    near = candidate.rational.continuum.aaa(lambda x: (x + 2.0) / (1e-10 + (x - centre) ** 2), tolerance=1e-7)
    assert converged(near)  # two poles at a distance of 1e-5 are not bad
    assert near.errors.shape == (2,)
    outside = candidate.rational.continuum.aaa(lambda x: 1.0 / (x - 1.5 - centre**2), tolerance=1e-7, max_degree=1)
    assert converged(outside)


@fitting
def test_the_best_one_without_bad_poles_is_returned(candidate, rng):
    """The errors of degrees 1, 2 and 3 are about 0.18, 0.23 and 0.28, and that of degree 2 has a bad pole."""
    phase = rng.uniform(0.4, 0.8)
    fit = candidate.rational.continuum.aaa(
        lambda x: np.exp(x) + 0.3 * np.sin(8.0 * x + phase), tolerance=1e-3, max_degree=3
    )
    assert not converged(fit)
    assert fit.errors.shape == (3,)
    np.testing.assert_array_equal(fit.rational.support, [-1.0, 1.0])


@fitting
def test_defaults_and_a_tolerance_that_is_equal(candidate, rng):
    run, rate, centre = candidate.rational.continuum.aaa, rng.uniform(1.0, 2.0), rng.uniform(-0.3, 0.3)
    once = run(lambda x: np.exp(rate * x), tolerance=1e-9)
    again = run(lambda x: np.exp(rate * x), tolerance=once.errors[2].item())
    assert (converged(again), len(again.errors)) == (True, 3)
    limit = run(lambda x: np.abs(x - centre))
    assert (converged(limit), len(limit.errors)) == (False, 40)

    def disturbed(x):  # by a wave of the size 0.9e-13, which a function of degree 2 cannot follow
        return 1.0 / (1.0 + ((x - centre) / 0.4) ** 2) + 0.9e-13 * np.cos(20.0 * x)

    fit = run(disturbed, max_degree=3)
    assert 1.1e-13 < fit.errors[1] < 1.9e-13  # about 1.5 times this size
    assert len(fit.errors) == 3
    assert len(run(disturbed, tolerance=2e-13).errors) == 2


@fitting
def test_constants_and_what_is_refused(candidate, rng):
    run, value = candidate.rational.continuum.aaa, rng.normal()
    for constant in (value, 0.0):
        fit = run(lambda x, constant=constant: np.full(x.shape, constant))
        assert_equivalent(
            [fit.rational.support, fit.rational.values, fit.rational.weights, fit.errors],
            [np.array([-1.0]), np.array([constant]), np.ones(1), np.zeros(1)],
            check_dtype=True,
        )
        assert converged(fit)
    whole = run(lambda x: np.full(x.shape, 3))
    assert_equivalent(whole.rational.values, np.array([3.0]), check_dtype=True)
    step = run(lambda x: (x > 0.3).astype(np.int64), max_degree=2)
    assert step.rational.values.dtype == np.float64
    # Equal at the first support points and at one sample, and equal but for a support point.
    level = run(lambda x: value + x * (1.0 - x**2) * np.exp(x), tolerance=1e-6)
    assert len(level.rational.support) > 2
    last = run(lambda x: np.where(x == 1.0, value + 1.0, value), max_degree=1)
    np.testing.assert_array_equal(last.rational.support, [-1.0, 1.0])
    last = run(lambda x: np.where(x == 1.0, np.nextafter(value, 9.0), value), max_degree=1)
    np.testing.assert_array_equal(last.rational.support, [-1.0, 1.0])
    line = run(lambda x: 1.0 + 0.1 * x, tolerance=0.5)
    np.testing.assert_array_equal(line.rational.support, [-1.0, 1.0])
    with pytest.raises(ValueError):  # noqa: PT011
        run(lambda x: np.full(x.shape, np.inf))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError):  # noqa: PT011
            run(lambda x, bad=bad: np.where(x > 0.3, bad, x))
        with pytest.raises(ValueError):  # noqa: PT011
            run(lambda x, bad=bad: np.where(x == -1.0, bad, x))
    for degree in (0, -1):
        with pytest.raises(ValueError):  # noqa: PT011
            run(lambda x: x, max_degree=degree)
        with pytest.raises(ValueError):  # noqa: PT011
            run(np.ones_like, max_degree=degree)


@fitting
def test_the_report_is_that_of_the_authors(candidate, reference, rng):
    centre, width = rng.uniform(-0.5, 0.5), rng.uniform(0.2, 0.4)
    points, tables = rng.uniform(-1.0, 1.0, 30), []
    for side in (candidate, reference):
        given = side.rational.functions
        functions = {"runge": given.runge(centre, width), "front": given.front(centre, width)}
        tables.append(side.rational.report.report(functions, 1e-6, 20, points))
    for name in ("runge", "front"):
        error = [table[name].pop("error") for table in tables]
        np.testing.assert_allclose(error[0], error[1], rtol=1e-3, atol=1e-12)
        assert_equivalent(tables[0][name], tables[1][name], rtol=1e-5)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
