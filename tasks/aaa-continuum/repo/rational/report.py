"""The driver: how well functions are approximated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .continuum import aaa, evaluate, roots


def report(functions: dict[str, Callable], tolerance: float, max_degree: int, points: np.ndarray) -> dict[str, dict]:
    """Degree, number of iterations, largest error at `points`, and the distance of the nearest pole from [-1, 1]."""
    rows = {}
    for name, function in functions.items():
        fit = aaa(function, tolerance=tolerance, max_degree=max_degree)
        poles = roots(fit.rational).poles
        nearest = np.abs(poles - np.clip(poles.real, -1.0, 1.0)).min(initial=np.inf)
        rows[name] = {
            "degree": len(fit.rational.support) - 1,
            "iterations": len(fit.errors),
            "error": float(np.max(np.abs(evaluate(fit.rational, points) - function(points)))),
            "nearest": float(nearest),
            "converged": fit.converged,
        }
    return rows


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
