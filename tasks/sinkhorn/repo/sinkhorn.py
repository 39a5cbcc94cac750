"""Entropic optimal transport by Sinkhorn iterations in the log domain."""

from __future__ import annotations

import numpy as np
from measures import Measure, squared_euclidean  # noqa: F401
from numerics import log_weights, logsumexp  # noqa: F401
from problem import Problem  # noqa: F401
from results import Potentials

MAX_ITERATIONS = 1_000
TOLERANCE = 1e-9


def potentials(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> Potentials:
    """Solve the dual problem by alternating updates of f and g."""
    raise NotImplementedError


def transport_plan(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return the (n, m) plan that the potentials define."""
    raise NotImplementedError


def cost(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> float:
    """Return what the plan pays: the Sinkhorn distance of the paper."""
    raise NotImplementedError


def divergence(source: Measure, target: Measure, epsilon: float) -> float:
    """Return the debiased Sinkhorn divergence of two measures."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
