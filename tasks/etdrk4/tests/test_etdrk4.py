"""Hidden tests of the task etdrk4."""

import math
import re

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

phi = pytest.mark.interface("spectral.integrator.phi_functions")
weights = pytest.mark.interface("spectral.integrator.coefficients")
one_step = pytest.mark.interface("spectral.integrator.advance")
many_steps = pytest.mark.interface("spectral.integrator.integrate")

NAMES = ("full", "half", "inner", "first", "middle", "last")


def series(z, order, terms=60):
    """phi of that order by its power series: exact to rounding for |z| < 2, to 1e-12 for |z| < 5."""
    return sum(z**n / float(math.factorial(n + order)) for n in range(terms))


def direct(z):
    """The three phi functions by their definition: exact to rounding for large |z|."""
    e = np.exp(z)
    return (e - 1) / z, (e - 1 - z) / z**2, (e - 1 - z - z**2 / 2) / z**3


def wave(rng, points, length, modes=4):
    """A smooth periodic function of size one."""
    angle = 2.0 * np.pi * np.arange(1, modes + 1)[:, None] * points / length + rng.uniform(0, 6, (modes, 1))
    return (rng.uniform(0.1, 0.5, (modes, 1)) * np.sin(angle)).sum(axis=0)


# phi_functions


@phi
def test_phi_near_zero_loses_no_digit(candidate, rng):
    sizes = np.concatenate([[0.0], 10.0 ** ((np.arange(48) + rng.uniform(size=48)) / 4.0 - 12.0)])  # four per decade
    sizes = np.concatenate([sizes, [5e-324, 1e-310, 1e-200, 1e-100]])
    z = sizes * rng.choice([-1.0, 1.0], sizes.size)
    found = assert_unmodified(candidate.spectral.integrator.phi_functions, z)
    assert isinstance(found, tuple)
    for order, values in zip((1, 2, 3), found, strict=True):
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, series(z, order), rtol=1e-10)


@phi
def test_phi_of_strong_damping_and_growth(candidate, rng):
    z = np.concatenate([-(10.0 ** rng.uniform(1.0, 8.0, 20)), rng.uniform(5.0, 20.0, 5)])
    z = np.concatenate([z, -np.linspace(4.0, 10.0, 7), np.linspace(4.0, 5.0, 3)]).reshape(5, 7)
    found = candidate.spectral.integrator.phi_functions(z)
    for values, expected in zip(found, direct(z), strict=True):
        assert values.shape == (5, 7)
        np.testing.assert_allclose(values, expected, rtol=1e-10)


@phi
def test_phi_of_complex_numbers(candidate, rng):
    near = np.append(10.0 ** rng.uniform(-9.0, 0.0, 9), 0.0) * np.exp(1j * rng.uniform(-3.0, 3.0, 10))
    for order, values in zip((1, 2, 3), candidate.spectral.integrator.phi_functions(near), strict=True):
        assert values.dtype == np.complex128
        np.testing.assert_allclose(values, series(near, order), rtol=1e-10)
    far = 1j * rng.choice([-1.0, 1.0], 10) * 10.0 ** rng.uniform(1.0, 4.0, 10)
    real = np.concatenate([-np.linspace(4.0, 60.0, 9), -(10.0 ** rng.uniform(2.0, 8.0, 5)), np.linspace(4.0, 20.0, 6)])
    far = np.concatenate([far, real + 1j * 10.0 ** rng.uniform(-1.0, 4.0, 20)])
    for values, expected in zip(candidate.spectral.integrator.phi_functions(far), direct(far), strict=True):
        np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-13)


@phi
def test_phi_where_points_of_a_contour_meet_zero(candidate, rng):
    """A circle of radius 1 around z with 32 points has one at 0 for 32 values of z: these, others alike, and close by."""
    turns = np.exp(1j * np.pi * np.arange(128) / 64)  # circles of 32 and 64 points, with and without an offset
    radii = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
    exact = radii[:, None] * turns
    close = exact + 10.0 ** rng.uniform(-12.0, -2.0, exact.shape) * np.exp(1j * rng.uniform(-3.2, 3.2, exact.shape))
    by_name = -np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)
    real = np.concatenate([-radii, radii])
    inside, outside = real * (1.0 - 10.0 ** rng.uniform(-12.0, -2.0, 12)), real * (1.0 + 1e-9)
    for z in (np.concatenate([by_name, exact.ravel(), close.ravel()]), np.concatenate([real, inside, outside])):
        for order, values in zip((1, 2, 3), candidate.spectral.integrator.phi_functions(z), strict=True):
            np.testing.assert_allclose(values, series(z, order), rtol=1e-10, atol=1e-13 if np.iscomplexobj(z) else 0.0)


