"""Randomly pivoted Cholesky in rounds: a step is a round of one proposal, whose block is known."""

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .sampling import draw, rejection
from .stream import Uniforms


def rpcholesky(matrix: KernelMatrix, rank: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    return _run(matrix, rank, None, stream, tolerance)


def accelerated(matrix: KernelMatrix, rank: int, block: int, stream: Uniforms, tolerance: float = 0.0) -> Approximation:
    return _run(matrix, rank, block, stream, tolerance)


def _run(matrix, rank, block, stream, tolerance):
    """Rounds of `block` proposals, or steps of a pivot each, whose block is known already: what is left of it."""
    size = 1 if block is None else block
    if min(rank, tolerance) < 0 or size < 1:
        raise ValueError("rank, tolerance or block")
    original = np.array(matrix.diagonal(), dtype=np.float64)
    if not ((original >= 0) & (original < np.inf)).all():
        raise ValueError("the diagonal of no semidefinite matrix")
    factor = np.zeros((matrix.size, min(rank, matrix.size)))
    pivots = np.zeros(0, dtype=np.int64)
    left, rounds = original.copy(), 0
    while pivots.size < rank and np.sum(left) > tolerance * np.sum(original):
        proposed = draw(left, stream.take(size))
        if block is None:
            accepted, triangle = rejection(left[proposed][:, None], np.zeros(1))
        else:
            here = factor[proposed]
            inner = matrix.block(proposed) - here @ here.T
            accepted, triangle = rejection(inner, stream.take(block), rank - pivots.size)
        new = proposed[accepted]
        columns = matrix.columns(new) - factor @ factor[new].T
        for j in range(new.size):  # back substitution
            columns[:, j] = (columns[:, j] - columns[:, :j] @ triangle[j, :j]) / triangle[j, j]
        factor[:, pivots.size : pivots.size + new.size] = columns
        left = left - np.einsum("ij,ij->i", columns, columns)
        left[left <= NEGLIGIBLE * original] = 0
        pivots, rounds = np.append(pivots, new), rounds + 1
    return Approximation(factor[:, : pivots.size], pivots, left, rounds, rounds * size)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
