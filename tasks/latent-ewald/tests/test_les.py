"""Hidden tests of the task latent-ewald."""

import itertools
import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

lattice = pytest.mark.interface("les.kspace.k_indices")
valued = pytest.mark.interface("les.ewald.energy")
pulling = pytest.mark.interface("les.ewald.forces")
strained = pytest.mark.interface("les.ewald.stress")
responding = pytest.mark.interface("les.response.born_charges")

EPSILON_0 = 5.526349406e-3
SHEARS = np.array([[1, 0, 0], [5, 1, 0], [-3, 4, 1]]), np.array([[1, -4, 3], [0, 1, 5], [0, 0, 1]])
"""Other lattice vectors of the same lattice, many times longer than the distance of its planes."""


def triclinic(rng, left=False):
    """A cell with angles between 60 and 120 degrees, rows of different lengths."""
    cell = np.diag(rng.uniform(4.0, 5.5, 3)) @ (np.eye(3) + rng.uniform(-0.2, 0.2, (3, 3)))
    return cell[[1, 0, 2]] if left else cell


def rotation(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def sphere(cell, cutoff):
    """All nonzero integers within the cutoff, in lexicographic order, out of a grid that is larger than it need be."""
    bounds = np.ceil(cutoff * np.linalg.norm(cell, axis=1) / (2.0 * np.pi)).astype(int) + 1
    axes = [np.arange(-bound, bound + 1) for bound in bounds]
    n = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    lengths = np.linalg.norm(2.0 * np.pi * n @ np.linalg.inv(cell).T, axis=1)
    return n[(lengths <= cutoff) & n.any(axis=1)]


def between(cell, low, high):
    """A cutoff in the middle of the widest gap between the lengths of k-vectors."""
    n = sphere(cell, high)
    lengths = np.unique(np.linalg.norm(2.0 * np.pi * n @ np.linalg.inv(cell).T, axis=1))
    lengths = lengths[lengths > low]
    widest = np.argmax(np.diff(lengths))
    return float(0.5 * (lengths[widest] + lengths[widest + 1]))


def own(charges, sigma):
    """Equation (4)."""
    return float((charges**2).sum() / (2.0 * EPSILON_0 * sigma * (2.0 * np.pi) ** 1.5))


def direct(n, positions, charges, cell, sigma):
    """Equation (2) over the integers n, with the self-interaction."""
    k = 2.0 * np.pi * n @ np.linalg.inv(cell).T
    squares = (k**2).sum(axis=1)
    sizes = (np.abs(charges.T @ np.exp(1j * positions @ k.T)) ** 2).sum(axis=0)
    return float((np.exp(-0.5 * sigma**2 * squares) / squares) @ sizes) / (2.0 * EPSILON_0 * abs(np.linalg.det(cell)))


def atoms(rng, cell, size=5, channels=2):
    """Positions in the cell and charges that sum to something."""
    return rng.uniform(0.0, 1.0, (size, 3)) @ cell, rng.normal(size=(size, channels)) + 0.2


def gradient(function, x, step=1e-4):
    """Central differences of fourth order of an array-valued function, by each element of x: its axes come last."""
    found = []
    for position in np.ndindex(x.shape):
        moved = []
        for factor in (-2, -1, 1, 2):
            there = x.copy()
            there[position] += factor * step
            moved.append(np.asarray(function(there)))
        found.append((moved[0] - 8.0 * moved[1] + 8.0 * moved[2] - moved[3]) / (12.0 * step))
    return np.moveaxis(np.array(found), 0, -1).reshape(*np.shape(found[0]), *x.shape)


def close(actual, expected, rtol):
    """Shape and values, relative to the largest of them."""
    assert isinstance(actual, np.ndarray)
    assert actual.dtype == np.float64
    assert_equivalent(actual, expected, rtol=rtol, atol=rtol * float(np.abs(expected).max()))


# k_indices


@lattice
def test_k_indices_are_half_of_the_sphere_in_order(candidate, rng):
    for left in (False, True):
        cell = triclinic(rng, left)
        for given in (cell, cell.astype(np.float32), np.rint(cell).astype(np.int64), cell.tolist()):
            exact = np.array(given, dtype=np.float64)
            cutoff = between(exact, 2.5, 4.0)
            n = sphere(exact, cutoff)
            positive = np.array([next(index for index in row if index) > 0 for row in n])
            found = assert_unmodified(candidate.les.kspace.k_indices, given, cutoff)
            assert_equivalent(found, n[positive].astype(np.int64), rtol=0.0, check_dtype=True)
            assert found.dtype == np.int64


@lattice
def test_k_indices_of_skewed_cells_are_complete(candidate, rng):
    """The lattice is the same, and so are the k-vectors; their indices reach far."""
    cell = triclinic(rng)
    cutoff = between(cell, 2.0, 3.0)
    half = {tuple(row) for row in sphere(cell, cutoff).tolist()}
    for shear in SHEARS:
        found = candidate.les.kspace.k_indices(shear @ cell, cutoff)
        back = np.rint(found @ np.linalg.inv(shear).T).astype(int)
        both = {tuple(row) for row in np.concatenate([back, -back]).tolist()}
        assert both == half
        assert len(found) * 2 == len(half)


@lattice
def test_k_indices_of_a_cell_in_single_precision_are_exact(candidate, rng):
    """The cutoff is a ten-billionth above and below the length of a k-vector."""
    cell = triclinic(rng).astype(np.float32)
    exact = cell.astype(np.float64)
    lengths = np.linalg.norm(2.0 * np.pi * sphere(exact, 3.5) @ np.linalg.inv(exact).T, axis=1)
    for length in rng.permutation(np.unique(lengths.round(9)))[:12]:
        nearest = lengths[np.argmin(np.abs(lengths - length))]
        for factor in (1.0 - 1e-10, 1.0 + 1e-10):
            cutoff = float(nearest * factor)
            assert len(candidate.les.kspace.k_indices(cell, cutoff)) * 2 == len(sphere(exact, cutoff))


@lattice
def test_k_indices_of_flat_and_of_small_cells(candidate, rng):
    short, long = rng.uniform(0.8, 1.2), rng.uniform(9.0, 11.0)
    for axis in range(3):
        lengths = np.full(3, short)
        lengths[axis] = long
        count = int(rng.integers(3, 6))
        expected = np.zeros((count, 3), dtype=np.int64)
        expected[:, axis] = np.arange(1, count + 1)
        found = candidate.les.kspace.k_indices(np.diag(lengths), (count + 0.5) * 2.0 * np.pi / long)
        np.testing.assert_array_equal(found, expected)
        none = candidate.les.kspace.k_indices(np.diag(lengths), 0.9 * 2.0 * np.pi / long)
        assert_equivalent(none, np.zeros((0, 3), dtype=np.int64), check_dtype=True)
        assert none.dtype == np.int64


def unchanged(system, positions, charges):
    """What a system holds is still what it was made of."""
    assert_equivalent([system.positions, system.charges], [positions, charges], rtol=0.0, atol=0.0)


# energy


@valued
def test_energy_is_the_direct_sum_over_all_k(candidate, rng):
    """Charged cells of either handedness, channels that do not interact, with and without the self-interaction."""
    settings, system = candidate.les.settings.Settings, candidate.les.system.System
    for left, keep in itertools.product((False, True), repeat=2):
        cell = triclinic(rng, left)
        positions, charges = atoms(rng, cell, channels=1 + keep)
        sigma, cutoff = rng.uniform(0.6, 1.2), between(cell, 2.5, 3.5)
        total = direct(sphere(cell, cutoff), positions, charges, cell, sigma)
        found = candidate.les.ewald.energy(system(positions, charges, cell), settings(sigma, cutoff, keep))
        assert type(found) is float
        expected = total if keep else total - own(charges, sigma)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * total)


