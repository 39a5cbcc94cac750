"""Hidden tests of the task whfast."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

functions = pytest.mark.interface("orrery.kepler.stumpff.stumpff")
drifting = pytest.mark.interface("orrery.kepler.drift.increments")
varying = pytest.mark.interface("orrery.kepler.tangent.tangent")
parameterised = pytest.mark.interface("orrery.coords.jacobi.parameters")
there = pytest.mark.interface("orrery.coords.jacobi.to_jacobi")
back = pytest.mark.interface("orrery.coords.jacobi.from_jacobi")
kicking = pytest.mark.interface("orrery.forces.interaction.kick")
correcting = pytest.mark.interface("orrery.whfast.correctors.stages")
summing = pytest.mark.interface("orrery.whfast.summation.accumulate")
running = pytest.mark.interface("orrery.whfast.scheme.Simulation")
describing = pytest.mark.interface("orrery.orbits.elements.elements")

# Kepler orbits and attractions with 45 digits.

getcontext().prec = 45
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")
ENOUGH = Decimal(10) ** -42


def decimals(y):
    return [Decimal(float(each)) for each in y]


def dot(a, b):
    return sum((s * t for s, t in zip(a, b, strict=True)), Decimal(0))


def size(a):
    return dot(a, a).sqrt()


def power_series(z, highest=5, lowest=0):
    """c_0, ..., c_highest; those below the lowest are not summed."""
    found = [None] * lowest
    for order in range(lowest, highest + 1):
        term = Decimal(1) / math.factorial(order)
        total, count = term, 0
        while count < 3 or abs(term) > ENOUGH * abs(total):
            count += 1
            term = -term * z / ((2 * count + order - 1) * (2 * count + order))
            total += term
        found.append(total)
    return found


def roughly(r, eta, mu, beta, anomaly):
    """The time of a universal anomaly, to a few digits."""
    r, eta, mu, beta, anomaly = (float(each) for each in (r, eta, mu, beta, anomaly))
    z = beta * anomaly**2
    if abs(z) < 1.0:
        c2, c3 = (sum((-z) ** j / math.factorial(2 * j + order) for j in range(10)) for order in (2, 3))
    else:
        root = math.sqrt(abs(z))
        c0, c1 = (
            (math.cos(root), math.sin(root)) if z > 0.0 else (math.cosh(min(root, 300.0)), math.sinh(min(root, 300.0)))
        )
        c2, c3 = (1.0 - c0) / z, (1.0 - c1 / root) / z
    return r * anomaly * (1.0 - z * c3) + eta * anomaly**2 * c2 + mu * anomaly**3 * c3


def arc(mu, x, v, dt):
    """Changes of position and velocity."""
    r, eta = size(x), dot(x, v)
    beta = 2 * mu / r - dot(v, v)
    if beta > 0:
        turn = 2 * PI * mu / (beta * beta.sqrt())
        dt -= turn * (dt / turn).to_integral_value()
        far = 2 * PI / beta.sqrt()
    else:
        far = min(abs(dt) / r, 1 / max(-beta, Decimal("1e-300")).sqrt())
    sign = Decimal(1).copy_sign(dt)

    def time(anomaly):
        z = beta * anomaly**2
        _, _, c2, c3 = power_series(z, 3, lowest=2)
        c0, c1 = 1 - z * c2, 1 - z * c3
        late = r * anomaly * c1 + eta * anomaly**2 * c2 + mu * anomaly**3 * c3
        return late, r * c0 + eta * anomaly * c1 + mu * anomaly**2 * c2, (c0, c1, c2, c3)

    while float(sign) * (roughly(r, eta, mu, beta, sign * far) - float(dt)) < 0.0:
        far *= 2
    low, high = sorted((Decimal(0), sign * far * Decimal("1.000001")))
    near = [float(low), float(high)]
    for _ in range(70):
        middle = 0.5 * (near[0] + near[1])
        near[roughly(r, eta, mu, beta, middle) >= float(dt)] = middle
    anomaly = min(max(Decimal(near[0]), low), high)
    for _ in range(300):
        late, slope, _c = time(anomaly)
        low, high = (anomaly, high) if late < dt else (low, anomaly)
        new = anomaly + (dt - late) / slope
        if not low <= new <= high:
            new = (low + high) / 2
        if abs(new - anomaly) <= Decimal(10) ** -24 * abs(new):
            anomaly = new  # the next step would be smaller than its square
            break
        anomaly = new
    _, there, c = time(anomaly)
    first, second = mu * anomaly * c[1], mu * anomaly**2 * c[2]
    g = dt - mu * anomaly**3 * c[3]
    return (
        [g * b - second / r * a for a, b in zip(x, v, strict=True)],
        [-first / (r * there) * a - second / there * b for a, b in zip(x, v, strict=True)],
    )


def rounding(rng, mu, x, v, dt):
    """Arguments of `arc`, each changed by its last digit."""
    change = [1 + int(sign) * Decimal(2) ** -52 for sign in rng.choice([-1, 1], 8)]
    return (
        mu * change[0],
        [s * t for s, t in zip(x, change[1:4], strict=True)],
        [s * t for s, t in zip(v, change[4:7], strict=True)],
        dt * change[7],
    )


def difference(a, b):
    return [s - t for s, t in zip(a, b, strict=True)]


def jacobi(gm, y):
    """From the definition: the last row is the centre of mass."""
    rows = []
    for body in range(1, len(gm) + 1):
        mass = sum(gm[:body])
        centre = [sum(gm[j] * y[j][axis] for j in range(body)) / mass for axis in range(3)]
        rows.append(difference(y[body], centre) if body < len(gm) else centre)
    return rows


def inertial(gm, rows):
    """The inverse."""
    centre, found = rows[-1], []
    for body in range(len(gm) - 1, 0, -1):
        mass = sum(gm[: body + 1])
        centre = [c - gm[body] / mass * s for c, s in zip(centre, rows[body - 1], strict=True)]
        found.append([c + s for c, s in zip(centre, rows[body - 1], strict=True)])
    return [centre, *found[::-1]]


def interaction(gm, rows):
    """Newton's accelerations in Jacobi coordinates, without those of the Kepler orbits."""
    x = inertial(gm, rows)
    pulls = []
    for i in range(len(gm)):
        total = [Decimal(0)] * 3
        for j in range(len(gm)):
            if j != i:
                d = difference(x[i], x[j])
                total = [t - gm[j] * s / size(d) ** 3 for t, s in zip(total, d, strict=True)]
        pulls.append(total)
    found = jacobi(gm, pulls)
    for i in range(1, len(gm)):
        row = rows[i - 1]
        found[i - 1] = [a + sum(gm[: i + 1]) * s / size(row) ** 3 for a, s in zip(found[i - 1], row, strict=True)]
    return [*found[:-1], [Decimal(0)] * 3]


