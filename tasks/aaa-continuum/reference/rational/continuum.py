"""AAA on a continuum (Driscoll, Nakatsukasa and Trefethen, SIAM J. Sci. Comput. 2024)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigvals

from .results import Barycentric, Fit, Roots

FAR = 1e10


def evaluate(rational: Barycentric, points: np.ndarray) -> np.ndarray:
    """Equation (1) at points of any shape, with its limits at support points and at infinity."""
    support, values, weights = _used(rational)
    points = np.asarray(points)
    flat = points.ravel()
    with np.errstate(all="ignore"):
        cauchy = 1.0 / (flat[:, None] - support)
        result = (cauchy @ (weights * values)) / (cauchy @ weights)
        result[np.isinf(flat)] = np.sum(weights * values) / np.sum(weights)
    rows, columns = np.nonzero(~np.isfinite(cauchy))
    result[rows] = values[columns]
    result[np.isnan(flat)] = np.nan
    return result.reshape(points.shape)


def roots(rational: Barycentric) -> Roots:
    """Equations (2) and (3)."""
    support, values, weights = _used(rational)
    poles = _eigenvalues(support, weights)
    zeros = _eigenvalues(support, weights * values) if values.any() else poles[:0]
    cauchy = 1.0 / (poles[:, None] - support)
    return Roots(poles, (cauchy @ (weights * values)) / -(cauchy**2 @ weights), zeros)


def samples(support: np.ndarray, count: int) -> np.ndarray:
    """Equation (5): `count` points inside of each gap, increasing."""
    ordered = np.sort(np.asarray(support, dtype=np.float64))
    steps = np.arange(1, count + 1) / (count + 1)
    return (ordered[:-1, None] + np.diff(ordered)[:, None] * steps).ravel()


def aaa(function: Callable[[np.ndarray], np.ndarray], *, tolerance: float = 1e-13, max_degree: int = 40) -> Fit:
    """The iteration for a real function on [-1, 1]."""
    if max_degree < 1:
        raise ValueError(f"the degree is at least 1, not {max_degree}")
    support = np.array([-1.0, 1.0])
    values = _values(function, support)
    errors: list[float] = []
    best, smallest = None, np.inf
    while True:
        degree = len(support) - 1
        points = samples(support, max(3, 16 - len(support)))
        wanted = _values(function, points)
        if np.all(wanted == values[0]) and np.all(values == values[0]):
            return Fit(Barycentric(support[:1], values[:1], np.ones(1)), np.zeros(1), True)
        loewner = (wanted[:, None] - values) / (points[:, None] - support)
        rational = Barycentric(support, values, np.linalg.svd(loewner)[2][-1])
        residuals = np.abs(wanted - evaluate(rational, points))
        errors.append(residuals.max() / max(np.abs(wanted).max(), np.abs(values).max()))
        poles = roots(rational).poles
        bad = np.any((poles.imag == 0.0) & (np.abs(poles.real) <= 1.0))
        if not bad and errors[-1] < smallest:
            best, smallest = rational, errors[-1]
        if (not bad and errors[-1] <= tolerance) or degree >= max_degree:
            return Fit(best or rational, np.array(errors), bool(smallest <= tolerance))
        place = np.argmax(residuals)
        support, values = np.append(support, points[place]), np.append(values, wanted[place])


def _used(rational: Barycentric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Support points, values and weights without those of weight 0."""
    used = rational.weights != 0.0
    return rational.support[used], rational.values[used], rational.weights[used]


def _eigenvalues(support: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The finite eigenvalues of the pencil (2)."""
    size = len(support)
    left = np.diag(np.concatenate([np.zeros(1), support]))
    left = left.astype(np.result_type(left, weights))
    left[0, 1:], left[1:, 0] = weights / np.abs(weights).max(), 1.0
    right = np.diag(np.append(np.zeros(1), np.ones(size)))
    with np.errstate(all="ignore"):
        found = eigvals(left, right)
    return found[np.abs(found) < FAR]


def _values(function: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
    """Values of the function, which must be finite."""
    values = np.asarray(function(points), dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("the function is not finite at a sample")
    return values


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