@valued
def test_energy_of_point_charges_in_rock_salt(candidate, rng):
    """What the Gaussians lack is a sum of erfc over neighbours; the two together are Madelung's constant."""
    apart, charge, sigma = rng.uniform(2.2, 3.0), rng.uniform(0.5, 1.5), 0.8
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    charges = charge * (-1.0) ** corners.sum(axis=1)
    turn, shift = rotation(rng), rng.normal(size=3)
    positions, cell = apart * corners @ turn + shift, 2.0 * apart * turn
    cutoff = 6.5 / sigma
    found = candidate.les.ewald.energy(
        candidate.les.system.System(positions, charges, cell), candidate.les.settings.Settings(sigma, cutoff)
    )
    near = 0.0
    for step in itertools.product(range(-4, 5), repeat=3):
        distance = apart * math.sqrt(sum(index**2 for index in step))
        if distance > 0.0:
            near += (-1.0) ** sum(step) * math.erfc(distance / (math.sqrt(2.0) * sigma)) / distance
    unit = charge**2 / (4.0 * np.pi * EPSILON_0)
    assert_equivalent(found, -4.0 * unit * (1.747564594633 / apart + near), rtol=1e-6)


@valued
def test_energy_does_not_depend_on_the_description(candidate, rng):
    """Translation, rotation, images of the atoms, other lattice vectors, a doubled cell, single precision."""
    settings, system = candidate.les.settings.Settings, candidate.les.system.System
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell)
    parameters = settings(0.9, between(cell, 2.0, 3.0), False)

    def energy(*args):
        made = system(*args)
        found = candidate.les.ewald.energy(made, parameters)
        unchanged(made, *(each.astype(np.float64) for each in args[:2]))
        return found

    scale = own(charges, 0.9)
    expected = direct(sphere(cell, parameters.cutoff), positions, charges, cell, 0.9) - scale
    turn, images = rotation(rng), rng.integers(-1000, 1001, (5, 3)) @ cell
    for args in (
        (positions, charges, cell),
        (positions + rng.normal(size=3), charges, cell),
        (positions @ turn, charges, cell @ turn),
        (positions + images, charges, cell),
        (positions, charges, SHEARS[0] @ cell),
        (positions, charges, SHEARS[1][::-1] @ cell),
    ):
        assert_equivalent(energy(*args), expected, rtol=1e-6, atol=1e-6 * scale)
    double = np.concatenate([positions, positions + cell[1]]), np.tile(charges, (2, 1)), cell * [[1.0], [2.0], [1.0]]
    assert_equivalent(energy(*double), 2.0 * expected, rtol=1e-6, atol=1e-6 * scale)
    single = [each.astype(np.float32) for each in (positions, charges)]
    exact = [each.astype(np.float64) for each in single]
    assert_equivalent(energy(*single, cell), energy(*exact, cell), rtol=1e-9, atol=1e-9 * scale)