@phi
def test_phi_everywhere_near_zero(candidate, rng):
    """The points of a contour come close to zero for some of so many numbers, whatever its radius and offset are."""
    function = candidate.spectral.integrator.phi_functions
    for _ in range(12):
        z = rng.uniform(0.0, 3.0, 20_000) * np.exp(2j * np.pi * rng.uniform(size=20_000))
        third = series(z, 3, terms=30)
        second = 0.5 + z * third
        for values, expected in zip(function(z), (1.0 + z * second, second, third), strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-13)
    real = rng.uniform(-4.0, 4.0, 6_000)
    for order, values in zip((1, 2, 3), function(real), strict=True):
        np.testing.assert_allclose(values, series(real, order), rtol=1e-10)


@phi
def test_phi_of_every_shape(candidate, rng):
    function = candidate.spectral.integrator.phi_functions
    assert [values.shape for values in function(np.zeros((0, 3)))] == [(0, 3)] * 3
    single = [np.asarray(values) for values in function(np.array(1.0))]
    assert [values.shape for values in single] == [()] * 3
    np.testing.assert_allclose(single, [math.e - 1.0, math.e - 2.0, math.e - 2.5], rtol=1e-10)
    whole = rng.integers(-4, 1, (2, 3))
    whole[0, 0] = 0
    for order, values in zip((1, 2, 3), function(whole), strict=True):
        assert values.dtype == np.float64
        np.testing.assert_allclose(values, series(whole.astype(float), order), rtol=1e-10)
    single = rng.uniform(-2.0, 2.0, 5).astype(np.float32)
    for z in (single, single * np.complex64(1j)):
        exact = z.astype(np.result_type(z, np.float64))
        for order, values in zip((1, 2, 3), function(z), strict=True):
            assert values.dtype == exact.dtype
            np.testing.assert_allclose(values, series(exact, order), rtol=1e-10, atol=1e-13)


# coefficients


@weights
def test_weights_without_stiffness_are_those_of_runge_kutta(candidate, rng):
    h = rng.uniform(0.01, 0.5)
    for tiny in (0.0, 1e-9, -1e-7):
        found = candidate.spectral.integrator.coefficients(np.full(3, tiny), h)
        assert found.step == h
        expected = {"full": 1.0, "half": 1.0, "inner": h / 2, "first": h / 6, "middle": h / 3, "last": h / 6}
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(found, name), np.full(3, value), rtol=1e-6, err_msg=name)
    short = candidate.spectral.integrator.coefficients(np.zeros(2), 1e-9 * h)  # small, but positive
    np.testing.assert_allclose(short.first, np.full(2, 1e-9 * h / 6), rtol=1e-6)


@weights
@pytest.mark.parametrize("kind", ["damped", "dispersive"])
def test_weights_are_those_of_the_authors(candidate, reference, rng, kind):
    sizes = 10.0 ** rng.uniform(-6.0, 5.0, (4, 6))
    eigenvalues = -sizes if kind == "damped" else 1j * sizes - rng.uniform(0.0, 1.0, (4, 6))
    h = rng.uniform(0.001, 0.1)
    found = assert_unmodified(candidate.spectral.integrator.coefficients, eigenvalues, h)
    expected = reference.spectral.integrator.coefficients(eigenvalues, h)
    for name in NAMES:
        assert_equivalent(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-9 * h, check_dtype=True)
    single = eigenvalues.astype(np.float32 if kind == "damped" else np.complex64)
    rounded = candidate.spectral.integrator.coefficients(single, h)
    expected = reference.spectral.integrator.coefficients(single.astype(eigenvalues.dtype), h)
    for name in NAMES:
        assert_equivalent(getattr(rounded, name), getattr(expected, name), rtol=1e-9, atol=1e-9 * h, check_dtype=True)
    exact = np.expm1(h * eigenvalues / 2.0) / eigenvalues
    np.testing.assert_allclose(found.inner, exact, rtol=1e-9, atol=1e-9 * h)


