"""Randomly pivoted Cholesky (Chen et al. 2022), and its acceleration by rejection sampling (Epperly et al. 2024)."""

from __future__ import annotations

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .stream import Uniforms

# Columns of the matrix that are computed at once: a kernel may need memory for each pair of points.
_COLUMNS = 16


def draw(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Indices `(m,)`, one for each of the given numbers, in proportion to the weights `(n,)`."""
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if weights.ndim != 1 or uniforms.ndim != 1:
        raise ValueError(f"weights {weights.shape} and numbers {uniforms.shape} must be vectors")
    if not np.all((weights >= 0.0) & (weights < np.inf)) or not np.any(weights > 0.0):
        raise ValueError("weights must be finite and not negative, and not all of them 0")
    if not np.all((uniforms >= 0.0) & (uniforms < 1.0)):
        raise ValueError("numbers must be in [0, 1)")
    # Tiny weights are enlarged by a power of 2, so that products with small numbers do not underflow.
    exponent = min(0, int(np.frexp(weights.max())[1]))
    with np.errstate(over="ignore"):
        sums = np.cumsum(np.ldexp(weights, -exponent))
    if not np.isfinite(sums[-1]):
        raise ValueError("the sum of the weights must be finite")
    return np.searchsorted(sums, uniforms * sums[-1], side="right").astype(np.int64)


def rejection(block: np.ndarray, uniforms: np.ndarray, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions that are accepted out of a block of proposals, and the Cholesky factor of their part of the block."""
    block = np.asarray(block, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if block.ndim != 2 or uniforms.ndim != 1 or block.shape != (len(uniforms), len(uniforms)):
        raise ValueError(f"the block {block.shape} must be a square with one row for each number {uniforms.shape}")
    size = len(uniforms)
    limit = size if limit is None else min(limit, size)
    # Rows and columns are brought to a size near 1 by powers of 2, which changes no digit.
    exponents = np.frexp(np.diagonal(block))[1].astype(np.int64) // 2
    scaled = np.ldexp(block, -(exponents[:, None] + exponents))
    diagonal = np.diagonal(scaled)
    columns = np.zeros((size, max(limit, 0)))
    accepted: list[int] = []
    for i in range(size):
        count = len(accepted)
        if count >= limit:
            break
        left = diagonal[i] - columns[i, :count] @ columns[i, :count]
        if uniforms[i] * diagonal[i] < left and left > NEGLIGIBLE * diagonal[i]:
            columns[:, count] = (scaled[:, i] - columns[:, :count] @ columns[i, :count]) / np.sqrt(left)
            columns[i, count] = np.sqrt(left)
            accepted.append(i)
    chosen = np.array(accepted, dtype=np.int64)
    factor = np.ldexp(np.tril(columns[chosen, : len(chosen)]), exponents[chosen, None])
    return chosen, factor


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