@valued
def test_energy_without_k_vectors_is_the_self_energy(candidate, rng):
    settings, system = candidate.les.settings.Settings, candidate.les.system.System
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell)
    for sigma in (0.7, 1.3):
        found = [
            candidate.les.ewald.energy(system(positions, charges, cell), settings(sigma, 0.3, keep))
            for keep in (True, False)
        ]
        assert_equivalent(found, [0.0, -own(charges, sigma)], rtol=1e-6, atol=1e-12)


@valued
def test_energy_of_isolated_atoms_is_the_sum_over_pairs(candidate, rng):
    """Two atoms coincide and interact with the limit of the kernel, two are closer than sigma; a single one is alone."""
    settings, system = candidate.les.settings.Settings, candidate.les.system.System
    positions, charges = rng.normal(size=(6, 3)) * 2.0, rng.normal(size=(6, 2)) + 0.3
    positions[4] = positions[1]
    positions[5] = positions[0] + rng.uniform(0.2, 0.4, 3) * rng.choice([-1.0, 1.0], 3)
    for keep in (False, True):
        sigma = rng.uniform(0.7, 1.4)
        total = own(charges, sigma) if keep else 0.0
        for i, j in itertools.combinations(range(6), 2):
            r = math.dist(positions[i], positions[j])
            kernel = math.erf(r / (math.sqrt(2.0) * sigma)) / r if r else math.sqrt(2.0 / np.pi) / sigma
            total += float(charges[i] @ charges[j]) * kernel / (4.0 * np.pi * EPSILON_0)
        made = system(positions, charges)
        found = candidate.les.ewald.energy(made, settings(sigma, 1.0, keep))
        assert type(found) is float
        unchanged(made, positions, charges)
        np.testing.assert_allclose(found, total, rtol=1e-6, atol=1e-7 * own(charges, sigma))
        alone = candidate.les.ewald.energy(system(positions[:1], charges[:1]), settings(sigma, 1.0, keep))
        expected = own(charges[:1], sigma)
        np.testing.assert_allclose(alone, expected if keep else 0.0, rtol=1e-6, atol=1e-9 * expected)
    pair = rng.uniform(0.5, 1.5, 2)
    for far in (12.0, 1e2, 1e4, 1e6):
        found = candidate.les.ewald.energy(system([[0.0, 0.0, 0.0], [0.6 * far, 0.0, 0.8 * far]], pair), settings())
        np.testing.assert_allclose(found, pair.prod() / far / (4.0 * np.pi * EPSILON_0), rtol=1e-6)


