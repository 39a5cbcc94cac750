"""Entropic optimal transport, bin by bin with Python's own loops and math.fsum."""

import math

import numpy as np
from measures import squared_euclidean
from problem import Problem
from results import Potentials

MAX_ITERATIONS = 1_000
TOLERANCE = 1e-9


def _soft_minimum(weights, values, epsilon):
    """-epsilon log sum_i weights[i] exp(values[i] / epsilon)."""
    terms = [math.log(w) + v / epsilon for w, v in zip(weights, values, strict=True) if w > 0 and v > -math.inf]
    peak = max(terms)
    return -epsilon * (peak + math.log(math.fsum(math.exp(term - peak) for term in terms)))


def _entries(problem, f, g):
    rows = []
    for i, a in enumerate(problem.a):
        row = []
        for j, b in enumerate(problem.b):
            c = problem.ground_cost[i, j]
            if a == 0 or b == 0 or math.isinf(c):
                row.append(0.0)
            else:
                row.append(math.exp(math.log(a) + math.log(b) + (f[i] + g[j] - c) / problem.epsilon))
        rows.append(row)
    return rows


def _solve(problem, max_iterations, tolerance):
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
    n, m = problem.ground_cost.shape
    c = problem.ground_cost
    f, g = [0.0] * n, [0.0] * m
    done = 0
    while True:
        f = [_soft_minimum(problem.b, [g[j] - c[i, j] for j in range(m)], problem.epsilon) for i in range(n)]
        g = [_soft_minimum(problem.a, [f[i] - c[i, j] for i in range(n)], problem.epsilon) for j in range(m)]
        done += 1
        plan = _entries(problem, f, g)
        error = math.fsum(abs(math.fsum(row) - a) for row, a in zip(plan, problem.a, strict=True))
        if error <= tolerance or done >= max_iterations:
            break
    return f, g, done, float(error), plan


def potentials(a, b, ground_cost, epsilon, max_iterations=MAX_ITERATIONS, tolerance=TOLERANCE):
    f, g, done, error, _ = _solve(Problem.of(a, b, ground_cost, epsilon), max_iterations, tolerance)
    return Potentials(
        f=np.array(f, dtype=np.float64),
        g=np.array(g, dtype=np.float64),
        iterations=done,
        error=error,
        converged=bool(error <= tolerance),
    )


def transport_plan(a, b, ground_cost, epsilon, max_iterations=MAX_ITERATIONS, tolerance=TOLERANCE):
    *_, plan = _solve(Problem.of(a, b, ground_cost, epsilon), max_iterations, tolerance)
    return np.array(plan, dtype=np.float64)


def cost(a, b, ground_cost, epsilon, max_iterations=MAX_ITERATIONS, tolerance=TOLERANCE):
    problem = Problem.of(a, b, ground_cost, epsilon)
    *_, plan = _solve(problem, max_iterations, tolerance)
    return float(
        math.fsum(
            mass * problem.ground_cost[i, j] for i, row in enumerate(plan) for j, mass in enumerate(row) if mass > 0.0
        )
    )


def divergence(source, target, epsilon):
    def regularised(first, second):
        found = potentials(first.weights, second.weights, squared_euclidean(first.points, second.points), epsilon)
        a = np.asarray(first.weights, dtype=np.float64)
        b = np.asarray(second.weights, dtype=np.float64)
        return float(np.dot(a / a.sum(), found.f) + np.dot(b / b.sum(), found.g))

    between = regularised(source, target)
    return between - 0.5 * regularised(source, source) - 0.5 * regularised(target, target)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
