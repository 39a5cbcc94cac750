"""Randomly pivoted Cholesky by elimination: what is left of a matrix is updated in place."""

import numpy as np

from .matrices import KernelMatrix
from .results import NEGLIGIBLE, Approximation
from .stream import Uniforms


def draw(weights, uniforms) -> np.ndarray:
    weights = np.asarray(weights, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    legal = weights.ndim == uniforms.ndim == 1 and weights.size > 0
    if not (legal and np.isfinite(weights).all() and weights.min() >= 0 and weights.max() > 0):
        raise ValueError("weights must be a vector of finite numbers of at least 0, not all 0")
    if np.isnan(uniforms).any() or (uniforms < 0).any() or (uniforms >= 1).any():
        raise ValueError("numbers must be in [0, 1)")
    sums = weights.cumsum()
    beyond = sums[None, :] > (uniforms * sums[-1])[:, None] if sums.size * uniforms.size < 10**6 else None
    if beyond is not None:
        return beyond.argmax(axis=1).astype(np.int64)
    return np.array([np.argmax(sums > u * sums[-1]) for u in uniforms], dtype=np.int64)


def rejection(block, uniforms, limit=None):
    left = np.array(block, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    if uniforms.ndim != 1 or left.shape != uniforms.shape * 2:
        raise ValueError(f"{left.shape} {uniforms.shape}")
    original = left.copy()
    chosen = np.zeros(0, dtype=np.int64)
    for i, threshold in enumerate(np.maximum(uniforms, NEGLIGIBLE) * left.diagonal()):
        if limit is not None and chosen.size >= limit:
            break
        if left[i, i] > threshold:
            left -= np.outer(left[:, i], left[i]) / left[i, i]
            chosen = np.append(chosen, i)
    inside = original[np.ix_(chosen, chosen)]
    scale = np.sqrt(inside.diagonal())  # a matrix of ones on the diagonal is of no extreme size
    return chosen, scale[:, None] * np.linalg.cholesky(inside / np.outer(scale, scale))


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
