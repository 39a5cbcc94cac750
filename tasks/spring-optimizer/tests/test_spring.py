"""Hidden tests of the task spring-optimizer."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

energy = pytest.mark.interface("vmc.spring.local_energies")
clipping = pytest.mark.interface("vmc.spring.clip_energies")
solving = pytest.mark.interface("vmc.spring.direction")
stepping = pytest.mark.interface("vmc.spring.step")

OPTIONS = ("rate", "decay", "damping", "momentum", "constraint", "clip")


def numbers(rng, shape, kind):
    """Real or complex normal numbers."""
    values = rng.normal(size=shape)
    return values + 1j * rng.normal(size=shape) if kind == "complex" else values


def least_squares(derivatives, energies, previous, damping, momentum):
    """The minimum of (5) by the equations of its two terms, row by row."""
    count, size = derivatives.shape
    matrix = (derivatives - derivatives.mean(axis=0)) / np.sqrt(count * damping)
    right = -(energies - energies.mean()) / np.sqrt(count * damping)
    rows = np.concatenate([np.real(matrix), np.imag(matrix), np.eye(size)])
    values = np.concatenate([np.real(right), np.imag(right), momentum * previous])
    return np.linalg.lstsq(rows, values, rcond=None)[0]


def clipped(energies, width):
    """The interval (2) for real energies, from sorted numbers."""
    ordered = sorted(energies.tolist())
    count = len(ordered)
    middle = 0.5 * (ordered[(count - 1) // 2] + ordered[count // 2])
    reach = width * sum(abs(each - middle) for each in ordered) / count
    return np.array([min(max(each, middle - reach), middle + reach) for each in energies.tolist()])


def walkers(rng, count=9, size=5, kind="real"):
    """Derivatives and energies with outliers that are clipped on both sides."""
    energies = numbers(rng, count, kind)
    energies[rng.permutation(count)[:2]] += np.array([40.0, -30.0]) * rng.uniform(0.9, 1.1)
    return numbers(rng, (count, size), kind) + rng.normal(size=size), energies


# local_energies


@energy
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_energies_are_those_of_the_definition(candidate, rng, kind):
    gradients, laplacians = numbers(rng, (5, 3, 2), kind), numbers(rng, (5, 3), kind)
    potentials, masses = numbers(rng, 5, "real"), rng.uniform(0.5, 4.0, 3)
    expected = []
    for walker in range(5):
        total = potentials[walker]
        for particle in range(3):
            square = sum(each * each for each in gradients[walker, particle])
            total = total - (laplacians[walker, particle] + square) / (2.0 * masses[particle])
        expected.append(total)
    found = assert_unmodified(candidate.vmc.spring.local_energies, gradients, laplacians, potentials, masses)
    assert_equivalent(found, np.array(expected), rtol=1e-12, check_dtype=True)


@energy
def test_energies_of_eigenstates_do_not_vary(candidate, rng):
    """The ground state of a trap, and plane waves without a potential."""
    masses, frequencies = rng.uniform(0.5, 3.0, 2), rng.uniform(0.5, 3.0, (2, 3))
    trap = candidate.vmc.oscillator.Trap(masses, frequencies)
    best, places = (masses[:, None] * frequencies).ravel(), rng.normal(size=(6, 2, 3))
    _, gradients, laplacians = candidate.vmc.oscillator.log_derivatives(best, places)
    found = candidate.vmc.spring.local_energies(gradients, laplacians, trap.potentials(places), masses)
    np.testing.assert_allclose(found, np.full(6, 0.5 * frequencies.sum()), rtol=1e-10)
    waves = rng.normal(size=(4, 2, 3))
    found = candidate.vmc.spring.local_energies(1j * waves, np.zeros((4, 2)), np.zeros(4), masses)
    expected = np.sum(waves**2 / (2.0 * masses[:, None]), axis=(1, 2)) + 0j
    assert_equivalent(found, expected, rtol=1e-12, check_dtype=True)


@energy
def test_energies_from_other_types(candidate, rng):
    run = candidate.vmc.spring.local_energies
    whole = [rng.integers(100, 200, shape) for shape in ((4, 2, 3), (4, 2), (4,), (2,))]
    expected = run(*(each.astype(np.float64) for each in whole))
    for given in ([each.tolist() for each in whole], [each.astype(np.uint8) for each in whole]):
        assert_equivalent(run(*given), expected, rtol=1e-12, check_dtype=True)
    single = [rng.uniform(1.0, 2.0, shape).astype(np.float32) for shape in ((4, 2, 3), (4, 2), (4,), (2,))]
    expected = run(*(each.astype(np.float64) for each in single))
    assert_equivalent(run(*single), expected, rtol=1e-12, check_dtype=True)
    for place in range(3):  # any one of them may be complex
        mixed = [each.astype(np.complex64) if place == k else each for k, each in enumerate(single)]
        assert_equivalent(run(*mixed), expected + 0j, rtol=1e-12, check_dtype=True)


@energy
def test_energies_that_are_refused(candidate, rng):
    run = candidate.vmc.spring.local_energies
    parts = [rng.uniform(1.0, 2.0, shape) for shape in ((4, 2, 3), (4, 2), (4,), (2,))]
    assert run(*parts).shape == (4,)
    for place, bad in (
        (0, parts[0][:, :, 0]),
        (0, parts[0][:1]),
        (1, parts[1][:, :1]),
        (1, parts[1][0]),
        (2, parts[2][:, None]),
        (2, parts[2][0]),
        (3, parts[3][:1]),
        (3, 1.0),
        (3, np.array([1.0, 0.0])),
        (3, np.array([-1.0, 2.0])),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*(bad if place == k else each for k, each in enumerate(parts)))
    with pytest.raises(ValueError):  # noqa: PT011
        run(rng.normal(size=(2, 2, 2, 2)), np.ones((2, 2)), np.ones(2), np.ones(2))


# clip_energies


@clipping
@pytest.mark.parametrize("count", [8, 9, 2])
def test_clipping_is_that_of_the_definition(candidate, rng, count):
    energies = rng.normal(size=count) + 50.0 * rng.normal()
    first, second = rng.permutation(count)[:2]
    energies[first] += 100.0
    energies[second] -= 60.0
    for width in (0.5, 0.9, 1.5, 5.0):
        for given in (energies, energies[:1]):
            found = assert_unmodified(candidate.vmc.spring.clip_energies, given, width)
            assert_equivalent(found, clipped(given, width), rtol=1e-12, check_dtype=True)


@clipping
def test_real_and_imaginary_parts_are_clipped_separately(candidate, rng):
    energies = rng.normal(size=9) + 10.0j * rng.normal(size=9)
    energies[rng.permutation(9)[:2]] += [80.0, -300.0j]
    found = assert_unmodified(candidate.vmc.spring.clip_energies, energies, 1.5)
    expected = clipped(energies.real, 1.5) + 1j * clipped(energies.imag, 1.5)
    assert_equivalent(found, expected, rtol=1e-12, check_dtype=True)


@clipping
def test_no_clipping_and_other_types(candidate, rng):
    run = candidate.vmc.spring.clip_energies
    whole = rng.integers(-100, 100, 7)
    for given in (whole.tolist(), whole, whole.astype(np.int8)):
        assert_equivalent(run(given, None), whole.astype(np.float64), check_dtype=True)
        assert_equivalent(run(given, 0.5), clipped(whole.astype(np.float64), 0.5), rtol=1e-12, check_dtype=True)
    single = rng.normal(size=7).astype(np.float32)
    assert_equivalent(run(single, 0.5), clipped(single.astype(np.float64), 0.5), rtol=1e-12, check_dtype=True)
    waves = (single + 1j).astype(np.complex64)
    assert_equivalent(run(waves, None), waves.astype(np.complex128), check_dtype=True)
    expected = clipped(single.astype(np.float64), 0.5) + 0j  # complex numbers stay complex, also if they are real
    assert_equivalent(run(single.astype(np.complex64), 0.5), expected, rtol=1e-12, check_dtype=True)
    for width in (0.0, -1.0):
        with pytest.raises(ValueError):  # noqa: PT011
            run(single, width)
    near = single.astype(np.float64)
    np.testing.assert_allclose(run(near, 1e-12), np.full(7, np.median(near)), rtol=0.0, atol=1e-10)


# direction


@solving
@pytest.mark.parametrize("kinds", [("real", "real"), ("complex", "complex"), ("complex", "real"), ("real", "complex")])
def test_direction_solves_the_least_squares_problem(candidate, rng, kinds):
    for count, size in ((6, 11), (11, 4), (1, 3), (2, 1)):
        derivatives = numbers(rng, (count, size), kinds[0]) + rng.normal(size=size)
        energies, previous = numbers(rng, count, kinds[1]) + rng.normal(), rng.normal(size=size)
        for damping, momentum in ((0.1, 0.9), (1e-3, 0.3), (2.0, 0.0)):
            found = assert_unmodified(
                candidate.vmc.spring.direction, derivatives, energies, previous, damping=damping, momentum=momentum
            )
            expected = least_squares(derivatives, energies, previous, damping, momentum)
            assert_equivalent(found, expected, rtol=1e-7, atol=1e-9, check_dtype=True)


@solving
def test_direction_with_very_many_parameters(candidate, rng):
    """The closed form in the six dimensions that the walkers span; a square matrix of this size has 7 GB."""
    derivatives, energies = rng.normal(size=(6, 30000)), rng.normal(size=6)
    previous = rng.normal(size=30000)
    found = candidate.vmc.spring.direction(derivatives, energies, previous, damping=0.5, momentum=0.8)
    centred = (derivatives - derivatives.mean(axis=0)) / np.sqrt(6.0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    wanted = -left.T @ (energies - energies.mean()) / np.sqrt(6.0) - 0.8 * values * (right @ previous)
    expected = 0.8 * previous + right.T @ (values / (values**2 + 0.5) * wanted)
    assert_equivalent(found, expected, rtol=1e-7, atol=1e-9)


@solving
def test_previous_directions_stay_where_walkers_say_nothing(candidate, rng):
    """With little damping, the equations of the walkers hold, and the rest of the direction is the previous one."""
    derivatives, energies, previous = rng.normal(size=(4, 9)), rng.normal(size=4), rng.normal(size=9)
    found = candidate.vmc.spring.direction(derivatives, energies, previous, damping=1e-10, momentum=0.7)
    centred = derivatives - derivatives.mean(axis=0)
    np.testing.assert_allclose(centred @ found, energies.mean() - energies, atol=1e-5)
    silent = np.linalg.svd(centred)[2][3:]
    np.testing.assert_allclose(silent @ found, 0.7 * silent @ previous, atol=1e-6)
    forgotten = candidate.vmc.spring.direction(derivatives, energies, previous, damping=1e-10, momentum=0.0)
    np.testing.assert_allclose(silent @ forgotten, np.zeros(6), atol=1e-6)


@solving
def test_constants_do_not_matter(candidate, rng):
    """Of energies (their zero) and derivatives (the norm of the wavefunction); rounding of 1e6 is 1e-10."""
    run = candidate.vmc.spring.direction
    (derivatives, energies), previous = walkers(rng), rng.normal(size=5)
    once = run(derivatives, energies, previous, damping=0.01, momentum=0.5)
    assert_equivalent(once, least_squares(derivatives, energies, previous, 0.01, 0.5), rtol=1e-7, atol=1e-9)
    again = run(derivatives + 1e6 * rng.normal(size=5), energies - 1e6, previous, damping=0.01, momentum=0.5)
    assert_equivalent(again, once, rtol=0.0, atol=1e-6 * np.abs(once).max())
    level = run(derivatives, np.full(9, rng.normal()), np.zeros(5), damping=0.01, momentum=0.5)
    np.testing.assert_allclose(level, np.zeros(5), atol=1e-12)


@solving
def test_direction_from_other_types(candidate, rng):
    run = candidate.vmc.spring.direction
    whole = [rng.integers(0, 100, shape) for shape in ((5, 3), (5,), (3,))]
    expected = least_squares(*(each.astype(np.float64) for each in whole), 0.1, 0.3)
    for given in ([each.tolist() for each in whole], [each.astype(np.uint8) for each in whole]):
        assert_equivalent(run(*given, damping=0.1, momentum=0.3), expected, rtol=1e-9, check_dtype=True)
    single = [rng.normal(size=shape).astype(np.float32) for shape in ((5, 3), (5,), (3,))]
    expected = least_squares(*(each.astype(np.float64) for each in single), 0.1, 0.3)
    assert_equivalent(run(*single, damping=0.1, momentum=0.3), expected, rtol=1e-9, atol=1e-11, check_dtype=True)
    waves = [single[0].astype(np.complex64), single[1], single[2]]
    assert_equivalent(run(*waves, damping=0.1, momentum=0.3), expected, rtol=1e-9, atol=1e-11, check_dtype=True)


@solving
def test_directions_that_are_refused(candidate, rng):
    run = candidate.vmc.spring.direction
    (derivatives, energies), previous = walkers(rng), rng.normal(size=5)
    for _ in range(8):  # without damping, a solver may fail by itself, but not always
        given = *walkers(rng), previous
        with pytest.raises(ValueError):  # noqa: PT011
            run(*given, damping=0.0, momentum=0.5)
    for damping, momentum in ((-0.1, 0.5), (0.1, 1.0), (0.1, -0.1), (0.1, 1.5)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(derivatives, energies, previous, damping=damping, momentum=momentum)
    for bad in (
        (derivatives, energies[:-1], previous),
        (derivatives, energies[:, None], previous),
        (derivatives, energies, previous[:1]),
        (derivatives[:, :1], energies, previous),
        (derivatives[0], energies, previous),
        (derivatives[:0], energies[:0], previous),
        (derivatives[:5], energies[:5, None], previous),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad, damping=0.1, momentum=0.5)
    small = run(derivatives, energies, previous, damping=1e-7, momentum=0.999)
    np.testing.assert_allclose(small, least_squares(derivatives, energies, previous, 1e-7, 0.999), rtol=1e-5, atol=1e-6)


# step


def settings_of(side, values):
    return side.vmc.settings.Settings(**dict(zip(OPTIONS, values, strict=True)))


def next_state(parameters, previous, iteration, derivatives, energies, values):
    """One iteration by the definitions: parameters, direction, energy and error."""
    rate, decay, damping, momentum, constraint, clip = values
    parts = [np.real(energies)] + ([np.imag(energies)] if np.iscomplexobj(energies) else [])
    parts = parts if clip is None else [clipped(each, clip) for each in parts]
    moved = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    phi = least_squares(derivatives, moved, previous, damping, momentum)
    factor = rate / (1.0 + iteration * decay)
    if constraint is not None:
        factor = min(factor, np.sqrt(constraint) / np.sqrt(phi @ phi))
    mean = energies.mean()
    error = np.sqrt(np.mean(np.abs(energies - mean) ** 2) / len(energies))
    return parameters + factor * phi, phi, np.real(mean), error


def check_step(found, expected, iteration, count):
    state, summary = found
    assert_equivalent(state.parameters, expected[0], rtol=1e-7, atol=1e-9, check_dtype=True)
    assert_equivalent(state.previous, expected[1], rtol=1e-7, atol=1e-9, check_dtype=True)
    assert state.iteration == iteration + 1
    np.testing.assert_allclose([summary.energy, summary.error], expected[2:], rtol=1e-9)
    assert summary.walkers == count
    assert [type(each) for each in (summary.energy, summary.error, summary.walkers)] == [float, float, int]


@stepping
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize(("constraint", "clip"), [(None, 2.0), (1e-4, 1.5), (1e4, None)])
def test_step_is_that_of_the_definition(candidate, rng, kind, constraint, clip):
    derivatives, energies = walkers(rng, kind=kind)
    values = (rng.uniform(0.1, 0.5), rng.uniform(0.05, 0.2), 0.05, rng.uniform(0.3, 0.9), constraint, clip)
    parameters, previous, iteration = rng.normal(size=5), rng.normal(size=5), rng.integers(5, 20).item()
    state = candidate.vmc.state.State(parameters, previous, iteration)
    settings = settings_of(candidate, values)
    found = assert_unmodified(candidate.vmc.spring.step, state, derivatives, energies, settings)
    check_step(found, next_state(parameters, previous, iteration, derivatives, energies, values), iteration, 9)
    assert_equivalent([state.parameters, state.previous], [parameters, previous], rtol=0.0, atol=0.0)


@stepping
def test_walkers_that_are_not_finite_are_left_out(candidate, rng):
    run = candidate.vmc.spring.step
    derivatives, energies = walkers(rng, count=12, kind="complex")
    values = (0.3, 0.1, 0.05, 0.8, 1e-2, 2.0)
    state = candidate.vmc.state.State(rng.normal(size=5), rng.normal(size=5), 3)
    bad = rng.permutation(12)[:5]
    energies[bad[:3]] = [np.nan, np.inf, complex(1.0, -np.inf)]
    derivatives[bad[3], rng.integers(5)] = np.nan
    derivatives[bad[4], rng.integers(5)] = complex(np.inf, 0.0)
    found = run(state, derivatives, energies, settings_of(candidate, values))
    good = np.setdiff1d(np.arange(12), bad)
    expected = next_state(state.parameters, state.previous, 3, derivatives[good], energies[good], values)
    check_step(found, expected, 3, 7)
    with pytest.raises(ValueError):  # noqa: PT011
        run(state, derivatives[bad], energies[bad], settings_of(candidate, values))


@stepping
def test_a_direction_of_zeros_and_a_single_walker(candidate, rng):
    """Equal energies and no previous direction; then one walker, whose direction is the previous one, decayed."""
    run, state = candidate.vmc.spring.step, candidate.vmc.state
    parameters, derivatives = rng.normal(size=4), rng.integers(-9, 9, (8, 4)) / 4.0
    defaults = candidate.vmc.settings.Settings()
    level = rng.integers(-9, 9) / 4.0  # means of equal quarters are exact
    moved, summary = run(state.first_state(parameters), derivatives, np.full(8, level), defaults)
    assert_equivalent([moved.parameters, moved.previous], [parameters, np.zeros(4)])
    assert (summary.energy, summary.error, summary.walkers) == (level, 0.0, 8)
    previous = 1e-3 * rng.normal(size=4)
    still = settings_of(candidate, (0.02, 1e-4, 1e-3, 0.99, 0.0, 5.0))  # no step is short enough for a constraint of 0
    moved, _ = run(state.State(parameters, previous, 1), derivatives[:1], np.array([level]), still)
    assert_equivalent([moved.parameters, moved.previous], [parameters, 0.99 * previous], rtol=1e-12)
    moved, summary = run(state.State(parameters, previous, 1), derivatives[:1], np.array([level]), defaults)
    assert_equivalent(moved.previous, 0.99 * previous, rtol=1e-12)
    assert_equivalent(moved.parameters, parameters + 0.02 / 1.0001 * 0.99 * previous, rtol=1e-12)
    assert (summary.energy, summary.error, summary.walkers) == (level, 0.0, 1)


@stepping
def test_step_from_other_types(candidate, rng):
    derivatives, energies = rng.integers(0, 100, (7, 3)), rng.integers(0, 100, 7)
    values = (0.3, 0.1, 0.05, 0.8, None, 1.0)
    state = candidate.vmc.state.State(rng.normal(size=3), rng.normal(size=3), 1)
    expected = next_state(state.parameters, state.previous, 1, derivatives * 1.0, energies * 1.0, values)
    for given in ((derivatives.tolist(), energies.tolist()), (derivatives.astype(np.uint8), energies.astype(np.uint8))):
        check_step(candidate.vmc.spring.step(state, *given, settings_of(candidate, values)), expected, 1, 7)
    single = rng.normal(size=(7, 3)).astype(np.float32), rng.normal(size=7).astype(np.float32)
    double = [each.astype(np.float64) for each in single]
    expected = next_state(state.parameters, state.previous, 1, *double, values)
    check_step(candidate.vmc.spring.step(state, *single, settings_of(candidate, values)), expected, 1, 7)


@stepping
def test_training_is_that_of_the_authors(candidate, reference, rng):
    """Twelve iterations, with a constraint that is active in the first ones."""
    masses, frequencies = rng.uniform(0.5, 2.0, 2), rng.uniform(0.5, 2.0, (2, 2))
    start = (masses[:, None] * frequencies).ravel() * rng.uniform(0.7, 1.4, 4)
    runs, seed = [], int(rng.integers(10**6))
    for side in (candidate, reference):
        trap = side.vmc.oscillator.Trap(masses, frequencies)
        settings = settings_of(side, (0.3, 0.05, 1e-3, 0.5, 0.01, 5.0))
        runs.append(side.vmc.train.train(trap, start, settings, 12, 40, seed))
    assert_equivalent(runs[0], runs[1], rtol=1e-6)
    assert np.all(np.diff(runs[1]["energies"]) != 0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