# forces


@pulling
def test_forces_in_a_cell_are_differences_of_the_energy(candidate, rng):
    for left in (False, True):
        cell = triclinic(rng, left)
        positions, charges = atoms(rng, cell, size=4)
        sigma, cutoff = rng.uniform(0.7, 1.1), between(cell, 2.0, 3.0)
        n = sphere(cell, cutoff)
        expected = -gradient(lambda x: direct(n, x, charges, cell, sigma), positions, 1e-3)  # noqa: B023
        images = positions + rng.integers(1, 10, (4, 3)) @ cell
        system = candidate.les.system.System(images, charges, cell)
        for keep in (False, True):
            found = candidate.les.ewald.forces(system, candidate.les.settings.Settings(sigma, cutoff, keep))
            close(found, expected, 1e-6)
        unchanged(system, images, charges)


@pulling
@pytest.mark.parametrize("periodic", [True, False], ids=["cell", "isolated"])
@pytest.mark.parametrize("keep", [True, False], ids=["with_self", "without_self"])
def test_forces_of_charges_that_follow_the_atoms(candidate, rng, periodic, keep):
    """Charges that are linear in the positions: the total derivative of the energy, by differences."""
    cell = triclinic(rng) if periodic else None
    size, channels = 3, 2
    positions, start = atoms(rng, triclinic(rng), size, channels)
    jacobian = rng.normal(size=(size, channels, size, 3))
    sigma = rng.uniform(0.7, 1.1)
    cutoff = between(cell, 2.0, 3.0) if periodic else 1.0
    n = sphere(cell, cutoff) if periodic else None

    def energy(x):
        charges = start + np.einsum("jcib,ib->jc", jacobian, x - positions)
        if periodic:
            return direct(n, x, charges, cell, sigma) - (0.0 if keep else own(charges, sigma))
        total = own(charges, sigma) if keep else 0.0
        for i, j in itertools.combinations(range(size), 2):
            r = math.dist(x[i], x[j])
            total += (
                float(charges[i] @ charges[j]) * math.erf(r / (math.sqrt(2.0) * sigma)) / r / (4 * np.pi * EPSILON_0)
            )
        return total

    system = candidate.les.system.System(positions, start, cell)
    found = candidate.les.ewald.forces(system, candidate.les.settings.Settings(sigma, cutoff, keep), jacobian)
    close(found, -gradient(energy, positions, 1e-3), 1e-6)


