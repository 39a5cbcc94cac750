"""Exponential time differencing, fourth-order Runge-Kutta (Cox & Matthews 2002; Kassam & Trefethen 2005)."""

from __future__ import annotations

import math

import numpy as np

from .equations import Nonlinear, SemilinearEquation
from .scheme import Coefficients, Trajectory

_SERIES_RADIUS = 1.0
"""Where |z| is smaller the phi functions are summed as power series; elsewhere their definitions lose no digits."""

_SERIES_TERMS = 20
"""Terms of the series of phi_3: at the radius above the remainder is below 1 / 23!, far below rounding."""


def phi_functions(z: np.ndarray, points: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The functions phi_1, phi_2, phi_3 of exponential integrators, without cancellation.

    Close to 0 they are power series, elsewhere the recurrence phi_{j+1} = (phi_j - 1/j!) / z, which is stable for
    |z| >= 1. No contour is needed, and `points` is ignored. Real `z` gives float64, complex `z` complex128.
    """
    z = _to_double(z)
    near = np.abs(z) < _SERIES_RADIUS
    series = _phi_series(np.where(near, z, 0.0))
    recurrence = _phi_recurrence(np.where(near, 1.0, z))
    phi_1, phi_2, phi_3 = (np.where(near, inside, outside) for inside, outside in zip(series, recurrence, strict=True))
    return phi_1, phi_2, phi_3


def _to_double(values: np.ndarray) -> np.ndarray:
    """As a float64 array, or complex128 for complex values."""
    values = np.asarray(values)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64, copy=False)


def _exp(z: np.ndarray) -> np.ndarray:
    """The exponential as an array, silently 0 where it is too small."""
    with np.errstate(under="ignore"):
        return np.asarray(np.exp(z))


def _phi_series(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The phi functions for small |z|: Horner's rule for phi_3, from which the other two follow."""
    phi_3 = np.zeros_like(z)
    with np.errstate(under="ignore"):
        for power in reversed(range(_SERIES_TERMS)):
            phi_3 = phi_3 * z + 1.0 / math.factorial(power + 3)
        phi_2 = 0.5 + z * phi_3
        phi_1 = 1.0 + z * phi_2
    return phi_1, phi_2, phi_3


def _phi_recurrence(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The phi functions for |z| that is not small, by their definition."""
    phi_1 = (_exp(z) - 1.0) / z
    phi_2 = (phi_1 - 1.0) / z
    phi_3 = (phi_2 - 0.5) / z
    return phi_1, phi_2, phi_3


def coefficients(eigenvalues: np.ndarray, step: float) -> Coefficients:
    """The coefficients of ETDRK4 for the diagonal linear part `eigenvalues` and the step size `step`.

    Raises ValueError for a step that is not positive and finite.
    """
    h = float(step)
    if not (math.isfinite(h) and h > 0.0):
        raise ValueError(f"step must be positive and finite, not {step}")
    z = np.asarray(h * _to_double(eigenvalues))
    phi_1, phi_2, phi_3 = phi_functions(z)
    half_phi_1, _, _ = phi_functions(0.5 * z)
    return Coefficients(
        step=step,
        full=_exp(z),
        half=_exp(0.5 * z),
        inner=np.asarray(0.5 * h * half_phi_1),
        first=np.asarray(h * (phi_1 - 3.0 * phi_2 + 4.0 * phi_3)),
        middle=np.asarray(h * (2.0 * phi_2 - 4.0 * phi_3)),
        last=np.asarray(h * (4.0 * phi_3 - phi_2)),
    )


def advance(modes: np.ndarray, time: float, nonlinear: Nonlinear, coefficients: Coefficients) -> np.ndarray:
    """The modes one step after `time`, as a new array."""
    h = float(coefficients.step)
    half, inner = coefficients.half, coefficients.inner
    middle_time = time + 0.5 * h

    v = _to_double(modes)
    at_start = nonlinear(v, time)
    decayed = half * v
    a = decayed + inner * at_start
    at_a = nonlinear(a, middle_time)
    b = decayed + inner * at_a
    at_b = nonlinear(b, middle_time)
    c = half * a + inner * (2.0 * at_b - at_start)
    at_end = nonlinear(c, time + h)

    return np.asarray(
        coefficients.full * v
        + coefficients.first * at_start
        + coefficients.middle * (at_a + at_b)
        + coefficients.last * at_end
    )


def integrate(
    equation: SemilinearEquation,
    initial: np.ndarray,
    *,
    step: float,
    steps: int,
    save_every: int = 1,
    start: float = 0.0,
) -> Trajectory:
    """`steps` steps from the values `initial` at time `start`.

    The initial state, every `save_every`-th one and the last one are saved. Raises ValueError for arguments that make
    no sense, and FloatingPointError after the first step whose modes are not all finite.
    """
    grid = equation.grid
    values = np.array(initial, dtype=np.float64)
    if values.shape != (grid.size,):
        raise ValueError(f"initial has shape {values.shape}, expected {(grid.size,)}")
    if steps < 0:
        raise ValueError(f"steps must not be negative, not {steps}")
    if save_every < 1:
        raise ValueError(f"save_every must be at least 1, not {save_every}")

    h, origin = float(step), float(start)
    times, states = [origin], [values]
    # A solution that blows up is reported once, below, and not by warnings on the way.
    with np.errstate(all="ignore"):
        weights = coefficients(equation.eigenvalues, step)
        modes = grid.to_modes(values)
        for number in range(1, steps + 1):
            modes = advance(modes, origin + h * (number - 1), equation.nonlinear, weights)
            if not np.isfinite(modes).all():
                raise FloatingPointError(f"the modes are not finite after step {number}")
            if number % save_every == 0 or number == steps:
                times.append(origin + h * number)
                states.append(grid.to_values(modes))
    return Trajectory(times=np.array(times, dtype=np.float64), states=np.array(states, dtype=np.float64))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