GM = 0.01720209895**2
TURN = 2.0 * math.pi


def orthogonal(rng):
    return np.linalg.qr(rng.normal(size=(3, 3)))[0]


def conic(mu, q, e, where):
    """A state in its plane, at the universal anomaly `where` (in units of sqrt(q / mu)) from the pericentre."""
    anomaly, beta = where * math.sqrt(q / mu), mu * (1.0 - e) / q
    z = Decimal(beta * anomaly**2)
    c0, c1, c2, c3 = (float(c) for c in power_series(z, 3))
    r = q + mu * e * anomaly**2 * c2
    side = math.sqrt(q * mu * (1.0 + e))
    x = np.array([q - mu * anomaly**2 * c2, side * anomaly * c1, 0.0])
    v = np.array([-mu * anomaly * c1 / r, side * c0 / r, 0.0])
    return x, v, q * anomaly + mu * e * anomaly**3 * c3


def somewhere(rng, e):
    """A universal anomaly: anywhere on an ellipse, up to some distance on other orbits."""
    reach = 0.9 * math.pi / math.sqrt(1.0 - e) if e < 1.0 else 4.0 / math.sqrt(max(e - 1.0, 1.0))
    return rng.uniform(0.1, 1.0) * min(reach, 8.0) * rng.choice([-1.0, 1.0])


def turned(rng, mu, q, e, where):
    x, v, _ = conic(mu, q, e, where)
    turn = orthogonal(rng)
    return turn @ x, turn @ v


def orbits(rng, eccentricities):
    """Parameters, places and motions."""
    mu = GM * rng.uniform(0.5, 2.0, len(eccentricities))
    states = [
        turned(rng, m, 10.0 ** rng.uniform(-1.0, 1.0), e, somewhere(rng, e))
        for m, e in zip(mu, eccentricities, strict=True)
    ]
    return mu, np.array([x for x, _ in states]), np.array([v for _, v in states])


def check_drift(candidate, rng, mu, x, v, factor):
    """One call for each row, as times of rows differ."""
    for m, place, motion in zip(mu, x, v, strict=True):
        dt = float(factor * math.sqrt(np.linalg.norm(place) ** 3 / m))
        dx, dv = candidate.orrery.kepler.drift.increments(np.array([m]), place[None], motion[None], dt)
        arguments = Decimal(float(m)), decimals(place), decimals(motion), Decimal(dt)
        exact = arc(*arguments)
        shaken = [arc(*rounding(rng, *arguments)) for _ in range(2)]
        for which, found in enumerate((dx, dv)):
            assert isinstance(found, np.ndarray)
            assert found.shape == (1, 3)
            assert found.dtype == np.float64
            assert np.all(np.isfinite(found))
            effect = max(size(difference(each[which], exact[which])) for each in shaken)
            # two samples may be small by chance
            allowed = Decimal("1e-12") * size(exact[which]) + 400 * effect
            assert size(difference(decimals(found[0]), exact[which])) <= allowed


# stumpff


@functions
def test_stumpff_functions_of_any_argument(candidate, rng):
    values = [
        *(-(10.0 ** rng.uniform(-12.0, 5.3, 12))),
        *(10.0 ** rng.uniform(-12.0, 1.0, 12)),
        *rng.uniform(0.2, 2.0, 4),
        *rng.uniform(-2.0, -0.2, 4),
        *rng.uniform(2.0, 10.0, 8),
        *rng.uniform(-12.0, -2.0, 8),
    ]
    for z in values:
        found = candidate.orrery.kepler.stumpff.stumpff(float(z))
        assert isinstance(found, tuple)
        assert len(found) == 6
        if z < -900.0:
            root = Decimal(-float(z)).sqrt()
            grown, shrunk = root.exp() / 2, (-root).exp() / 2
            exact = [grown + shrunk, (grown - shrunk) / root]
            for order in range(4):
                exact.append((exact[order] - Decimal(1) / math.factorial(order)) / -Decimal(float(z)))
        else:
            exact = power_series(Decimal(float(z)))
        for order, (one, other) in enumerate(zip(found, exact, strict=True)):
            assert type(one) is float
            scale = 1 if z > 1.0 and order < 2 else abs(other)
            assert abs(Decimal(one) - other) <= Decimal("1e-12") * scale


@functions
def test_stumpff_functions_of_large_arguments(candidate, rng):
    for z in rng.uniform(10.0, 60.0, 5).tolist() + rng.uniform(60.0, 10000.0, 5).tolist():
        root = math.sqrt(z)
        exact = [np.cos(root), np.sin(root) / root]
        for order in range(4):
            exact.append((1.0 / math.factorial(order) - exact[order]) / z)
        found = candidate.orrery.kepler.stumpff.stumpff(z)
        for order, (one, other) in enumerate(zip(found, exact, strict=True)):
            assert abs(one - other) <= 1.5e-12 * (1.0, z**-0.5, 1 / z, 1 / z, 1 / z, 1 / z)[order]


@functions
def test_stumpff_at_zero_and_as_the_authors(candidate, reference, rng):
    assert candidate.orrery.kepler.stumpff.stumpff(0) == tuple(1.0 / math.factorial(order) for order in range(6))
    for z in (*rng.uniform(-30.0, 9.0, 4).tolist(), int(rng.integers(2, 9)), -int(rng.integers(2, 900))):
        found = candidate.orrery.kepler.stumpff.stumpff(z)
        assert_equivalent(found, reference.orrery.kepler.stumpff.stumpff(z), rtol=1e-11, atol=1e-12)


# increments


@drifting
@pytest.mark.parametrize("factor", [3e-9, 0.02, 1.3])
def test_increments_of_short_times(candidate, rng, factor):
    mu, x, v = orbits(rng, [0.0, 0.3, 0.95, 1.0, 1.4, 6.0])
    check_drift(candidate, rng, mu, x, v, factor * rng.choice([-1, 1]) * rng.uniform(0.5, 1.5))


@drifting
def test_increments_of_many_periods(candidate, rng):
    for low, high in ((3.0, 60.0), (200.0, 9000.0)):
        mu, x, v = orbits(rng, [0.0, 0.4, 0.9])
        check_drift(candidate, rng, mu, x, v, rng.uniform(low, high) * rng.choice([-1, 1]))


@drifting
def test_increments_on_orbits_that_are_almost_parabolas(candidate, rng):
    close = 10.0 ** rng.uniform(-9.0, -3.0, 4)
    mu, x, v = orbits(rng, [1.0 - close[0], 1.0 - close[1], 1.0 + close[2], 1.0 + close[3], 1.0])
    check_drift(candidate, rng, mu, x, v, rng.uniform(2.0, 30.0) * rng.choice([-1, 1]))