@weights
def test_weights_follow_the_formula_of_the_paper(candidate, rng):
    h = rng.uniform(0.2, 0.6)
    z = -rng.uniform(3.0, 9.0, 7)
    found = candidate.spectral.integrator.coefficients(z / h, h)
    e = np.exp(z)
    np.testing.assert_allclose(found.first, h * (-4 - z + e * (4 - 3 * z + z**2)) / z**3, rtol=2e-9)
    np.testing.assert_allclose(found.middle, 2 * h * (2 + z + e * (-2 + z)) / z**3, rtol=2e-9)
    np.testing.assert_allclose(found.last, h * (-4 - 3 * z - z**2 + e * (4 - z)) / z**3, rtol=2e-9)
    np.testing.assert_allclose(found.half**2, found.full, rtol=1e-9)
    np.testing.assert_allclose(found.full, e, rtol=1e-9)
    for step in (0.0, -h, float("nan"), float("inf")):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.spectral.integrator.coefficients(z, step)


# advance


@one_step
def test_step_is_exact_for_quadratic_forcing(candidate, reference, rng):
    """v' = L v + a + b t + c t^2 has a closed solution in phi functions."""
    eigenvalues = np.concatenate([[0.0, -1e-6], -(10.0 ** rng.uniform(-3.0, 3.0, 6))])
    a, b, c, modes = rng.normal(size=(4, 8)) + 1j * rng.normal(size=(4, 8))
    h, start = rng.uniform(0.1, 0.9), rng.uniform(-1.0, 1.0)

    def forcing(_modes, time):
        s = time - start
        return a + b * s + c * s**2

    scheme = candidate.spectral.integrator.coefficients(eigenvalues, h)
    weights_before = [np.array(getattr(scheme, name)) for name in NAMES]
    found = assert_unmodified(candidate.spectral.integrator.advance, modes, start, forcing, scheme)
    z = h * eigenvalues
    one, two, three = reference.spectral.integrator.phi_functions(z)
    expected = np.exp(z) * modes + h * a * one + h**2 * b * two + 2 * h**3 * c * three
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
    assert_equivalent([getattr(scheme, name) for name in NAMES], weights_before, rtol=0.0, atol=0.0)


@one_step
def test_stages_are_asked_for_in_order(candidate, reference, rng):
    """Times and arguments of the four calls, for a nonlinearity that couples the modes."""
    eigenvalues = -rng.uniform(0.0, 5.0, (2, 3)) + 1j * rng.uniform(-5.0, 5.0, (2, 3))
    modes = rng.normal(size=(2, 3)) + 1j * rng.normal(size=(2, 3))
    h, start = rng.uniform(0.1, 0.4), rng.uniform(1.0, 2.0)
    results, calls = [], {}
    for name, side in (("candidate", candidate), ("reference", reference)):
        calls[name] = []

        def nonlinear(v, time, seen=calls[name]):
            seen.append((float(time), np.array(v)))
            return np.cos(time) * v[::-1] * v + v**2

        scheme = side.spectral.integrator.coefficients(eigenvalues, h)
        results.append(side.spectral.integrator.advance(modes, start, nonlinear, scheme))
    assert len(calls["candidate"]) == 4
    for (time, stage), (expected_time, expected_stage) in zip(calls["candidate"], calls["reference"], strict=True):
        np.testing.assert_allclose(time, expected_time, rtol=1e-12)
        np.testing.assert_allclose(stage, expected_stage, rtol=1e-6, atol=1e-9)
    assert_equivalent(results[0], results[1], rtol=1e-6, atol=1e-9)