@pulling
@pytest.mark.parametrize("unit", [1.0, 1e-3])
def test_forces_at_any_distance_keep_their_digits(candidate, rng, unit):
    """Also those of atoms that coincide. No distance is small or large but beside sigma."""
    settings, system = candidate.les.settings.Settings, candidate.les.system.System
    charges = rng.uniform(0.5, 1.5, 2)
    sigma = unit * rng.uniform(0.6, 1.6)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    exponents = [*(np.arange(-80, 10) + rng.uniform(size=90)) / 10.0, 1, 2, 4, 8]  # no formula may have a gap
    for exponent in exponents:
        x = 10.0 ** float(exponent)  # in units of sqrt(2) sigma
        if x < 1.0:
            # erf(x) - 2 x exp(-x^2) / sqrt(pi) = 4 / sqrt(pi) exp(-x^2) x^3 sum of (2 x^2)^m / (1 3 5 .. (2 m + 3))
            term, total = 1.0 / 3.0, 0.0
            for m in range(40):
                total += term
                term *= 2.0 * x**2 / (2 * m + 5)
            bracket = 4.0 / math.sqrt(math.pi) * math.exp(-(x**2)) * x**3 * total
        else:
            bracket = math.erf(x) - 2.0 * x * math.exp(-(x**2)) / math.sqrt(math.pi)
        r = math.sqrt(2.0) * sigma * x
        size = charges.prod() * bracket / r**2 / (4.0 * np.pi * EPSILON_0)
        pair = system(np.array([np.zeros(3), r * direction]), charges)
        found = candidate.les.ewald.forces(pair, settings(sigma))
        assert_equivalent(found, size * np.array([-direction, direction]), rtol=1e-6, atol=1e-6 * size)
    for exponent in (-20, -60, -105, -120, -160, -200, -300):  # squares or cubes of these distances underflow
        pair = system(np.array([np.zeros(3), 10.0**exponent * direction]), charges)
        assert np.isfinite(candidate.les.ewald.forces(pair, settings(sigma))).all()
        assert np.isfinite(candidate.les.ewald.forces(pair, settings(sigma), np.ones((2, 1, 2, 3)))).all()
    third = sigma * (rng.normal(size=3) + 2.0)
    points = system(np.array([np.zeros(3), np.zeros(3), third]), np.append(charges, 1.0))
    one = system(np.array([np.zeros(3), third]), np.array([charges.sum(), 1.0]))
    found, expected = (candidate.les.ewald.forces(each, settings(sigma)) for each in (points, one))
    share = charges[:, None] / charges.sum()
    close(found, np.concatenate([share * expected[:1], expected[1:]]), 1e-6)


@pulling
def test_forces_with_any_jacobian_are_the_authors(candidate, reference, rng):
    cell, skewed = triclinic(rng), SHEARS[0] @ triclinic(rng, left=True)
    jacobian = rng.normal(size=(4, 3, 4, 3))
    for box in (cell, skewed, None):
        positions, charges = atoms(rng, cell, 4, 3)
        systems = [side.les.system.System(positions, charges, box) for side in (candidate, reference)]
        for given in (None, jacobian, jacobian.astype(np.float32), np.rint(9.0 * jacobian).astype(np.int64)):
            found, expected = (
                side.les.ewald.forces(each, side.les.settings.Settings(), given)
                for side, each in zip((candidate, reference), systems, strict=True)
            )
            close(found, expected, 1e-6)
        unchanged(systems[0], positions, charges)
    system = candidate.les.system.System(positions, charges, cell)
    for bad in (jacobian[:, :1], jacobian[:, 0], jacobian.transpose(1, 0, 2, 3), jacobian[..., :1], jacobian[:1]):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.les.ewald.forces(system, candidate.les.settings.Settings(), bad)


@pulling
def test_forces_without_k_vectors_come_from_the_self_energy(candidate, rng):
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell, 3, 2)
    jacobian = rng.normal(size=(3, 2, 3, 3))
    system, sigma = candidate.les.system.System(positions, charges, cell), rng.uniform(0.7, 1.3)
    expected = gradient(lambda x: own(charges + np.einsum("jcib,ib->jc", jacobian, x), sigma), np.zeros((3, 3)), 1e-3)
    for keep in (False, True):
        settings = candidate.les.settings.Settings(sigma, 0.3, keep)
        found = assert_unmodified(candidate.les.ewald.forces, system, settings, jacobian)
        assert_equivalent(found, 0.0 * expected if keep else expected, rtol=1e-6, atol=1e-8)
        assert_equivalent(candidate.les.ewald.forces(system, settings), np.zeros((3, 3)), atol=1e-12)


# stress