@drifting
def test_increments_through_the_pericentre_of_eccentric_orbits(candidate, rng):
    for e in (0.99, 0.9999, 1.0, 1.2, 5.0):
        mu, q = GM * rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-1.0, 1.0)
        start = abs(somewhere(rng, e)) * 1.05
        sign = rng.choice([-1.0, 1.0])
        x, v, since = conic(mu, q, e, -sign * start)
        turn = orthogonal(rng)
        x, v = turn @ x, turn @ v
        t = math.sqrt(np.linalg.norm(x) ** 3 / mu)
        check_drift(candidate, rng, np.array([mu]), x[None], v[None], -since / t * rng.uniform(0.9, 1.1))
        check_drift(candidate, rng, np.array([mu]), x[None], v[None], -since / t * rng.uniform(1.8, 2.2))


@drifting
def test_increments_far_away_on_open_orbits(candidate, rng):
    mu, x, v = orbits(rng, [1.0, 1.02, 3.0, 9.5])
    for sign in (-1, 1):
        check_drift(candidate, rng, mu, x, v, sign * rng.uniform(100.0, 900.0))


@drifting
def test_increments_of_rows_without_a_centre_and_without_time(candidate, reference, rng):
    mu, x, v = orbits(rng, [0.2, 0.5, 1.5])
    mu[1] = 0.0
    x[1] = 0.0
    dt = float(rng.uniform(-40.0, 40.0))
    dx, dv = assert_unmodified(candidate.orrery.kepler.drift.increments, mu, x, v, dt)
    assert_equivalent(dx[1], dt * v[1], rtol=1e-15)
    assert_equivalent(dv[1], np.zeros(3), rtol=0.0)
    exact = reference.orrery.kepler.drift.increments(mu, x, v, dt)
    for row in (0, 2):
        assert_equivalent(dx[row], exact[0][row], rtol=1e-9, atol=1e-11 * float(np.abs(exact[0]).max()))
        assert_equivalent(dv[row], exact[1][row], rtol=1e-9, atol=1e-11 * float(np.abs(exact[1]).max()))
    again = candidate.orrery.kepler.drift.increments(mu.tolist(), x.tolist(), v.tolist(), dt)
    for one, other in zip(again, (dx, dv), strict=True):
        assert_equivalent(one, other, rtol=1e-14)
    still = candidate.orrery.kepler.drift.increments(mu, x, v, 0.0)
    for one in still:
        assert_equivalent(one, np.zeros((3, 3)), rtol=0.0)
    single = [each.astype(np.float32) for each in orbits(rng, [0.2, 0.5])]
    exact = reference.orrery.kepler.drift.increments(*(each.astype(np.float64) for each in single), 5.0)
    for one, other in zip(candidate.orrery.kepler.drift.increments(*single, 5.0), exact, strict=True):
        assert one.dtype == np.float64
        assert_equivalent(one, other, rtol=1e-9, atol=1e-11 * float(np.abs(other).max()))
    # whole numbers are numbers, too
    whole = candidate.orrery.kepler.drift.increments([1], [[1, 0, 0]], [[0, 1, 0]], 1.0)
    assert_equivalent(whole[0], np.array([[math.cos(1.0) - 1.0, math.sin(1.0), 0.0]]), rtol=1e-12, atol=1e-15)


@drifting
def test_increments_from_the_centre_raise(candidate, rng):
    mu, x, v = orbits(rng, [0.2, 0.5])
    x[1] = 0.0
    still = candidate.orrery.kepler.drift.increments(mu, x, v, 0.0)
    assert_equivalent(still[0], np.zeros((2, 3)), rtol=0.0)
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.orrery.kepler.drift.increments(mu, x, v, 1.0)


# tangent


def check_tangent(candidate, rng, mu, x, v, factor):
    step = Decimal(10) ** -17
    for m, place, motion in zip(mu, x, v, strict=True):
        r = float(np.linalg.norm(place))
        t = math.sqrt(r**3 / m)
        dt, dx, dv = float(factor * t), rng.normal(size=3) * r, rng.normal(size=3) * r / t
        found = candidate.orrery.kepler.tangent.tangent(
            np.array([m]), place[None], motion[None], dt, dx[None], dv[None]
        )
        ends = []
        for sign in (1, -1):
            moved = [
                [s + sign * step * d for s, d in zip(decimals(start), decimals(way), strict=True)]
                for start, way in ((place, dx), (motion, dv))
            ]
            changes = arc(Decimal(float(m)), *moved, Decimal(dt))
            ends.append([[s + d for s, d in zip(*pair, strict=True)] for pair in zip(moved, changes, strict=True)])
        for which in (0, 1):
            exact = [(a - b) / (2 * step) for a, b in zip(ends[0][which], ends[1][which], strict=True)]
            assert isinstance(found[which], np.ndarray)
            assert found[which].shape == (1, 3)
            assert found[which].dtype == np.float64
            assert size(difference(decimals(found[which][0]), exact)) <= Decimal("1e-8") * size(exact)


@varying
@pytest.mark.parametrize("factor", [1e-8, 0.1, 2.0])
def test_tangent_of_short_times(candidate, rng, factor):
    mu, x, v = orbits(rng, [0.0, 0.3, 0.95, 1.0, 1.4, 6.0])
    check_tangent(candidate, rng, mu, x, v, factor * rng.choice([-1, 1]) * rng.uniform(0.5, 1.5))


@varying
def test_tangent_of_many_periods(candidate, rng):
    for low, high in ((8.0, 60.0), (200.0, 5000.0)):
        mu, x, v = orbits(rng, [0.01, 0.4, 0.8])
        check_tangent(candidate, rng, mu, x, v, rng.uniform(low, high) * rng.choice([-1, 1]))


@varying
def test_tangent_on_orbits_that_are_almost_parabolas(candidate, rng):
    close = 10.0 ** rng.uniform(-9.0, -3.0, 2)
    mu, x, v = orbits(rng, [1.0 - close[0], 1.0 + close[1], 1.0])
    check_tangent(candidate, rng, mu, x, v, rng.uniform(2.0, 30.0) * rng.choice([-1, 1]))


