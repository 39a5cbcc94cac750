"""Entropic optimal transport by Sinkhorn iterations in the log domain."""

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
    """Solve the dual problem by alternating updates of f and g, starting from g = 0.

    Each update is a soft minimum, taken in the log domain: exp(-cost / epsilon) itself underflows as soon
    as costs are large against epsilon. Raises ValueError for a malformed problem or no iterations.
    """
    problem = Problem.of(a, b, ground_cost, epsilon)
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
    log_a, log_b = log_weights(problem.a), log_weights(problem.b)
    score = -problem.ground_cost / problem.epsilon
    f, g = np.zeros_like(problem.a), np.zeros_like(problem.b)
    for iteration in range(1, max_iterations + 1):
        f = -problem.epsilon * logsumexp(score + g / problem.epsilon + log_b, axis=1)
        g = -problem.epsilon * logsumexp(score + f[:, None] / problem.epsilon + log_a[:, None], axis=0)
        # The update of g has just made the column sums exact; only the row sums can be off.
        log_plan = score + (f[:, None] + g) / problem.epsilon + log_a[:, None] + log_b
        error = float(np.abs(np.exp(log_plan).sum(axis=1) - problem.a).sum())
        dual = Potentials(f=f, g=g, iterations=iteration, error=error, converged=error <= tolerance)
        if dual.converged:
            break
    return dual


def transport_plan(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return the (n, m) plan that the potentials define; points without mass get exact zeros."""
    problem = Problem.of(a, b, ground_cost, epsilon)
    dual = potentials(a, b, ground_cost, epsilon, max_iterations, tolerance)
    exponent = (dual.f[:, None] + dual.g - problem.ground_cost) / problem.epsilon
    return np.exp(exponent + log_weights(problem.a)[:, None] + log_weights(problem.b))


def cost(
    a: np.ndarray,
    b: np.ndarray,
    ground_cost: np.ndarray,
    epsilon: float,
    max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> float:
    """Return what the plan pays, without the entropy: the Sinkhorn distance of the paper."""
    problem = Problem.of(a, b, ground_cost, epsilon)
    plan = transport_plan(a, b, ground_cost, epsilon, max_iterations, tolerance)
    used = plan > 0  # a forbidden pair carries no mass and must not give 0 * inf
    return float(np.sum(plan[used] * problem.ground_cost[used]))


def divergence(source: Measure, target: Measure, epsilon: float) -> float:
    """Return OT(source, target) - OT(source, source) / 2 - OT(target, target) / 2.

    OT is the regularised value, read off the dual, for the squared Euclidean ground cost.
    """

    def value(first: Measure, second: Measure) -> float:
        ground_cost = squared_euclidean(first.points, second.points)
        problem = Problem.of(first.weights, second.weights, ground_cost, epsilon)
        dual = potentials(first.weights, second.weights, ground_cost, epsilon)
        return float(problem.a @ dual.f + problem.b @ dual.g)

    return value(source, target) - 0.5 * (value(source, source) + value(target, target))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
