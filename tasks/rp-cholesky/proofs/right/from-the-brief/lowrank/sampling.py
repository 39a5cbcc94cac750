"""Random choices of randomly pivoted Cholesky: pivots by weight, and the rejection of proposals."""

from __future__ import annotations

import numpy as np

from .results import NEGLIGIBLE


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


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