@one_step
def test_error_falls_with_the_fourth_power(candidate, rng):
    """v' = -s v + v^2 (Bernoulli): 1/v = 1/s + (1/v0 - 1/s) e^{s t}."""
    s, start = rng.uniform(0.8, 2.0, 16), rng.uniform(0.2, 0.5, 16)  # the error of a few can happen to be small
    exact = 1.0 / (1.0 / s + (1.0 / start - 1.0 / s) * np.exp(s))
    errors = []
    for count in (6, 12):
        scheme = candidate.spectral.integrator.coefficients(-s, 1.0 / count)
        v = start
        for index in range(count):
            v = candidate.spectral.integrator.advance(v, index / count, lambda v, _time: v * v, scheme)
        errors.append(np.abs(v - exact).max())
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] > 2.0**3.3


# integrate


@many_steps
@pytest.mark.parametrize("name", ["kuramoto_sivashinsky", "korteweg_de_vries"])
def test_trajectory_is_that_of_the_authors(candidate, reference, rng, name):
    size, length = 32, rng.uniform(15.0, 20.0)
    initial = wave(rng, np.arange(size) * length / size, length)
    start = rng.uniform(-5.0, 5.0)
    found = []
    for side in (candidate, reference):
        grid = side.spectral.grid.FourierGrid(size, length)
        equation = getattr(side.spectral.equations, name)(grid)
        path = side.spectral.integrator.integrate(equation, initial, step=0.03, steps=25, save_every=10, start=start)
        found.append((path.times, path.states))
    assert_equivalent(found[0], found[1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found[0][0], start + 0.03 * np.array([0, 10, 20, 25]), rtol=1e-12)


@many_steps
def test_a_soliton_travels_and_keeps_its_mass_and_energy(candidate, rng):
    size, length, speed = 128, 40.0, rng.uniform(0.6, 1.0)
    grid = candidate.spectral.grid.FourierGrid(size, length)
    simulate = candidate.spectral.simulate
    initial = simulate.soliton(grid.points, length, speed)
    path = simulate.run(candidate.spectral.equations.korteweg_de_vries(grid), initial, 4.0, 200)
    expected = simulate.soliton(grid.points - speed * 4.0, length, speed)
    assert path.states.shape == (11, size)
    np.testing.assert_allclose(path.times[-1], 4.0)
    np.testing.assert_allclose(path.states[-1], expected, atol=2e-3)
    for values in simulate.invariants(path, length).values():
        np.testing.assert_allclose(values, values[0], rtol=1e-5)


@many_steps
def test_forcing_sees_the_right_times(candidate, rng):
    """u_t = nu u_xx + cos(k x) (2 t): exact, for the forcing is linear in time."""
    size, length, nu, start = 16, rng.uniform(2.0, 6.0), rng.uniform(0.5, 2.0), rng.uniform(1.0, 2.0)
    k = 2.0 * np.pi * rng.integers(1, 5) / length
    grid = candidate.spectral.grid.FourierGrid(size, length)
    equation = candidate.spectral.equations.forced_diffusion(grid, nu, lambda x, t: 2.0 * t * np.cos(k * x))
    x, rate = np.arange(size) * length / size, nu * k * k
    initial = 3.0 + np.cos(k * x)
    path = candidate.spectral.integrator.integrate(equation, initial, step=0.1, steps=7, save_every=3, start=start)
    np.testing.assert_allclose(path.times, start + 0.1 * np.array([0, 3, 6, 7]), rtol=1e-12)
    particular = 2.0 * (path.times / rate - 1.0 / rate**2)
    amplitude = particular + (1.0 - particular[0]) * np.exp(-rate * (path.times - start))
    np.testing.assert_allclose(path.states, 3.0 + amplitude[:, None] * np.cos(k * x), rtol=1e-6, atol=1e-8)


@many_steps
def test_saving_and_bad_arguments(candidate, rng):
    grid = candidate.spectral.grid.FourierGrid(8, 5.0)
    equation = candidate.spectral.equations.kuramoto_sivashinsky(grid)
    run = candidate.spectral.integrator.integrate
    initial = rng.integers(-2, 3, 8)
    for steps, every, expected in ((0, 1, [0]), (6, 3, [0, 3, 6]), (2, 5, [0, 2]), (3, 1, [0, 1, 2, 3])):
        path = run(equation, initial, step=0.01, steps=steps, save_every=every)
        np.testing.assert_allclose(path.times, 0.01 * np.array(expected), rtol=1e-12)
        assert path.states.shape == (len(expected), 8)
        assert path.states.dtype == np.float64
        np.testing.assert_allclose(path.states[0], initial, rtol=1e-12)
        assert len(np.unique(path.states[:, 0])) == len(expected)
    values = wave(rng, np.arange(8) * 5.0 / 8, 5.0)
    eigenvalues = np.array(equation.eigenvalues)
    path = assert_unmodified(run, equation, values, step=0.01, steps=2)
    np.testing.assert_allclose(path.states[0], values, rtol=1e-12)
    assert_equivalent(np.array(equation.eigenvalues), eigenvalues, rtol=0.0, atol=0.0)
    whole = run(equation, initial, step=1, steps=0, start=2)
    assert_equivalent(whole.times, np.array([2.0]), check_dtype=True)
    for initial_shape, bad in (
        (8, {"steps": -1}),
        (8, {"save_every": 0}),
        (8, {"save_every": 0, "steps": 0}),
        (8, {"step": 0.0, "steps": 0}),
        (8, {"step": float("nan")}),
        (9, {}),  # as many modes as 8 points have
        (9, {"steps": 0}),
        ((1, 8), {}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(equation, np.zeros(initial_shape), **{"step": 0.01, "steps": 3, **bad})


@many_steps
def test_a_blow_up_is_reported_at_its_step(candidate, rng):
    """N turns infinite after a time of the test's choice; before that, all is well."""
    last_good = rng.integers(3, 8).item()
    bad_value = rng.choice([np.inf, np.nan])
    grid = candidate.spectral.grid.FourierGrid(4, 1.0)

    def nonlinear(v, time):
        return v * (bad_value if time > last_good * 0.5 + 0.1 else -0.5)

    equation = candidate.spectral.equations.SemilinearEquation(grid, -np.ones(3), nonlinear)
    run = candidate.spectral.integrator.integrate
    path = run(equation, np.ones(4), step=0.5, steps=last_good)
    assert path.times.shape == (last_good + 1,)
    np.testing.assert_allclose(path.states[-1], np.full(4, np.exp(-0.75 * last_good)), rtol=0.01)
    with pytest.raises(FloatingPointError) as caught:
        run(equation, np.ones(4), step=0.5, steps=last_good + 4)
    assert re.findall(r"\d+", str(caught.value)) == [str(last_good + 1)]


@many_steps
def test_a_blow_up_between_saved_steps_is_reported_at_once(candidate, rng):
    """One mode of three is enough. The step is named although nothing is saved there, and no step follows it."""
    last_good, first_bad = rng.integers(3, 8).item(), rng.integers(3).item()
    calls = []

    def nonlinear(v, time):
        calls.append(float(time))
        factor = np.full(3, -0.5)
        if time > last_good * 0.5 + 0.1:
            factor[first_bad] = np.nan
        return v * factor

    grid = candidate.spectral.grid.FourierGrid(4, 1.0)
    equation = candidate.spectral.equations.SemilinearEquation(grid, -np.ones(3), nonlinear)
    with pytest.raises(FloatingPointError) as caught:
        candidate.spectral.integrator.integrate(equation, np.ones(4), step=0.5, steps=30, save_every=20)
    assert re.findall(r"\d+", str(caught.value)) == [str(last_good + 1)]
    assert len(calls) == 4 * (last_good + 1)


@many_steps
def test_times_are_no_running_sum(candidate, rng):
    """Far from zero a step of 0.1 cannot be represented: each addition loses a fifth of the last digit's unit."""
    start, steps = 2.0**27 + rng.integers(1000).item(), 40
    seen = []

    def nonlinear(v, time):
        seen.append(float(time))
        return 0.0 * v

    grid = candidate.spectral.grid.FourierGrid(4, 1.0)
    equation = candidate.spectral.equations.SemilinearEquation(grid, -np.ones(3), nonlinear)
    path = candidate.spectral.integrator.integrate(equation, np.ones(4), step=0.1, steps=steps, start=start)
    exact = start + 0.1 * np.arange(steps + 1)
    unit = np.spacing(start)
    assert path.times.shape == exact.shape
    assert np.abs(path.times - exact).max() <= unit
    assert np.abs(np.array(seen[::4]) - exact[:-1]).max() <= unit


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
