"""An entropic transport problem, checked once so that solvers need not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """Move histogram `a` onto histogram `b`. All arrays are float64; make one with `Problem.of`."""

    a: np.ndarray  # (n,), sums to one
    b: np.ndarray  # (m,), sums to one
    ground_cost: np.ndarray  # (n, m); +inf forbids a pair
    epsilon: float

    @classmethod
    def of(cls, a, b, ground_cost, epsilon) -> Problem:
        """Convert to float64 and check. Raises ValueError with what is wrong."""
        a, b = _histogram(a, "a"), _histogram(b, "b")
        ground_cost = np.array(ground_cost, dtype=np.float64)
        if ground_cost.shape != (a.size, b.size):
            raise ValueError(f"ground_cost has shape {ground_cost.shape}, expected {(a.size, b.size)}")
        if np.isnan(ground_cost).any() or np.isneginf(ground_cost).any():
            raise ValueError("ground_cost holds NaN or -inf")
        allowed = np.isfinite(ground_cost)
        if not (allowed[:, b > 0].any(axis=1).all() and allowed[a > 0, :].any(axis=0).all()):
            raise ValueError("ground_cost forbids a point every partner that has mass")
        if not (np.isfinite(epsilon) and epsilon > 0):
            raise ValueError(f"epsilon must be positive and finite, not {epsilon}")
        return cls(a=a, b=b, ground_cost=ground_cost, epsilon=float(epsilon))


def _histogram(weights, name: str) -> np.ndarray:
    weights = np.array(weights, dtype=np.float64)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"{name} must be a non-empty vector, not of shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} holds a negative or non-finite weight")
    if abs(weights.sum() - 1.0) > 1e-6:
        raise ValueError(f"{name} sums to {weights.sum()}, not to one")
    return weights / weights.sum()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
