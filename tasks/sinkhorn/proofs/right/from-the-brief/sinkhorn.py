"""Entropic optimal transport by Sinkhorn iterations in the log domain (Cuturi, 2013)."""

from __future__ import annotations

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
    """Solve the dual problem by alternating updates of f and g, from g = 0.

    Raises ValueError for malformed data and for `max_iterations` below one.
    """
    return _solve(Problem.of(a, b, ground_cost, epsilon), max_iterations, tolerance)


def transport_plan(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return the (n, m) plan that the potentials define."""
    problem = Problem.of(a, b, ground_cost, epsilon)
    solution = _solve(problem, max_iterations, tolerance)
    return _plan(problem, solution.f, solution.g)


def cost(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> float:
    """Return what the plan pays: the Sinkhorn distance of the paper, without the entropy."""
    problem = Problem.of(a, b, ground_cost, epsilon)
    solution = _solve(problem, max_iterations, tolerance)
    allowed = np.isfinite(problem.ground_cost)
    plan = _plan(problem, solution.f, solution.g)
    return float(np.sum(plan[allowed] * problem.ground_cost[allowed]))


def divergence(source: Measure, target: Measure, epsilon: float) -> float:
    """Return the debiased Sinkhorn divergence of two measures, for the squared Euclidean cost."""
    if _points(source).shape[1] != _points(target).shape[1]:
        raise ValueError("the points of the two measures have different dimensions")
    across = _regularised_value(source, target, epsilon)
    within_source = _regularised_value(source, source, epsilon)
    within_target = _regularised_value(target, target, epsilon)
    return across - 0.5 * within_source - 0.5 * within_target


def _solve(problem: Problem, max_iterations: int, tolerance: float) -> Potentials:
    """Alternate (4) and (5) until the row sums fit or the iterations run out."""
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
    g = np.zeros_like(problem.b)
    for iteration in range(1, max_iterations + 1):
        f = _soft_minimum(problem.ground_cost - g, problem.b, problem.epsilon)
        g = _soft_minimum(problem.ground_cost.T - f, problem.a, problem.epsilon)
        error = float(np.abs(_plan(problem, f, g).sum(axis=1) - problem.a).sum())
        if error <= tolerance:
            break
    return Potentials(f=f, g=g, iterations=iteration, error=error, converged=bool(error <= tolerance))


def _soft_minimum(prices: np.ndarray, weights: np.ndarray, epsilon: float) -> np.ndarray:
    """Return -epsilon log sum_j weights_j exp(-prices_ij / epsilon) for every row i.

    Columns without weight are left out, and the lowest price of a row is taken out of the logarithm before it is
    divided by epsilon; then no quotient can overflow but those whose exponential is zero anyway.
    """
    weighted = weights > 0
    prices = prices[:, weighted]
    lowest = prices.min(axis=1)
    with np.errstate(over="ignore"):
        exponents = (lowest[:, None] - prices) / epsilon
    return lowest - epsilon * logsumexp(exponents + log_weights(weights[weighted]), axis=1)


def _plan(problem: Problem, f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the plan (3) of two potentials, exactly zero where there is no mass or the pair is forbidden."""
    with np.errstate(over="ignore"):
        exponents = (f[:, None] + g - problem.ground_cost) / problem.epsilon
    log_product = log_weights(problem.a)[:, None] + log_weights(problem.b)
    massive = np.isfinite(log_product)
    # An exponent of a bin without mass may be any number: it is not added, lest it outweigh log(0).
    return np.exp(np.where(massive, exponents, 0.0) + log_product)


def _regularised_value(source: Measure, target: Measure, epsilon: float) -> float:
    """Return the value (6) of the regularised problem between two measures."""
    ground_cost = squared_euclidean(_points(source), _points(target))
    problem = Problem.of(source.weights, target.weights, ground_cost, epsilon)
    solution = _solve(problem, MAX_ITERATIONS, TOLERANCE)
    return float(problem.a @ solution.f + problem.b @ solution.g)


def _points(measure: Measure) -> np.ndarray:
    """Return the points of a measure as (n, d) float64. Raises ValueError where that is impossible."""
    points = np.asarray(measure.points, dtype=np.float64)
    if points.ndim != 2 or not np.isfinite(points).all():
        raise ValueError("points must be a finite (n, d) array")
    return points
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
