"""Randomly pivoted Cholesky (Chen et al. 2022), and its acceleration by rejection sampling (Epperly et al. 2024)."""

from __future__ import annotations

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .sampling import draw, rejection
from .stream import Uniforms

# Columns of the matrix that are computed at once: a kernel may need memory for each pair of points.
_COLUMNS = 16


class _Partial:
    """A decomposition that grows. Numbers are those of the matrix times 4**-half, which keeps them in range."""

    def __init__(self, matrix: KernelMatrix, rank: int, tolerance: float) -> None:
        if rank < 0 or not tolerance >= 0.0:
            raise ValueError(f"rank and tolerance must not be negative, as {rank} and {tolerance} are")
        diagonal = np.array(matrix.diagonal(), dtype=np.float64)
        if not np.all((diagonal >= 0.0) & (diagonal < np.inf)):
            raise ValueError("the diagonal must be finite and not negative")
        exponent = int(np.frexp(diagonal.max())[1]) if diagonal.size else 0
        self.half = exponent // 2 if exponent < 0 else max(0, exponent - 400) // 2
        self.matrix, self.rank = matrix, rank
        self.diagonal = self._scaled(diagonal)
        self.rest = self.diagonal.copy()
        self.enough = tolerance * self.diagonal.sum()
        self.pivots: list[int] = []
        self._rows = np.zeros((min(rank, len(diagonal), 64), len(diagonal)))  # the factor, transposed

    def _scaled(self, entries: np.ndarray) -> np.ndarray:
        return np.ldexp(np.asarray(entries, dtype=np.float64), -2 * self.half)

    @property
    def rows(self) -> np.ndarray:
        return self._rows[: len(self.pivots)]

    def done(self) -> bool:
        return len(self.pivots) >= self.rank or bool(self.rest.sum() <= self.enough)

    def residual_block(self, indices: np.ndarray) -> np.ndarray:
        """Equation (5)."""
        part = self.rows[:, indices]
        return self._scaled(self.matrix.block(indices)) - part.T @ part

    def append(self, pivots: np.ndarray, triangle: np.ndarray) -> None:
        """Equations (7) and (3), and what is negligible becomes 0."""
        old, new = len(self.pivots), len(self.pivots) + len(pivots)
        if new > len(self._rows):
            larger = np.zeros((min(self.rank, max(new, 2 * len(self._rows))), self._rows.shape[1]))
            larger[:old] = self.rows
            self._rows = larger
        fresh = self._rows[old:new]
        for start in range(0, len(pivots), _COLUMNS):
            part = pivots[start : start + _COLUMNS]
            columns = self._scaled(self.matrix.columns(part)).T
            fresh[start : start + len(part)] = columns - self.rows[:, part].T @ self.rows
        for j, pivot in enumerate(pivots):
            fresh[j] = (fresh[j] - triangle[j, :j] @ fresh[:j]) / triangle[j, j]
            fresh[j, self.pivots] = 0.0  # agreement is exact there already
            self.pivots.append(int(pivot))
        self.rest -= np.sum(fresh**2, axis=0)
        self.rest[self.rest <= NEGLIGIBLE * self.diagonal] = 0.0
        self.rest[self.pivots] = 0.0

    def result(self, rounds: int, proposals: int) -> Approximation:
        return Approximation(
            factor=np.ldexp(np.ascontiguousarray(self.rows.T), self.half),
            pivots=np.array(self.pivots, dtype=np.int64),
            residual=np.ldexp(self.rest, 2 * self.half),
            rounds=rounds,
            proposals=proposals,
        )


def rpcholesky(matrix: KernelMatrix, rank: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """Randomly pivoted Cholesky, one pivot at a time."""
    partial = _Partial(matrix, rank, tolerance)
    while not partial.done():
        pivot = draw(partial.rest, stream.take(1))
        partial.append(pivot, np.sqrt(partial.rest[pivot])[:, None])
    count = len(partial.pivots)
    return partial.result(count, count)


def accelerated(matrix: KernelMatrix, rank: int, block: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """The same distribution of pivots, from blocks of proposals some of which are rejected."""
    if block < 1:
        raise ValueError(f"a block has at least one proposal, not {block}")
    partial = _Partial(matrix, rank, tolerance)
    rounds = 0
    while not partial.done():
        proposals = draw(partial.rest, stream.take(block))
        numbers = stream.take(block)
        accepted, triangle = rejection(
            partial.residual_block(proposals), numbers, limit=rank - len(partial.pivots)
        )
        partial.append(proposals[accepted], triangle)
        rounds += 1
    return partial.result(rounds, rounds * int(block))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
