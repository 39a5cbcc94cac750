"""Randomly pivoted Cholesky (Chen et al. 2022), and its acceleration by rejection sampling (Epperly et al. 2024)."""

from __future__ import annotations

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .sampling import draw, rejection
from .stream import Uniforms


def _trusted(residual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """The residual diagonal without what is negative or negligible, pivots included."""
    return np.where(residual > NEGLIGIBLE * diagonal, residual, 0.0)


def _diagonal(matrix: KernelMatrix, rank: int, block: int, tolerance: float) -> np.ndarray:
    """The diagonal of the matrix; ValueError for malformed arguments."""
    if rank < 0 or block < 1 or not tolerance >= 0.0:
        raise ValueError(f"rank {rank}, block {block} and tolerance {tolerance} must be at least 0, 1 and 0")
    diagonal = np.asarray(matrix.diagonal(), dtype=np.float64)
    if not (np.isfinite(diagonal).all() and (diagonal >= 0.0).all()):
        raise ValueError("a positive-semidefinite matrix has a finite diagonal without negative entries")
    return diagonal


def rpcholesky(matrix: KernelMatrix, rank: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """Randomly pivoted Cholesky, one pivot at a time, by equations (1) to (4)."""
    diagonal = _diagonal(matrix, rank, 1, tolerance)
    residual, factor = diagonal, np.zeros((matrix.size, 0))
    pivots: list[int] = []
    while len(pivots) < rank and residual.sum() > tolerance * diagonal.sum():
        pivot = int(draw(residual, stream.take(1))[0])
        column = matrix.columns(np.array([pivot]))[:, 0] - factor @ factor[pivot]
        factor = np.column_stack([factor, column / np.sqrt(column[pivot])])
        residual = _trusted(residual - factor[:, -1] ** 2, diagonal)
        pivots.append(pivot)
    return Approximation(factor, np.array(pivots, dtype=np.int64), residual, len(pivots), len(pivots))


def accelerated(matrix: KernelMatrix, rank: int, block: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    """The same distribution of pivots, from blocks of proposals some of which are rejected, by (5) to (7)."""
    diagonal = _diagonal(matrix, rank, block, tolerance)
    residual, factor = diagonal, np.zeros((matrix.size, 0))
    pivots = np.zeros(0, dtype=np.int64)
    rounds = 0
    while len(pivots) < rank and residual.sum() > tolerance * diagonal.sum():
        rounds += 1
        proposed = draw(residual, stream.take(block))
        left = matrix.block(proposed) - factor[proposed] @ factor[proposed].T
        accepted, triangle = rejection(left, stream.take(block), rank - len(pivots))
        chosen = proposed[accepted]
        columns = matrix.columns(chosen) - factor @ factor[chosen].T
        added = np.linalg.solve(triangle, columns.T).T
        factor = np.concatenate([factor, added], axis=1)
        residual = _trusted(residual - np.sum(added**2, axis=1), diagonal)
        pivots = np.concatenate([pivots, chosen])
    return Approximation(factor, pivots, residual, rounds, rounds * block)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