@strained
def test_stress_is_a_difference_of_the_energy_under_strain(candidate, rng):
    """The integers stay those of the unstrained cell, although the cutoff is right above one of its k-vectors."""
    for left in (False, True):
        cell = triclinic(rng, left)
        positions, charges = atoms(rng, cell)
        sigma = rng.uniform(0.7, 1.1)
        lengths = np.linalg.norm(2.0 * np.pi * sphere(cell, 2.5) @ np.linalg.inv(cell).T, axis=1)
        cutoff = float(lengths.max()) * (1.0 + 1e-7)
        n = sphere(cell, cutoff)

        def energy(strain):
            move = np.eye(3) + strain.T
            return direct(n, positions @ move, charges, cell @ move, sigma)  # noqa: B023

        expected = gradient(energy, np.zeros((3, 3)), 1e-3) / abs(np.linalg.det(cell))
        system = candidate.les.system.System(positions, charges, cell)
        for keep in (False, True):
            close(
                candidate.les.ewald.stress(system, candidate.les.settings.Settings(sigma, cutoff, keep)), expected, 1e-6
            )


@strained
def test_stress_turns_with_the_cell_and_is_that_of_the_lattice(candidate, reference, rng):
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell, 6, 3)
    turn, cutoff = rotation(rng), between(cell, 2.0, 3.0)

    def stress(side, where, box):
        system = side.les.system.System(where, charges, box)
        found = side.les.ewald.stress(system, side.les.settings.Settings(0.8, cutoff))
        unchanged(system, where, charges)
        return found

    expected = stress(reference, positions, cell)
    close(stress(candidate, positions, cell), expected, 1e-6)
    close(stress(candidate, positions @ turn, cell @ turn), turn.T @ expected @ turn, 1e-6)
    images = rng.integers(-1000, 1001, (6, 3)) @ cell
    close(stress(candidate, positions + images, SHEARS[0][::-1] @ cell), expected, 1e-6)


@strained
def test_stress_needs_a_cell_and_vanishes_without_k_vectors(candidate, rng):
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell)
    system, settings = candidate.les.system.System, candidate.les.settings.Settings
    found = candidate.les.ewald.stress(system(positions, charges, cell), settings(1.0, 0.3))
    assert_equivalent(found, np.zeros((3, 3)), atol=1e-12, check_dtype=True)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.les.ewald.stress(system(positions, charges), settings())


# born_charges


@responding
def test_born_charges_of_constant_charges_are_those(candidate, rng):
    """Of all channels together, times the root of the permittivity, less their mean if they are to be neutral."""
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell, 5, 3)
    total, epsilon = charges.sum(axis=1), rng.uniform(1.5, 4.0)
    for box in (cell, None):
        system = candidate.les.system.System(positions, charges, box)
        for neutral in (True, False):
            expected = (total - neutral * total.mean())[:, None, None] * np.eye(3)
            close(candidate.les.response.born_charges(system, None, 1.0, neutral), expected, 1e-9)
            found = candidate.les.response.born_charges(system, epsilon_inf=epsilon, neutral=neutral)
            close(found, math.sqrt(epsilon) * expected, 1e-9)
        assert_equivalent(
            candidate.les.response.born_charges(system),
            (total - total.mean())[:, None, None] * np.eye(3),
            rtol=1e-9,
            atol=1e-9,
        )
        for bad in (0.0, -1.0, np.nan, np.inf):
            with pytest.raises(ValueError):  # noqa: PT011
                candidate.les.response.born_charges(system, None, bad)


def moving(rng, size, channels):
    """Charges that are linear in the displacements, of all channels together, and their jacobian."""
    start, jacobian = rng.normal(size=(size, channels)) + 0.5, rng.normal(size=(size, channels, size, 3))

    def charges(displacement, neutral):
        found = (start + np.einsum("jcib,ib->jc", jacobian, displacement)).sum(axis=1)
        return found - neutral * found.mean()

    return start, jacobian, charges