@varying
def test_tangent_of_many_rows_as_the_authors(candidate, reference, rng):
    mu, x, v = orbits(rng, [0.2, 0.5, 1.5, 0.7])
    mu[1] = 0.0
    dt = float(rng.uniform(2.0, 200.0)) * rng.choice([-1.0, 1.0])
    dx, dv = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)) * 0.02
    found = assert_unmodified(candidate.orrery.kepler.tangent.tangent, mu, x, v, dt, dx, dv)
    exact = reference.orrery.kepler.tangent.tangent(mu, x, v, dt, dx, dv)
    assert_equivalent(found[0][1], dx[1] + dt * dv[1], rtol=1e-12, atol=1e-14)
    assert_equivalent(found[1][1], dv[1], rtol=1e-15)
    for row in range(4):
        for one, other in zip(found, exact, strict=True):
            assert_equivalent(one[row], other[row], rtol=1e-6, atol=1e-8 * float(np.linalg.norm(other[row])))
    lists = candidate.orrery.kepler.tangent.tangent(mu.tolist(), x.tolist(), v.tolist(), dt, dx.tolist(), dv.tolist())
    for one, other in zip(lists, found, strict=True):
        assert_equivalent(one, other, rtol=1e-12)
    still = candidate.orrery.kepler.tangent.tangent(mu, x, v, 0.0, dx, dv)
    for one, other in zip(still, (dx, dv), strict=True):
        assert_equivalent(one, other, rtol=1e-15)
    single = [each.astype(np.float32) for each in orbits(rng, [0.2, 0.5])]
    double = [each.astype(np.float64) for each in single]
    moves = single[1:], double[1:]
    exact = reference.orrery.kepler.tangent.tangent(*double, 5.0, *moves[1])
    for one, other in zip(candidate.orrery.kepler.tangent.tangent(*single, 5.0, *moves[0]), exact, strict=True):
        assert one.dtype == np.float64
        assert_equivalent(one, other, rtol=1e-7, atol=1e-9 * float(np.abs(other).max()))
    whole = candidate.orrery.kepler.tangent.tangent([0], [[3, 0, 0]], [[0, 1, 0]], 0.5, [[1, 2, 3]], [[1, 0, 0]])
    assert_equivalent(whole[0], np.array([[1.5, 2.0, 3.0]]), rtol=1e-15)


@varying
def test_tangent_from_the_centre_raises(candidate, rng):
    mu, x, v = orbits(rng, [0.2, 0.5])
    kept = candidate.orrery.kepler.tangent.tangent(mu, x, v, 0.0, v, v)
    assert_equivalent(kept[0], v, rtol=1e-15)
    x[1] = 0.0
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.orrery.kepler.tangent.tangent(mu, x, v, 1.0, v, v)


# Jacobi coordinates


def bodies(rng, count, massless=()):
    gm = GM * np.append(rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-6.0, -0.5, count - 1))
    gm[list(massless)] = 0.0
    return gm, rng.normal(size=(count, 3)) * 5.0


@parameterised
def test_parameters_are_those_of_the_orbits(candidate, reference, rng):
    for count, massless in ((2, ()), (5, (2,)), (4, (1, 3))):
        gm, _ = bodies(rng, count, massless)
        found = assert_unmodified(candidate.orrery.coords.jacobi.parameters, gm)
        assert found.dtype == np.float64
        assert_equivalent(found, np.array([*(gm[: each + 1].sum() for each in range(1, count)), 0.0]), rtol=1e-13)
        assert_equivalent(found, reference.orrery.coords.jacobi.parameters(gm), rtol=1e-13)
    assert_equivalent(candidate.orrery.coords.jacobi.parameters([4, 1, 2]), np.array([5.0, 7.0, 0.0]), rtol=1e-14)
    single = bodies(rng, 4)[0].astype(np.float32)
    found = candidate.orrery.coords.jacobi.parameters(single)
    assert found.dtype == np.float64
    assert_equivalent(found, reference.orrery.coords.jacobi.parameters(single.astype(np.float64)), rtol=1e-13)


@there
def test_to_jacobi_is_the_definition(candidate, reference, rng):
    for count, massless in ((2, ()), (3, ()), (6, (2, 5)), (4, (1,))):
        gm, y = bodies(rng, count, massless)
        found = assert_unmodified(candidate.orrery.coords.jacobi.to_jacobi, gm, y)
        assert found.dtype == np.float64
        exact = np.array(jacobi(decimals(gm), [decimals(row) for row in y])).astype(float)
        assert_equivalent(found, exact, rtol=0.0, atol=1e-13 * float(np.abs(y).max()))
        assert_equivalent(found, reference.orrery.coords.jacobi.to_jacobi(gm, y), rtol=1e-9, atol=1e-12)
        lists = candidate.orrery.coords.jacobi.to_jacobi(gm.tolist(), y.tolist())
        assert_equivalent(lists, found, rtol=1e-14, atol=1e-15)
    whole = candidate.orrery.coords.jacobi.to_jacobi([2, 2], [[1, 0, 0], [2, 0, 1]])
    assert_equivalent(whole, np.array([[1.0, 0.0, 1.0], [1.5, 0.0, 0.5]]), rtol=1e-14)
    gm, y = (each.astype(np.float32) for each in bodies(rng, 5))
    found = candidate.orrery.coords.jacobi.to_jacobi(gm, y)
    assert found.dtype == np.float64
    exact = reference.orrery.coords.jacobi.to_jacobi(gm.astype(np.float64), y.astype(np.float64))
    assert_equivalent(found, exact, rtol=0.0, atol=1e-12)


@back
def test_from_jacobi_is_the_inverse(candidate, reference, rng):
    for count, massless in ((2, ()), (3, ()), (6, (2, 5)), (4, (1,))):
        gm, rows = bodies(rng, count, massless)
        found = assert_unmodified(candidate.orrery.coords.jacobi.from_jacobi, gm, rows)
        assert found.dtype == np.float64
        exact = np.array(inertial(decimals(gm), [decimals(row) for row in rows])).astype(float)
        assert_equivalent(found, exact, rtol=0.0, atol=1e-13 * float(np.abs(rows).max()))
        assert_equivalent(found, reference.orrery.coords.jacobi.from_jacobi(gm, rows), rtol=1e-9, atol=1e-12)
        lists = candidate.orrery.coords.jacobi.from_jacobi(gm.tolist(), rows.tolist())
        assert_equivalent(lists, found, rtol=1e-14, atol=1e-15)
    whole = candidate.orrery.coords.jacobi.from_jacobi([2, 2], [[1, 0, 1], [2, 0, 1]])
    assert_equivalent(whole, np.array([[1.5, 0.0, 0.5], [2.5, 0.0, 1.5]]), rtol=1e-14)
    gm, y = (each.astype(np.float32) for each in bodies(rng, 5))
    found = candidate.orrery.coords.jacobi.from_jacobi(gm, y)
    assert found.dtype == np.float64
    exact = reference.orrery.coords.jacobi.from_jacobi(gm.astype(np.float64), y.astype(np.float64))
    assert_equivalent(found, exact, rtol=0.0, atol=1e-12)


# kick


def nested(rng, masses, ratio=2.0):
    """Jacobi coordinates of increasing distances."""
    gm = GM * np.array([1.0, *masses])
    distances = np.cumprod(np.append(rng.uniform(0.5, 1.0), rng.uniform(1.3, ratio, len(masses) - 1)))
    ways = rng.normal(size=(len(masses), 3))
    rows = distances[:, None] * ways / np.linalg.norm(ways, axis=1)[:, None]
    return gm, np.vstack([rows, rng.normal(size=3)])


