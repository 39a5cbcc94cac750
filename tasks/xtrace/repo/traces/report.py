"""The driver: the trace of a matrix within a budget of products."""

from __future__ import annotations

import numpy as np

from .exchangeable import xnystrace, xtrace
from .operators import Operator
from .vectors import gaussian, signs


def report(matrix: np.ndarray, budget: int, seed: int, semidefinite: bool = False) -> dict[str, dict[str, float]]:
    """Estimates from at most `budget` products with vectors, by the kind of test vectors."""
    rows = {}
    for name, draw in (("gaussian", gaussian), ("signs", signs)):
        operator, rng = Operator(matrix), np.random.default_rng(seed)
        method, count = (xnystrace, budget) if semidefinite else (xtrace, budget // 2)
        found = method(operator, draw(rng, operator.size, count), normalise=name == "gaussian")
        rows[name] = {"trace": found.trace, "error": found.error, "products": operator.products}
    return rows


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