@responding
@pytest.mark.parametrize("neutral", [True, False], ids=["neutral", "as_given"])
def test_born_charges_in_a_cell_are_differences_without_the_phase(candidate, rng, neutral):
    for left in (False, True):
        cell = triclinic(rng, left)
        positions, _ = atoms(rng, cell, 4)
        start, jacobian, charges = moving(rng, 4, 2)

        def amplitudes(displacement):
            fractional = (positions + displacement) @ np.linalg.inv(cell)  # noqa: B023
            q = charges(displacement, neutral)  # noqa: B023
            return q @ np.exp(2j * np.pi * fractional) / (2j * np.pi)

        slope = gradient(amplitudes, np.zeros((4, 3)), 1e-3)  # (3, 4, 3)
        phases = np.exp(-2j * np.pi * positions @ np.linalg.inv(cell))
        expected = np.einsum("da,idb->iab", cell, (phases[:, :, None] * slope.transpose(1, 0, 2)).real)
        images = rng.integers(-1000, 1001, (4, 3)) @ cell
        for where in (positions, positions + images):
            system = candidate.les.system.System(where, start, cell)
            close(candidate.les.response.born_charges(system, jacobian, neutral=neutral), expected, 1e-6)
            unchanged(system, where, start)


@responding
@pytest.mark.parametrize("neutral", [True, False], ids=["neutral", "as_given"])
def test_born_charges_of_isolated_atoms_are_differences_of_the_dipole(candidate, rng, neutral):
    positions = 2.0 * rng.normal(size=(4, 3)) + 5.0
    start, jacobian, charges = moving(rng, 4, 2)
    expected = gradient(lambda x: charges(x, neutral) @ (positions + x), np.zeros((4, 3)), 1e-3).transpose(1, 0, 2)
    found = candidate.les.response.born_charges(
        candidate.les.system.System(positions, start), jacobian, neutral=neutral
    )
    close(found, expected, 1e-6)


@responding
def test_born_charges_in_a_huge_cell_are_those_of_isolated_atoms(candidate, rng):
    """The sine of a small angle; in free space, moving all atoms together moves a neutral system's dipole nowhere."""
    positions = 2.0 * rng.normal(size=(5, 3))
    start, jacobian, _ = moving(rng, 5, 2)
    jacobian -= jacobian.mean(axis=2, keepdims=True)  # the charges do not change if all atoms move together
    system = candidate.les.system.System
    free = candidate.les.response.born_charges(system(positions, start), jacobian, 2.5)
    np.testing.assert_allclose(free.sum(axis=0), np.zeros((3, 3)), atol=1e-9)
    found = candidate.les.response.born_charges(system(positions, start, 1e5 * triclinic(rng)), jacobian, 2.5)
    close(found, free, 1e-6)
    assert np.abs(free).max() > 0.1


@responding
def test_born_charges_with_any_jacobian_are_the_authors(candidate, reference, rng):
    cell = triclinic(rng)
    positions, charges = atoms(rng, cell, 4, 3)
    jacobian = rng.normal(size=(4, 3, 4, 3))
    cancelling = jacobian + np.array([3e3, 0.0, -3e3])[:, None, None]  # in this order, single precision loses digits
    for box in (cell, None):
        for given in (cancelling.astype(np.float32), np.rint(9.0 * jacobian).astype(np.int64)):
            found, expected = (
                assert_unmodified(
                    side.les.response.born_charges, side.les.system.System(positions, charges, box), given
                )
                for side in (candidate, reference)
            )
            close(found, expected, 1e-6)
        system = candidate.les.system.System(positions, charges, box)
        for bad in (jacobian[:, :1], jacobian[:, 0], jacobian.transpose(1, 0, 2, 3), jacobian[..., :1], jacobian[:1]):
            with pytest.raises(ValueError):  # noqa: PT011
                candidate.les.response.born_charges(system, bad)


@responding
def test_the_driver_uses_all_of_it(candidate, reference, rng):
    cell = triclinic(rng)
    positions, base = atoms(rng, cell)
    weight = rng.normal(size=2)
    for box in (cell, None):
        results = []
        for side in (candidate, reference):
            result = side.les.model.evaluate(
                side.les.latent.DensityCharges(base, weight), positions, box, epsilon_inf=1.8
            )
            results.append([np.array(result.energy), result.forces, result.born_charges])
        for found, expected in zip(*results, strict=True):
            close(found, expected, 1e-6)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