def check_kick(candidate, gm, x):
    found = assert_unmodified(candidate.orrery.forces.interaction.kick, gm, x)
    assert isinstance(found, np.ndarray)
    assert found.shape == x.shape
    assert found.dtype == np.float64
    exact = interaction(decimals(gm), [decimals(row) for row in x])
    for one, other in zip(found, exact, strict=True):
        length = size(other)
        if length < Decimal("1e-40"):
            assert not one.any()
        else:
            assert size(difference(decimals(one), other)) <= Decimal("1e-10") * length


@kicking
def test_kick_of_planets(candidate, rng):
    for count in (2, 3, 4, 5):
        check_kick(candidate, *nested(rng, 10.0 ** rng.uniform(-4.0, -2.0, count)))


@kicking
def test_kick_of_tiny_masses(candidate, rng):
    for count, low, high in ((2, -15.0, -13.0), (3, -14.0, -10.0), (4, -15.0, -6.0)):
        check_kick(candidate, *nested(rng, 10.0 ** rng.uniform(low, high, count)))


@kicking
def test_kick_of_stars(candidate, rng):
    for count in (2, 3, 4):
        check_kick(candidate, *nested(rng, rng.uniform(0.2, 1.0, count), ratio=4.0))


@kicking
def test_kick_of_distant_and_massless_bodies(candidate, rng):
    for masses in ((1e-3, 0.0, 1e-9, 1e-14), (0.0, 1e-4, 0.0), (0.0, 0.0, 1e-12), (1e-13, 0.0)):
        check_kick(candidate, *nested(rng, masses))
    gm, x = nested(rng, [1e-6, 1e-12])
    x[1] *= 60.0
    check_kick(candidate, gm, x)


@kicking
def test_kick_of_two_bodies_is_nothing(candidate, reference, rng):
    gm, x = nested(rng, [rng.uniform(0.1, 1.0)])
    assert_equivalent(candidate.orrery.forces.interaction.kick(gm, x), np.zeros((2, 3)), rtol=0.0)
    gm, x = nested(rng, [0.0, 0.0, 0.0])
    assert_equivalent(candidate.orrery.forces.interaction.kick(gm, x), np.zeros((4, 3)), rtol=0.0)
    gm, x = nested(rng, [1e-3, 2e-3, 1e-2])
    exact = reference.orrery.forces.interaction.kick(gm, x)
    found = candidate.orrery.forces.interaction.kick(gm.tolist(), x.tolist())
    assert_equivalent(found, exact, rtol=1e-7, atol=1e-9 * float(np.abs(exact).max()))
    check_kick(candidate, *(each.astype(np.float32) for each in nested(rng, [1e-3, 2e-3, 1e-2])))
    whole = candidate.orrery.forces.interaction.kick([2, 1, 1], [[1, 0, 0], [0, 3, 0], [0, 0, 0]])
    exact = interaction(decimals([2, 1, 1]), [decimals(row) for row in ([1, 0, 0], [0, 3, 0], [0, 0, 0])])
    assert_equivalent(whole, np.array(exact).astype(float), rtol=1e-9, atol=1e-12)


# correctors


@correcting
def test_stages_cancel_the_modification(candidate, reference):
    counts = {0: 0, 3: 1, 5: 2, 7: 3, 11: 5}
    # x / sinh x = 1 / (1 + x^2 / 6 + ...), in powers of z / 2
    inverse = [Fraction(1)]
    for power in range(1, 6):
        inverse.append(-sum(inverse[power - k] / math.factorial(2 * k + 1) for k in range(1, power + 1)))
    for order, count in counts.items():
        found = candidate.orrery.whfast.correctors.stages(order)
        assert isinstance(found, tuple)
        assert len(found) == count
        for pair in found:
            assert isinstance(pair, tuple)
            assert [type(each) for each in pair] == [float, float]
        for k in range(count):
            terms = [2.0 * b * a ** (2 * k + 1) / math.factorial(2 * k + 1) for a, b in found]
            wanted = float(-inverse[k + 1] / 4 ** (k + 1))
            assert abs(math.fsum(terms) - wanted) <= 1e-9 * max(abs(each) for each in terms)
        assert_equivalent([a for a, _ in found], [math.sqrt(0.175) * i for i in range(1, count + 1)], rtol=1e-12)
        exact = reference.orrery.whfast.correctors.stages(order)
        for pair, other in zip(found, exact, strict=True):
            assert_equivalent(pair, other, rtol=2e-10)


@correcting
def test_stages_of_other_orders_raise(candidate):
    assert len(candidate.orrery.whfast.correctors.stages(3)) == 1
    for order in (-3, 1, 2, 4, 6, 9, 13):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.orrery.whfast.correctors.stages(order)


# accumulate


@summing
def test_accumulate_loses_nothing(candidate, rng):
    scales = (
        10.0 ** rng.uniform(-20.0, 0.0, 60),
        10.0 ** np.sort(rng.uniform(-30.0, 30.0, 60)),
        10.0 ** -np.sort(rng.uniform(-30.0, 30.0, 60)),
        10.0 ** rng.uniform(-100.0, 100.0, 60),
    )
    for scale in scales:
        numbers = rng.normal(size=60) * scale
        numbers[rng.integers(60)] = 0.0
        total, carry, exact, whole = 0.0, 0.0, Fraction(0), Fraction(0)
        for count, number in enumerate([*numbers, *-numbers[::-1]]):
            total, carry = candidate.orrery.whfast.summation.accumulate(total, carry, float(number))
            exact, whole = exact + Fraction(float(number)), whole + abs(Fraction(float(number)))
            assert abs(Fraction(float(total)) - Fraction(float(carry)) - exact) <= whole / 10**28
            if count < 60:
                assert abs(Fraction(float(total)) - exact) <= Fraction(math.ulp(float(exact))) + whole / 10**28


@summing
def test_accumulate_arrays_as_the_authors(candidate, reference, rng):
    total, carry = np.zeros((2, 3)), np.zeros((2, 3))
    exact, lost = total, carry
    for _ in range(12):
        numbers = rng.normal(size=(2, 3)) * 10.0 ** rng.uniform(-18.0, 2.0, (2, 3))
        total, carry = assert_unmodified(candidate.orrery.whfast.summation.accumulate, total, carry, numbers)
        exact, lost = reference.orrery.whfast.summation.accumulate(exact, lost, numbers)
        assert total.dtype == carry.dtype == np.float64
        assert_equivalent(total, exact, rtol=4e-16)
        assert_equivalent(total + (exact - total), exact, rtol=0.0)
        error = (exact - total) - (lost - carry)
        assert np.all(np.abs(error) <= 1e-26)


