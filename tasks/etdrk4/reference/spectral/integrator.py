"""Exponential time differencing, fourth-order Runge-Kutta (Cox & Matthews 2002; Kassam & Trefethen 2005)."""

from __future__ import annotations

import numpy as np

from .equations import Nonlinear, SemilinearEquation
from .scheme import Coefficients, Trajectory


def phi_functions(z: np.ndarray, points: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The functions phi_1, phi_2, phi_3 of exponential integrators, without cancellation.

    Each has the shape of `z`, and is float64 for real and complex128 for complex `z`. The textbook formulas lose all
    digits near 0; the mean over a circle around z evaluates them where they are harmless, and is exact up to rounding
    because the functions are entire. No circle comes closer to 0 than 1.
    """
    z = np.asarray(z)
    circle = np.exp(2j * np.pi * (np.arange(points) + 0.5) / points)
    radius = np.where(np.abs(z) < 2.0, 3.0, 1.0)[
        ..., None
    ]  # with 1 everywhere, the circle of a z of size 1 passes through 0
    around = z[..., None] + radius * circle
    exponential = np.exp(around)
    first = (exponential - 1.0) / around
    second = (exponential - 1.0 - around) / around**2
    third = (exponential - 1.0 - around - around**2 / 2.0) / around**3
    means = [values.mean(axis=-1) for values in (first, second, third)]
    if not np.iscomplexobj(z):
        means = [mean.real for mean in means]  # symmetric points: the imaginary parts are rounding
    return means[0], means[1], means[2]


def coefficients(eigenvalues: np.ndarray, step: float) -> Coefficients:
    """The coefficients of ETDRK4 for the diagonal linear part `eigenvalues` and the step size `step`.

    Raises ValueError for a step that is not positive and finite.
    """
    if not (step > 0.0 and np.isfinite(step)):
        raise ValueError(f"step must be positive and finite, not {step}")
    eigenvalues = np.asarray(eigenvalues)
    z = step * eigenvalues.astype(np.result_type(eigenvalues, np.float64))
    phi1, phi2, phi3 = phi_functions(z)
    return Coefficients(
        step=step,
        full=np.exp(z),
        half=np.exp(z / 2.0),
        inner=step * phi_functions(z / 2.0)[0] / 2.0,
        first=step * (phi1 - 3.0 * phi2 + 4.0 * phi3),
        middle=step * (2.0 * phi2 - 4.0 * phi3),
        last=step * (4.0 * phi3 - phi2),
    )


def advance(modes: np.ndarray, time: float, nonlinear: Nonlinear, coefficients: Coefficients) -> np.ndarray:
    """The modes one step after `time`, as a new array. Calls `nonlinear` four times."""
    c = coefficients
    midpoint, end = time + c.step / 2.0, time + c.step

    n_start = nonlinear(modes, time)
    a = c.half * modes + c.inner * n_start
    n_a = nonlinear(a, midpoint)
    b = c.half * modes + c.inner * n_a
    n_b = nonlinear(b, midpoint)
    full_stage = c.half * a + c.inner * (2.0 * n_b - n_start)
    n_end = nonlinear(full_stage, end)
    return c.full * modes + c.first * n_start + c.middle * (n_a + n_b) + c.last * n_end


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

    Saves the initial state, every `save_every`-th state and the last one. Raises ValueError for bad arguments and
    FloatingPointError when a state stops being finite.
    """
    grid = equation.grid
    values = np.asarray(initial, dtype=np.float64)
    if values.shape != (grid.size,):
        raise ValueError(f"initial must have shape ({grid.size},), not {values.shape}")
    if steps < 0 or save_every < 1:
        raise ValueError(f"steps ({steps}) must be at least 0 and save_every ({save_every}) at least 1")
    scheme = coefficients(equation.eigenvalues, step)

    modes = grid.to_modes(values)
    saved, states = [0], [values.copy()]
    for index in range(1, steps + 1):
        time = start + (index - 1) * step  # not accumulated: the rounding of many small sums would drift
        modes = advance(modes, time, equation.nonlinear, scheme)
        if not np.all(np.isfinite(modes)):
            raise FloatingPointError(f"the state is not finite after step {index}: choose a smaller step")
        if index % save_every == 0 or index == steps:
            saved.append(index)
            states.append(grid.to_values(modes))
    return Trajectory(times=start + step * np.array(saved, dtype=np.float64), states=np.array(states))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
