"""Randomly pivoted Cholesky, column by column."""

import math

import numpy as np

from .results import NEGLIGIBLE, Approximation
from .sampling import draw, rejection


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