# the scheme


class Springs:
    """Stand-ins for drift and kick: every row but the last is an oscillator, and a weak force couples all."""

    def __init__(self, rng, count, weak=1e-2):
        self.frequencies = np.append(rng.uniform(0.5, 2.0, count - 1), 0.0)[:, None]
        self.coupling = weak * rng.normal(size=(count, count))
        self.drifts = self.kicks = 0

    def flow(self, x, v, dt):
        w = self.frequencies
        safe = np.where(w > 0.0, w, 1.0)
        dx = (np.cos(w * dt) - 1.0) * x + np.where(w > 0.0, np.sin(w * dt) / safe, dt) * v
        return dx, -w * np.sin(w * dt) * x + (np.cos(w * dt) - 1.0) * v

    def force(self, x):
        return self.coupling @ np.sin(x)

    def drift(self, mu, x, v, dt):
        self.drifts += 1
        assert np.shape(x) == np.shape(v) == (len(self.frequencies), 3)
        assert np.shape(mu) == (len(self.frequencies),)
        return self.flow(np.asarray(x), np.asarray(v), dt)

    def kick(self, gm, x):
        self.kicks += 1
        assert np.shape(x) == (len(self.frequencies), 3)
        assert np.shape(gm) == (len(self.frequencies),)
        return self.force(np.asarray(x))


ALPHA = math.sqrt(7.0 / 40.0)
NUMBERS = {0: [], 3: [0.5], 5: [5 / 6, -1 / 6], 7: [53521 / 49392, -22651 / 61740, 12361 / 246960]}
PAIRS = {order: [(ALPHA * (i + 1), b / (24.0 * ALPHA)) for i, b in enumerate(row)] for order, row in NUMBERS.items()}


def matrix(gm):
    """Of the definition of Jacobi coordinates."""
    found = np.zeros((len(gm), len(gm)))
    for body in range(1, len(gm)):
        found[body - 1, body] = 1.0
        found[body - 1, :body] = -gm[:body] / gm[:body].sum()
    found[-1] = gm / gm.sum()
    return found


def mapped(springs, gm, x, v, dt, steps, order):
    """The whole run, with all half drifts."""
    change = matrix(gm)
    state = change @ x, change @ v

    def drift(state, factor):
        dx, dv = springs.flow(*state, factor * dt)
        return state[0] + dx, state[1] + dv

    def kick(state, factor):
        return state[0], state[1] + factor * dt * springs.force(state[0])

    def around(state, a, b):
        return drift(kick(drift(state, -a), b), a)

    for a, b in PAIRS[order]:
        state = around(around(state, -a, -b), a, b)
    for _ in range(steps):
        state = drift(kick(drift(state, 0.5), 1.0), 0.5)
    for a, b in PAIRS[order][::-1]:
        state = around(around(state, a, -b), -a, b)
    return np.linalg.solve(change, state[0]), np.linalg.solve(change, state[1])


def started(side, rng, order, count=4, dt=None, start=None):
    """A run with springs, and what is needed to repeat it."""
    springs = Springs(rng, count)
    gm = rng.uniform(0.2, 1.0, count)
    x, v = rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    dt = float(rng.uniform(0.2, 0.4) * rng.choice([-1, 1])) if dt is None else dt
    t = float(rng.normal())
    system = side.orrery.bodies.system.System(gm, x, v, t, tuple("abcdefgh"[:count]))
    settings = side.orrery.whfast.settings.Settings(dt, order)
    run = side.orrery.whfast.scheme.Simulation(system, settings, springs.drift, springs.kick)
    return run, springs, gm, x, v, dt, t


def same(one, other):
    """Bit by bit."""
    assert_equivalent(one.x, other.x, rtol=0.0)
    assert_equivalent(one.v, other.v, rtol=0.0)
    assert one.t == other.t


@running
def test_steps_are_drift_kick_drift(candidate, rng):
    for count, steps in ((2, 1), (3, 2), (4, 7)):
        run, springs, gm, x, v, dt, t = started(candidate, rng, 0, count)
        run.advance(steps)
        now = run.readout()
        expected = mapped(springs, gm, x, v, dt, steps, 0)
        assert_equivalent(now.x, expected[0], rtol=1e-11, atol=1e-11)
        assert_equivalent(now.v, expected[1], rtol=1e-11, atol=1e-11)
        assert now.t == t + steps * dt


@running
def test_joined_drifts_cost_one_each(candidate, rng):
    for order, pairs in ((0, 0), (3, 1), (7, 3)):
        run, springs, *_ = started(candidate, rng, order)
        taken = 0
        for steps in (1, 5, 0, 9):
            run.advance(steps)
            taken += steps
            assert springs.kicks <= taken + 2 * pairs
            assert springs.drifts <= taken + 3 * pairs
        assert springs.kicks >= taken


@running
def test_steps_in_parts_are_the_same_steps(candidate, rng):
    for order in (0, 5):
        state = rng.bit_generator.state
        whole, *_ = started(candidate, rng, order)
        rng.bit_generator.state = state
        parts, *_ = started(candidate, rng, order)
        whole.advance(7)
        for steps in (2, 0, 4, 1):
            parts.advance(steps)
        same(whole.readout(), parts.readout())


@running
def test_negative_numbers_of_steps_raise(candidate, rng):
    run, *_, dt, t = started(candidate, rng, 0)
    run.advance(2)
    before = run.readout()
    with pytest.raises(ValueError):  # noqa: PT011
        run.advance(-1)
    same(run.readout(), before)
    assert before.t == t + 2 * dt


@running
def test_nothing_is_lost_in_small_changes(candidate, rng):
    """Changes below the last digit add up."""
    u, w = rng.uniform(2e-17, 5e-17, (2, 3)), rng.uniform(2e-17, 5e-17, (2, 3))
    u[1] = w[1] = 0.0

    def drift(mu, x, v, dt):
        return dt * u, 0.25 * dt * u

    def kick(gm, x):
        return w

    x, v = np.zeros((2, 3)), np.zeros((2, 3))
    x[1], v[1] = rng.uniform(1.0, 1.1, 3), rng.uniform(1.0, 1.1, 3)
    system = candidate.orrery.bodies.system.System(np.array([1.0, 0.0]), x, v)
    settings = candidate.orrery.whfast.settings.Settings(1.0, 0)
    run = candidate.orrery.whfast.scheme.Simulation(system, settings, drift, kick)
    steps = 40
    run.advance(steps)
    now = run.readout()
    assert_equivalent(now.x[1], x[1] + steps * u[0], rtol=0.0, atol=3e-16)
    assert_equivalent(now.v[1], v[1] + steps * (0.25 * u[0] + w[0]), rtol=0.0, atol=3e-16)


