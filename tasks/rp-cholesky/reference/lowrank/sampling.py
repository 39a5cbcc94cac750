"""Random choices of randomly pivoted Cholesky: pivots by weight, and the rejection of proposals."""

from __future__ import annotations

import numpy as np

from .results import NEGLIGIBLE


def draw(weights: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Indices `(m,)`, one for each of the given numbers, in proportion to the weights `(n,)`, by equation (4)."""
    weights, uniforms = np.asarray(weights, dtype=np.float64), np.asarray(uniforms, dtype=np.float64)
    if weights.ndim != 1 or uniforms.ndim != 1:
        raise ValueError(f"weights {weights.shape} and uniforms {uniforms.shape} must be vectors")
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and (weights > 0.0).any()):
        raise ValueError("weights must be finite, not negative, and not all zero")
    if not ((uniforms >= 0.0) & (uniforms < 1.0)).all():
        raise ValueError("uniform numbers must be in [0, 1)")
    sums = np.cumsum(weights)
    return np.searchsorted(sums, uniforms * sums[-1], side="right").astype(np.int64)


def rejection(block: np.ndarray, uniforms: np.ndarray, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positions that are accepted out of a block of proposals, and the Cholesky factor of their part of the block.

    A partial Cholesky decomposition without pivoting, which leaves out the rows and columns of what is rejected.
    """
    block, uniforms = np.asarray(block, dtype=np.float64), np.asarray(uniforms, dtype=np.float64)
    size = len(uniforms) if uniforms.ndim == 1 else -1
    if block.shape != (size, size):
        raise ValueError(f"block {block.shape} must be square, with a row for each of the numbers {uniforms.shape}")
    proposed = np.diag(block)
    residual = proposed
    columns = np.zeros((size, size))
    accepted: list[int] = []
    for i in range(size):
        if len(accepted) == limit:
            break
        if residual[i] > max(uniforms[i] * proposed[i], NEGLIGIBLE * proposed[i]):
            known = columns[:, : len(accepted)]
            column = (block[:, i] - known @ known[i]) / np.sqrt(residual[i])
            columns[:, len(accepted)] = column
            residual = residual - column**2
            accepted.append(i)
    return np.array(accepted, dtype=np.int64), np.tril(columns[accepted, : len(accepted)])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
