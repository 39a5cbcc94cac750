"""Exponential time differencing, fourth-order Runge-Kutta (Cox & Matthews 2002; Kassam & Trefethen 2005)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .equations import Nonlinear, SemilinearEquation
from .scheme import Coefficients, Trajectory

_SERIES = tuple(1.0 / math.factorial(power + 3) for power in range(19))
"""The Taylor coefficients of phi_3, enough of them for full precision wherever |z| <= 1."""


def phi_functions(z: np.ndarray, points: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The functions phi_1, phi_2, phi_3 of exponential integrators, without cancellation.

    They are linked by phi_j(z) = 1/j! + z phi_{j+1}(z). Read from right to left this loses no digits as long as z is
    at most 1 in size, where the Taylor series of phi_3 is short; read from left to right, beginning with exp(z), it
    loses none where z is larger. Together they cover the plane, and no contour is needed: `points` is not used.
    """
    z = _inexact(z)
    near = np.abs(z) <= 1.0

    small = np.where(near, z, 0.0)
    third = np.zeros_like(z)
    for weight in reversed(_SERIES):
        third = third * small + weight
    second = third * small + 0.5
    first = second * small + 1.0

    large = np.where(near, 1.0, z)
    with np.errstate(under="ignore"):
        far_first = np.expm1(large) / large
    far_second = (far_first - 1.0) / large
    far_third = (far_second - 0.5) / large

    return np.where(near, first, far_first), np.where(near, second, far_second), np.where(near, third, far_third)


def coefficients(eigenvalues: np.ndarray, step: float) -> Coefficients:
    """The coefficients of ETDRK4 for the diagonal linear part `eigenvalues` and the step size `step`."""
    _check_step(step)
    z = step * _inexact(eigenvalues)
    one, two, three = phi_functions(z)
    # With d = phi_2 - 2 phi_3 the middle weight is 2 h d, and both ends are made of it:
    # phi_1 - 3 phi_2 + 4 phi_3 = (phi_1 - phi_2) - 2 d and 4 phi_3 - phi_2 = phi_2 - 2 d.
    twice = 2.0 * (two - 2.0 * three)
    with np.errstate(under="ignore"):
        full, half = np.exp(z), np.exp(0.5 * z)
    return Coefficients(
        step=step,
        full=np.asarray(full),
        half=np.asarray(half),
        inner=np.asarray(0.5 * step * phi_functions(0.5 * z)[0]),
        first=np.asarray(step * (one - two - twice)),
        middle=np.asarray(step * twice),
        last=np.asarray(step * (two - twice)),
    )


def advance(modes: np.ndarray, time: float, nonlinear: Nonlinear, coefficients: Coefficients) -> np.ndarray:
    """The modes one step after `time`."""
    c = coefficients
    midpoint = time + c.step / 2

    # Of every stage only its slope is kept, as a copy: a nonlinear term may well reuse the array it returns.
    carried = c.half * modes
    start_slope = np.array(nonlinear(modes, time))
    a = carried + c.inner * start_slope
    result = c.full * modes + c.first * start_slope

    slope = np.array(nonlinear(a, midpoint))
    b = carried + c.inner * slope
    result = result + c.middle * slope

    slope = np.array(nonlinear(b, midpoint))
    end = c.half * a + c.inner * (2.0 * slope - start_slope)
    result = result + c.middle * slope

    return np.asarray(result + c.last * nonlinear(end, time + c.step))


def integrate(
    equation: SemilinearEquation,
    initial: np.ndarray,
    *,
    step: float,
    steps: int,
    save_every: int = 1,
    start: float = 0.0,
) -> Trajectory:
    """`steps` steps from the values `initial` at time `start`."""
    grid = equation.grid
    values = np.array(initial, dtype=np.float64)
    if values.shape != (grid.size,):
        raise ValueError(f"initial has shape {values.shape}, not {(grid.size,)}")
    if steps < 0:
        raise ValueError(f"steps must not be negative, as {steps} is")
    if save_every < 1:
        raise ValueError(f"save_every must be at least 1, not {save_every}")
    _check_step(step)

    numbers = [0]
    saved = []
    for number, modes in enumerate(_march(equation, grid.to_modes(values), step, steps, start), start=1):
        if number % save_every == 0 or number == steps:
            numbers.append(number)
            saved.append(modes)
    rows = [values[None, :]]
    if saved:
        rows.append(grid.to_values(np.stack(saved)))
    return Trajectory(
        times=start + step * np.array(numbers, dtype=np.float64),
        states=np.concatenate(rows),
    )


def _march(
    equation: SemilinearEquation, modes: np.ndarray, step: float, steps: int, start: float
) -> Iterator[np.ndarray]:
    """The modes after step 1, 2, ..., `steps`."""
    weights = coefficients(equation.eigenvalues, step)
    for done in range(steps):
        with np.errstate(over="ignore", invalid="ignore"):
            modes = advance(modes, start + step * done, equation.nonlinear, weights)
        if not np.isfinite(modes).all():
            raise FloatingPointError(f"the modes are not finite after step {done + 1}")
        yield modes


def _inexact(values: np.ndarray) -> np.ndarray:
    """As float64, or as complex128 where the values are complex."""
    values = np.asarray(values)
    return values.astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def _check_step(step: float) -> None:
    if not (step > 0.0 and math.isfinite(step)):
        raise ValueError(f"step must be positive and finite, not {step}")

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