@running
def test_times_are_products(candidate, rng):
    run, _, _, _, _, dt, t = started(candidate, rng, 0, 2, dt=0.1)
    for steps in range(1, 12):
        run.advance(1)
        assert run.readout().t == t + steps * dt


@running
def test_a_run_of_planets_as_the_authors(candidate, reference, rng):
    kepler, force = reference.orrery.kepler.drift.increments, reference.orrery.forces.interaction.kick
    gm, x, v = planets(rng)
    for order in (0, 3):
        ends = []
        for side in (candidate, reference):
            system = side.orrery.bodies.system.System(gm, x, v)
            settings = side.orrery.whfast.settings.Settings(0.35, order)
            run = side.orrery.whfast.scheme.Simulation(
                system, settings, lambda *given: kepler(*given), lambda *given: force(*given)
            )
            run.advance(6)
            ends.append(run.readout())
        assert_equivalent(ends[0].x, ends[1].x, rtol=1e-9, atol=1e-10)
        assert_equivalent(ends[0].v, ends[1].v, rtol=1e-9, atol=1e-10)


def planets(rng):
    """A star of parameter 1 and three planets on different orbits."""
    x, v = [np.zeros(3)], [np.zeros(3)]
    for distance in (1.0, 1.7, 3.1):
        turn = orthogonal(rng)
        x.append(turn @ np.array([distance, 0.0, 0.0]))
        v.append(turn @ np.array([0.1, rng.uniform(0.9, 1.1), 0.0]) / math.sqrt(distance))
    return np.array([1.0, 1e-3, 2e-4, 5e-4]), np.array(x), np.array(v)


@running
def test_readouts_apply_the_inverse_corrector(candidate, rng):
    for order in (3, 5, 7):
        for steps in (1, 4):
            run, springs, gm, x, v, dt, t = started(candidate, rng, order)
            run.advance(steps)
            now = run.readout()
            expected = mapped(springs, gm, x, v, dt, steps, order)
            assert_equivalent(now.x, expected[0], rtol=1e-11, atol=1e-11)
            assert_equivalent(now.v, expected[1], rtol=1e-11, atol=1e-11)
            assert now.t == t + steps * dt


@running
def test_readouts_change_nothing(candidate, rng):
    for order in (0, 3):
        state = rng.bit_generator.state
        seen, *_ = started(candidate, rng, order)
        rng.bit_generator.state = state
        unseen, *_ = started(candidate, rng, order)
        for steps in (1, 2, 4):
            seen.readout()
            seen.advance(steps)
            first = seen.readout()
            same(first, seen.readout())
        unseen.advance(7)
        same(unseen.readout(), first)


@running
def test_readouts_cost_little(candidate, rng):
    for order, pairs in ((0, 0), (5, 2), (11, 5)):
        run, springs, *_ = started(candidate, rng, order)
        run.advance(2)
        for _ in range(3):
            springs.kicks = springs.drifts = 0
            run.readout()
            assert springs.kicks <= 2 * pairs
            assert 1 <= springs.drifts <= 1 + 3 * pairs


@running
def test_the_first_readout_is_the_start(candidate, rng):
    for order in (0, 7):
        run, springs, gm, x, v, _, t = started(candidate, rng, order)
        springs.kicks = springs.drifts = 0
        run.advance(0)
        before = run.readout()
        assert_equivalent(before.x, x, rtol=0.0)
        assert_equivalent(before.v, v, rtol=0.0)
        assert_equivalent(before.gm, gm, rtol=0.0)
        assert before.t == t
        assert tuple(before.names) == tuple("abcd")
        assert springs.kicks <= 6
        run.advance(1)
        after = run.readout()
        assert np.abs(after.x - x).max() > 1e-3
        assert_equivalent(after.gm, gm, rtol=0.0)
        assert tuple(after.names) == tuple("abcd")


@running
def test_the_first_readout_calls_nothing(candidate, rng):
    run, springs, *_ = started(candidate, rng, 5)
    springs.kicks = springs.drifts = 0
    run.readout()
    assert springs.kicks == springs.drifts == 0
    run.advance(1)
    run.readout()
    assert springs.kicks >= 5


@running
def test_a_system_is_followed_as_the_authors_do(candidate, reference, rng):
    gm, x, v = planets(rng)
    for order in (0, 7, 11):
        ends = []
        for side in (candidate, reference):
            system = side.orrery.bodies.system.System(gm, x, v, 5.0)
            run = side.orrery.whfast.scheme.Simulation(system, side.orrery.whfast.settings.Settings(-0.3, order))
            run.advance(5)
            ends.append(run.readout())
        assert_equivalent(ends[0].x, ends[1].x, rtol=1e-9, atol=1e-10)
        assert_equivalent(ends[0].v, ends[1].v, rtol=1e-9, atol=1e-10)
        assert ends[0].t == 5.0 + 5 * -0.3


@running
def test_correctors_keep_the_energy(candidate, rng):
    gm, x, v = planets(rng)
    gm = gm * np.array([1.0, 1e-2, 1e-2, 1e-2])

    def energy(system):
        x, v = np.asarray(system.x), np.asarray(system.v)
        pairs = [gm[i] * gm[j] / np.linalg.norm(x[i] - x[j]) for i in range(4) for j in range(i)]
        return 0.5 * float(gm @ (v**2).sum(axis=1)) - sum(pairs)

    errors = {}
    for order in (0, 5):
        system = candidate.orrery.bodies.system.System(gm, x, v)
        run = candidate.orrery.whfast.scheme.Simulation(system, candidate.orrery.whfast.settings.Settings(0.12, order))
        start, found = energy(run.readout()), []
        for _ in range(8):
            run.advance(5)
            found.append(abs(energy(run.readout()) - start))
        errors[order] = max(found)
    assert errors[5] < 0.2 * errors[0]


# elements


def placed(rng, mu, q, e, inc, node, peri, where):
    """A state and the time since the pericentre."""
    x, v, since = conic(mu, q, e, where)

    def about(axis, angle):
        c, s = math.cos(angle), math.sin(angle)
        first, second = [each for each in range(3) if each != axis]
        turn = np.eye(3)
        turn[first, first] = turn[second, second] = c
        turn[first, second], turn[second, first] = -s, s
        return turn

    turn = about(2, node) @ about(0, inc) @ about(2, peri)
    return turn @ x, turn @ v, since


def near(one, other, allowed):
    """Angles modulo a turn; the first is in [0, 2 pi)."""
    assert type(one) is float
    assert 0.0 <= one < TURN
    assert abs((one - other + math.pi) % TURN - math.pi) <= allowed


