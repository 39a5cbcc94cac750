"""One point and one support point at a time."""

import cmath
import math

import numpy as np
from scipy.linalg import eig

from .results import Barycentric, Fit, Roots


def _rows(rational):
    rows = zip(rational.support.tolist(), rational.values.tolist(), rational.weights.tolist(), strict=True)
    return [row for row in rows if row[2] != 0]


def _value(rows, x):
    if cmath.isnan(x):
        return math.nan
    if cmath.isinf(x):
        return sum(f * w for _, f, w in rows) / sum(w for _, _, w in rows)
    above, below = 0.0, 0.0
    for z, f, w in rows:
        if abs(x - z) < 1e-300:
            return f
        above, below = above + w * f / (x - z), below + w / (x - z)
    return above / below


def evaluate(rational, points):
    rows, given = _rows(rational), np.asarray(points)
    kind = complex if any(map(np.iscomplexobj, (given, rational.support, rational.values, rational.weights))) else float
    found = [_value(rows, kind(x)) for x in given.ravel().tolist()]
    return np.array(found, dtype=kind).reshape(given.shape)


def _solve(rows, weights):
    size = len(rows) + 1
    a, b = np.zeros((size, size), dtype=complex), np.eye(size)
    b[0, 0] = 0.0
    for k, (row, weight) in enumerate(zip(rows, weights, strict=True), 1):
        a[0, k], a[k, 0], a[k, k] = weight / max(map(abs, weights)), 1.0, row[0]
    a = a if np.any(a.imag) else a.real
    alpha, beta = eig(a, b, right=False, homogeneous_eigvals=True)
    keep = [k for k in range(size) if abs(beta[k]) * 1e10 > abs(alpha[k])]
    return np.array([alpha[k] / beta[k] for k in keep], dtype=complex)


def roots(rational):
    rows = _rows(rational)
    poles = _solve(rows, [w for _, _, w in rows])
    residues = [
        -sum(w * f / (p - z) for z, f, w in rows) / sum(w / (p - z) ** 2 for z, f, w in rows) for p in poles.tolist()
    ]
    zeros = _solve(rows, [w * f for _, f, w in rows]) if any(f for _, f, _ in rows) else []
    return Roots(poles, np.array(residues, dtype=complex), np.array(zeros, dtype=complex))


def samples(support, count):
    ordered = sorted(float(z) for z in support)
    found = []
    for left, right in zip(ordered, ordered[1:]):  # noqa: B905
        found += [((count + 1 - i) * left + i * right) / (count + 1) for i in range(1, count + 1)]
    return np.array(found, dtype=float)


def aaa(function, *, tolerance=1e-13, max_degree=40):
    if max_degree < 1:
        raise ValueError("max_degree")

    def call(points):
        found = np.array(function(np.array(points, dtype=float)), dtype=float)
        if not np.isfinite(found).all():
            raise ValueError("values are not finite")
        return found

    z, f, history = [-1.0, 1.0], call([-1.0, 1.0]).tolist(), []
    for degree in range(1, max_degree + 1):
        x = samples(z, max(3, 15 - degree))
        y = call(x)
        if degree == 1 and len({*f, *y.tolist()}) == 1:
            return Fit(Barycentric(np.array([-1.0]), np.array(f[:1]), np.array([1.0])), np.array([0.0]), True)
        matrix = np.array([[(b - v) / (a - s) for s, v in zip(z, f, strict=True)] for a, b in zip(x, y, strict=True)])
        rational = Barycentric(np.array(z), np.array(f), np.linalg.svd(matrix)[2][-1])
        gap = np.abs(y - evaluate(rational, x))
        error = float(gap.max()) / max(map(abs, [*f, *y.tolist()]))
        rows = _rows(rational)
        bad = any(p.imag == 0 and -1 <= p.real <= 1 for p in _solve(rows, [row[2] for row in rows]))
        history.append((error, bad, rational))
        if error <= tolerance and not bad:
            return Fit(rational, np.array([each[0] for each in history]), True)
        z.append(float(x[gap.argmax()]))
        f.append(float(y[gap.argmax()]))
    good = [each for each in history if not each[1]] or history[-1:]
    best = min(good, key=lambda each: each[0])
    return Fit(best[2], np.array([each[0] for each in history]), False)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
