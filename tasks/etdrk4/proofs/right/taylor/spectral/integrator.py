"""ETDRK4 with phi functions from a Taylor series, scaled down and doubled up again; no contour."""

import math

import numpy as np

from .scheme import Coefficients, Trajectory

_RADIUS = 0.5
_TERMS = 24


def phi_functions(z, points=32):
    given = np.asarray(z)
    is_complex = np.iscomplexobj(given)
    x = given.astype(np.complex128 if is_complex else np.float64)
    flat = x.reshape(-1)
    small = np.abs(flat) < 2.0
    results = [np.empty(flat.shape, dtype=flat.dtype) for _ in range(3)]
    for result, near, far in zip(results, _near(flat[small]), _far(flat[~small]), strict=True):
        result[small] = near
        result[~small] = far
    return tuple(result.reshape(x.shape) for result in results)


def _far(z):
    """The definitions: no cancellation to speak of once |z| is 2 or more."""
    exponential = np.exp(z)
    phi1 = (exponential - 1.0) / z
    phi2 = (exponential - 1.0 - z) / z**2
    phi3 = (exponential - 1.0 - z - z**2 / 2.0) / z**3
    return phi1, phi2, phi3


def _near(z):
    """Series at z / 8, and the doubling formulas three times."""
    z = z / 8.0
    phis = []
    for order in (1, 2, 3):
        term = np.full(z.shape, 1.0 / math.factorial(order), dtype=z.dtype)
        total = term.copy()
        for number in range(1, _TERMS):
            term = term * z / (number + order)
            total = total + term
        phis.append(total)
    phi1, phi2, phi3 = phis
    for _ in range(3):
        exponential = 1.0 + z * phi1
        phi3 = (phi1 * phi2 + phi2 + 2.0 * phi3) / 8.0
        phi2, phi1 = (phi1 * phi1 + 2.0 * phi2) / 4.0, (exponential + 1.0) * phi1 / 2.0
        z = 2.0 * z
    return phi1, phi2, phi3


def coefficients(eigenvalues, step):
    if not (math.isfinite(step) and step > 0.0):
        raise ValueError(f"step must be positive and finite, not {step}")
    values = np.asarray(eigenvalues)
    values = values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)
    z = step * values
    phi1, phi2, phi3 = phi_functions(z)
    half1 = phi_functions(z / 2.0)[0]
    return Coefficients(
        step=step,
        full=np.exp(z),
        half=np.exp(z / 2.0),
        inner=0.5 * step * half1,
        first=step * (phi1 - 3.0 * phi2 + 4.0 * phi3),
        middle=step * (2.0 * phi2 - 4.0 * phi3),
        last=step * (4.0 * phi3 - phi2),
    )


def advance(modes, time, nonlinear, coefficients):
    c = coefficients
    n_v = nonlinear(modes, time)
    a = c.half * modes + c.inner * n_v
    n_a = nonlinear(a, time + c.step / 2.0)
    b = c.half * modes + c.inner * n_a
    n_b = nonlinear(b, time + c.step / 2.0)
    end = c.half * a + c.inner * (2.0 * n_b - n_v)
    n_c = nonlinear(end, time + c.step)
    return c.full * modes + c.first * n_v + c.middle * (n_a + n_b) + c.last * n_c


def integrate(equation, initial, *, step, steps, save_every=1, start=0.0):
    grid = equation.grid
    values = np.array(initial, dtype=np.float64)
    if values.shape != (grid.size,):
        raise ValueError(f"initial must have the shape {(grid.size,)}, not {values.shape}")
    if steps < 0 or save_every < 1:
        raise ValueError("steps must not be negative and save_every must be at least 1")
    weights = coefficients(equation.eigenvalues, step)
    modes = grid.to_modes(values)
    times, states = [start], [values]
    for number in range(1, steps + 1):
        modes = advance(modes, start + step * (number - 1), equation.nonlinear, weights)
        if not np.isfinite(modes).all():
            raise FloatingPointError(f"the modes are not finite after step {number}")
        if number == steps or number % save_every == 0:
            times.append(start + step * number)
            states.append(grid.to_values(modes))
    return Trajectory(times=np.array(times, dtype=np.float64), states=np.array(states, dtype=np.float64))

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