def check_elements(found, mu, x, q, e, inc, node, peri, since):
    for each in (found.q, found.e, found.inc, found.since):
        assert type(each) is float
    t = math.sqrt(float(np.linalg.norm(x)) ** 3 / mu)
    bad = 1.0 / min(1.0, abs(math.sin(inc))) if node is not None else 1.0
    worse = 1.0 / min(1.0, e) if peri is not None else 1.0
    assert abs(found.q - q) <= 1e-10 * q
    assert abs(found.e - e) <= 2e-12
    assert abs(found.inc - inc) <= 2e-12
    near(found.node, node or 0.0, 4e-12 * bad)
    near(found.peri, peri or 0.0, 4e-12 * (bad + worse))
    if node is None:
        assert found.node == 0.0
    if peri is None:
        assert found.peri == 0.0
    assert abs(found.since - since) <= (1e-10 + 4e-12 * (worse + (0.0 if peri is not None else bad))) * t


def angles(rng):
    return rng.uniform(0.1, 3.0), rng.uniform(0.0, TURN), rng.uniform(0.0, TURN)


@describing
def test_elements_of_all_conics(candidate, rng):
    for e in (0.05, 0.3, 0.9, 0.999, 1.0, 1.1, 4.0):
        mu, q, (inc, node, peri) = GM * rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-1.0, 1.0), angles(rng)
        where = somewhere(rng, e) if e < 0.95 else rng.uniform(0.5, 4.0) * rng.choice([-1, 1]) / max(1.0, e)
        x, v, since = placed(rng, mu, q, e, inc, node, peri, where)
        found = assert_unmodified(candidate.orrery.orbits.elements.elements, mu, x, v)
        check_elements(found, mu, x, q, e, inc, node, peri, since)


@describing
def test_elements_of_orbits_that_are_almost_parabolas(candidate, rng):
    for difference_ in 10.0 ** rng.uniform(-12.0, -4.0, 8):
        mu, q, (inc, node, peri) = GM * rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-1.0, 1.0), angles(rng)
        e = 1.0 + float(difference_) * rng.choice([-1, 1])
        x, v, since = placed(rng, mu, q, e, inc, node, peri, rng.uniform(0.3, 5.0) * rng.choice([-1, 1]))
        check_elements(candidate.orrery.orbits.elements.elements(mu, x, v), mu, x, q, e, inc, node, peri, since)
    # a parabola whose energy is exactly 0
    k = int(rng.integers(1, 9))
    found = candidate.orrery.orbits.elements.elements(12.5 * k**2, [1.0, 0.0, 0.0], [3.0 * k, 0.0, 4.0 * k])
    assert_equivalent([found.q, found.e, found.since], [0.64, 1.0, 0.1824 / k], rtol=1e-12)


@describing
def test_elements_of_almost_circular_and_almost_flat_orbits(candidate, rng):
    for _ in range(6):
        mu, q, (inc, node, peri) = GM * rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-1.0, 1.0), angles(rng)
        e, low = 10.0 ** rng.uniform(-7.0, -3.0), 10.0 ** rng.uniform(-7.0, -3.0)
        where = somewhere(rng, 0.1)
        x, v, since = placed(rng, mu, q, e, inc, node, peri, where)
        check_elements(candidate.orrery.orbits.elements.elements(mu, x, v), mu, x, q, e, inc, node, peri, since)
        for small in (low, math.pi - low):
            x, v, since = placed(rng, mu, q, 0.3, small, node, peri, where)
            found = candidate.orrery.orbits.elements.elements(mu, x, v)
            check_elements(found, mu, x, q, 0.3, small, node, peri, since)


@describing
def test_elements_that_are_not_defined_are_those_of_the_package(candidate, rng):
    mu, q, (inc, node, peri) = GM * rng.uniform(0.5, 2.0), 10.0 ** rng.uniform(-1.0, 1.0), angles(rng)
    for where in (rng.uniform(0.5, 2.5), -rng.uniform(0.5, 2.5)):
        # circles: since the node
        x, v, since = placed(rng, mu, q, 0.0, inc, node, 0.0, where)
        check_elements(candidate.orrery.orbits.elements.elements(mu, x, v), mu, x, q, 0.0, inc, node, None, since)
        for flat in (0.0, math.pi):
            # without a node, angles count from the x axis in the direction of the motion
            x, v, since = placed(rng, mu, q, 0.4, 0.0, 0.0, peri, where)
            if flat:
                x[1], v[1] = -x[1], -v[1]
            found = candidate.orrery.orbits.elements.elements(mu, x, v)
            check_elements(found, mu, x, q, 0.4, flat, None, peri, since)
            x, v, since = placed(rng, mu, q, 0.0, 0.0, 0.0, 0.0, where)
            if flat:
                x[1], v[1] = -x[1], -v[1]
            found = candidate.orrery.orbits.elements.elements(mu, x, v)
            check_elements(found, mu, x, q, 0.0, flat, None, None, since)


@describing
def test_elements_are_the_inverse_as_the_authors_have_it(candidate, reference, rng):
    for e in (0.2, 0.7, 1.5):
        mu, x, v = GM, *turned(rng, GM, 1.3, e, somewhere(rng, e))
        found = candidate.orrery.orbits.elements.elements(mu, x.tolist(), v.tolist())
        exact = reference.orrery.orbits.elements.elements(mu, x, v)
        for name in ("q", "e", "inc", "node", "peri", "since"):
            assert_equivalent(getattr(found, name), getattr(exact, name), rtol=1e-8, atol=1e-9)
        place, motion = candidate.orrery.bodies.from_elements.state(mu, found)
        assert_equivalent(place, x, rtol=1e-8, atol=1e-8)
        assert_equivalent(motion, v, rtol=1e-8, atol=1e-9)
    place, motion = (each.astype(np.float32) for each in turned(rng, GM, 1.3, 0.4, 1.0))
    found = candidate.orrery.orbits.elements.elements(GM, place, motion)
    exact = reference.orrery.orbits.elements.elements(GM, place.astype(np.float64), motion.astype(np.float64))
    for name in ("q", "e", "inc", "node", "peri", "since"):
        assert type(getattr(found, name)) is float
        assert_equivalent(getattr(found, name), getattr(exact, name), rtol=1e-9, atol=1e-9)
    whole = candidate.orrery.orbits.elements.elements(1, [2, 0, 0], [0, 0, 1])
    assert_equivalent([whole.q, whole.e, whole.inc], [2.0, 1.0, math.pi / 2], rtol=1e-12)


@describing
def test_elements_of_a_straight_line_raise(candidate, rng):
    x = rng.integers(1, 9, 3).astype(float)
    assert candidate.orrery.orbits.elements.elements(1.0, x, x[[1, 0, 2]] * [1, 1, -1]).q > 0.0
    for v in (0.5 * x, -0.25 * x, 0.0 * x):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.orrery.orbits.elements.elements(1.0, x, v)


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
