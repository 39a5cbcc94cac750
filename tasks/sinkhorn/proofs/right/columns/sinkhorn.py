"""Entropic optimal transport by Sinkhorn iterations in the log domain."""

from __future__ import annotations

from itertools import count

import numpy as np
from measures import Measure, squared_euclidean
from numerics import log_weights, logsumexp
from problem import Problem
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
    return _solve(Problem.of(a, b, ground_cost, epsilon), max_iterations, tolerance)[0]


def transport_plan(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return the (n, m) plan that the potentials define."""
    return _solve(Problem.of(a, b, ground_cost, epsilon), max_iterations, tolerance)[1]


def cost(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> float:
    """Return what the plan pays: the Sinkhorn distance of the paper."""
    problem = Problem.of(a, b, ground_cost, epsilon)
    plan = _solve(problem, max_iterations, tolerance)[1]
    used = plan > 0.0
    return float(plan[used] @ problem.ground_cost[used])


def divergence(source: Measure, target: Measure, epsilon: float) -> float:
    """Return the debiased Sinkhorn divergence of two measures."""
    for name, measure in (("source", source), ("target", target)):
        if np.ndim(measure.points) != 2 or not np.isfinite(measure.points).all():
            raise ValueError(f"the points of the {name} must be a finite matrix")
    if np.shape(source.points)[1] != np.shape(target.points)[1]:
        raise ValueError("the points of the measures lie in spaces of different dimensions")
    across = _regularised(source, target, epsilon)
    return across - 0.5 * (_regularised(source, source, epsilon) + _regularised(target, target, epsilon))


def _regularised(source: Measure, target: Measure, epsilon: float) -> float:
    """The value of (1), by way of (6)."""
    ground_cost = squared_euclidean(source.points, target.points)
    problem = Problem.of(source.weights, target.weights, ground_cost, epsilon)
    solution, _ = _solve(problem, MAX_ITERATIONS, TOLERANCE)
    return float(problem.a @ solution.f + problem.b @ solution.g)


def _solve(problem: Problem, max_iterations: int, tolerance: float) -> tuple[Potentials, np.ndarray]:
    """The potentials, and the plan that goes with them."""
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
    g = np.zeros(problem.b.size)
    for iteration in count(1):
        f, _ = _soft_minimum(problem.ground_cost - g, problem.b, problem.epsilon)
        g, shares = _soft_minimum(problem.ground_cost.T - f, problem.a, problem.epsilon)
        # With the g of (5), the exponential and a_i in (3) make up the share of row i in column j.
        plan = shares.T * problem.b
        error = float(np.abs(plan.sum(axis=1) - problem.a).sum())
        if error <= tolerance or iteration >= max_iterations:
            break
    return Potentials(f=f, g=g, iterations=iteration, error=error, converged=bool(error <= tolerance)), plan


def _soft_minimum(values: np.ndarray, weights: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """-epsilon log sum_k weights_k exp(-values_k / epsilon) of every row, and the share of each term in its sum.

    The least value that has weight is taken out before anything is divided by epsilon, so that a quotient may be as
    large as it likes. What has no weight plays no part, whatever its value.
    """
    values = np.where(weights > 0.0, values, np.inf)
    least = np.min(values, axis=1)
    with np.errstate(over="ignore"):
        exponents = log_weights(weights) - (values - least[:, None]) / epsilon
    total = logsumexp(exponents, axis=1)
    return least - epsilon * total, np.exp(exponents - total[:, None])

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
