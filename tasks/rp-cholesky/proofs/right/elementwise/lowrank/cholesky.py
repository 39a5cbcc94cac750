"""Randomly pivoted Cholesky, entry by entry and column by column."""

import bisect
import math

import numpy as np

from .results import NEGLIGIBLE, Approximation


def draw(weights, uniforms):
    weights, uniforms = np.array(weights, dtype=float), np.array(uniforms, dtype=float)
    if weights.ndim != 1 or uniforms.ndim != 1:
        raise ValueError("vectors, please")
    if not all(math.isfinite(w) and w >= 0 for w in weights) or not any(weights):
        raise ValueError("no weights to draw from")
    if not all(0 <= u < 1 for u in uniforms):
        raise ValueError("numbers must be at least 0 and below 1")
    sums, total = [], 0.0
    for weight in weights.tolist():
        total += weight
        sums.append(total)
    return np.array([bisect.bisect_right(sums, u * total) for u in uniforms.tolist()], dtype=np.int64)


def rejection(block, uniforms, limit=None):
    block, uniforms = np.array(block, dtype=float), np.array(uniforms, dtype=float)
    if uniforms.ndim != 1 or block.shape != (uniforms.size, uniforms.size):
        raise ValueError("a square with a row for each number")
    limit = uniforms.size if limit is None else limit
    accepted, rows = [], []
    for i, u in enumerate(uniforms.tolist()):
        if len(accepted) >= limit:
            return _result(accepted, rows)
        row = []  # of the factor: forward substitution with the rows so far
        for j, other in zip(accepted, rows, strict=True):
            known = sum(a * b for a, b in zip(row, other, strict=False))
            row.append((block[i, j] - known) / other[-1])
        left = block[i, i] - sum(a * a for a in row)
        if u * block[i, i] < left and left > NEGLIGIBLE * block[i, i]:
            accepted.append(i)
            rows.append([*row, math.sqrt(left)])
    return _result(accepted, rows)


def _result(accepted, rows):
    factor = np.zeros((len(rows), len(rows)))
    for i, row in enumerate(rows):
        factor[i, : i + 1] = row
    return np.array(accepted, dtype=np.int64), factor


class _Partial:
    """A decomposition that grows by a pivot at a time."""

    def __init__(self, matrix, tolerance):
        self.diagonal = np.array(matrix.diagonal(), dtype=float)
        if not np.isfinite(self.diagonal).all() or (self.diagonal < 0).any() or tolerance < 0:
            raise ValueError("not semidefinite, or a negative tolerance")
        self.left, self.columns, self.pivots = self.diagonal.copy(), [], []
        self.bound = tolerance * self.diagonal.sum()

    def done(self, rank):
        return len(self.pivots) == rank or self.left.sum() <= self.bound

    def append(self, pivot, column):
        column = np.array(column, dtype=float)
        for known in self.columns:
            column -= known * known[pivot]
        column /= math.sqrt(column[pivot])
        self.columns.append(column)
        self.pivots.append(int(pivot))
        self.left -= column**2

    def forget_what_is_negligible(self):
        self.left[self.left <= NEGLIGIBLE * self.diagonal] = 0.0

    def result(self, rounds, proposals):
        factor = np.array(self.columns).T if self.columns else np.zeros((len(self.left), 0))
        return Approximation(factor, np.array(self.pivots, dtype=np.int64), self.left, rounds, proposals)


def rpcholesky(matrix, rank, stream, tolerance=0.0):
    if rank < 0:
        raise ValueError("negative rank")
    partial = _Partial(matrix, tolerance)
    while not partial.done(rank):
        (pivot,) = draw(partial.left, stream.take(1))
        partial.append(pivot, matrix.columns(np.array([pivot]))[:, 0])
        partial.forget_what_is_negligible()
    return partial.result(len(partial.pivots), len(partial.pivots))


def accelerated(matrix, rank, block, stream, tolerance=0.0):
    if rank < 0 or block < 1:
        raise ValueError("negative rank, or no proposals")
    partial, rounds = _Partial(matrix, tolerance), 0
    while not partial.done(rank):
        rounds += 1
        proposed = draw(partial.left, stream.take(block))
        known = np.array([column[proposed] for column in partial.columns]).reshape(-1, block)
        accepted, _ = rejection(matrix.block(proposed) - known.T @ known, stream.take(block), rank - len(partial.pivots))
        pivots = proposed[accepted]
        for pivot, column in zip(pivots, matrix.columns(pivots).T, strict=True):
            partial.append(pivot, column)
        partial.forget_what_is_negligible()
    return partial.result(rounds, rounds * block)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
