"""AAA on a continuum (Driscoll, Nakatsukasa and Trefethen, SIAM J. Sci. Comput. 2024)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigvals

from .results import Barycentric, Fit, Roots

FAR = 1e10  # larger eigenvalues are taken to be infinite
VANISHED = 1e-13  # relative size of a sum that is 0 but for rounding


def _used(rational: Barycentric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Support points, values and weights, without those of weight 0; the largest weight has the size 1."""
    support, values, weights = map(np.asarray, (rational.support, rational.values, rational.weights))
    used = weights != 0.0
    weights = weights[used]
    return support[used], values[used], weights / np.abs(weights).max()


def evaluate(rational: Barycentric, points: np.ndarray) -> np.ndarray:
    """Values of a rational function."""
    points = np.asarray(points)
    parts = (rational.support, rational.values, rational.weights, points)
    kind = np.complex128 if any(map(np.iscomplexobj, parts)) else np.float64
    support, values, weights = _used(rational)
    flat = points.astype(kind).ravel()
    result = np.full(flat.shape, np.nan, dtype=kind)

    with np.errstate(all="ignore"):
        infinite = np.isinf(flat)
        if infinite.any():
            result[infinite] = np.sum(weights * values) / np.sum(weights)
        finite = np.isfinite(flat)
        ways = flat[finite, None] - support
        sizes = np.abs(ways)
        nearest = np.argmin(sizes, axis=1)
        rows = np.arange(len(ways))
        exact = np.isinf(1.0 / sizes[rows, nearest])
        # both sums are multiplied by the shortest way, so that they do not overflow
        shares = weights * (np.where(exact, 1.0, ways[rows, nearest])[:, None] / np.where(exact[:, None], 1.0, ways))
        found = np.sum(shares * values, axis=1) / np.sum(shares, axis=1)
        result[finite] = np.where(exact, values[nearest], found)
    return result.reshape(points.shape)


def _pencil_roots(support: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The finite eigenvalues of (2) for weights that are not 0."""
    count = len(support)
    if count < 2:
        return np.zeros(0, dtype=np.complex128)
    center = support.mean() if np.iscomplexobj(support) else 0.5 * (support.min() + support.max())
    radius = np.abs(support - center).max()
    places = (support - center) / radius
    weights = weights / np.abs(weights).max()
    # the degree of the numerator of the sum falls by one for each leading moment that vanishes
    degree = count - 1
    powers = np.ones_like(places)
    while degree > 0 and abs(np.sum(weights * powers)) <= VANISHED * np.sum(np.abs(weights * powers)):
        degree -= 1
        powers = powers * places
    first = np.zeros((count + 1, count + 1), dtype=np.result_type(places, weights))
    first[0, 1:] = weights
    first[1:, 0] = 1.0
    first[1:, 1:] = np.diag(places)
    second = np.diag(np.append(0.0, np.ones(count)))
    with np.errstate(all="ignore"):
        found = eigvals(first, second).astype(np.complex128)
    found = found[np.isfinite(found)]
    found = found[np.argsort(np.abs(found), kind="stable")][:degree]
    found = center + radius * found
    return found[np.abs(found) <= FAR]


def roots(rational: Barycentric) -> Roots:
    """Poles, residues and zeros of a rational function."""
    support, values, weights = _used(rational)
    empty = np.zeros(0, dtype=np.complex128)
    if len(support) < 2:
        return Roots(empty, empty.copy(), empty.copy())
    poles = _pencil_roots(support, weights)
    with np.errstate(all="ignore"):
        ways = 1.0 / (poles[:, None] - support)
        residues = -np.sum(weights * values * ways, axis=1) / np.sum(weights * ways**2, axis=1)
    lasting = values != 0.0
    zeros = empty
    if lasting.any():
        inner = _pencil_roots(support[lasting], (weights * values)[lasting])
        zeros = np.concatenate([support[~lasting].astype(np.complex128), inner])
    return Roots(poles, residues.astype(np.complex128), zeros)


def samples(support: np.ndarray, count: int) -> np.ndarray:
    """Sample points between support points."""
    support = np.sort(np.asarray(support, dtype=np.float64))
    shares = np.arange(1, count + 1) / (count + 1)
    return (support[:-1, None] + np.diff(support)[:, None] * shares).ravel()


def aaa(function: Callable[[np.ndarray], np.ndarray], *, tolerance: float = 1e-13, max_degree: int = 40) -> Fit:
    """Rational approximation of a real function on [-1, 1]."""
    if max_degree < 1:
        raise ValueError(f"the largest degree must be at least 1, not {max_degree}")

    def values_at(points: np.ndarray) -> np.ndarray:
        values = np.array(function(points.copy()), dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("a value of the function is not finite")
        return values

    support = np.array([-1.0, 1.0])
    values = values_at(support)
    errors, best, smallest = [], None, np.inf
    while True:
        degree = len(support) - 1
        points = samples(support, max(3, 15 - degree))
        targets = values_at(points)
        if not errors and np.all(values == values[0]) and np.all(targets == values[0]):
            constant = Barycentric(np.array([-1.0]), values[:1].copy(), np.array([1.0]))
            return Fit(constant, np.array([0.0]), True)
        ways = points[:, None] - support
        apart = (ways != 0.0).all(axis=1)  # gaps of a few units in the last place have no room for samples
        loewner = (targets[apart, None] - values) / ways[apart]
        weights = np.linalg.svd(loewner, full_matrices=len(loewner) < len(support))[2][-1]
        rational = Barycentric(support.copy(), values.copy(), weights.copy())
        misses = np.abs(targets - evaluate(rational, points))
        misses = np.where(np.isnan(misses), np.inf, misses)
        worst = int(np.argmax(misses))
        size = max(np.abs(values).max(), np.abs(targets).max())
        error = float(misses[worst] / size) if misses[worst] > 0.0 else 0.0
        errors.append(error)
        poles = roots(rational).poles
        bad = bool(np.any((poles.imag == 0.0) & (np.abs(poles.real) <= 1.0)))
        if error <= tolerance and not bad:
            return Fit(rational, np.array(errors), True)
        if not bad and (best is None or error < smallest):
            best, smallest = rational, error
        if degree >= max_degree:
            return Fit(rational if best is None else best, np.array(errors), False)
        support, values = np.append(support, points[worst]), np.append(values, targets[worst])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
