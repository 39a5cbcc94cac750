"""Exchangeable estimators of a trace (Epperly, Tropp and Webber, SIAM J. Matrix Anal. Appl. 2024)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from .operators import Operator
from .results import Estimate
from .vectors import checked

TOLERANCE = 1e-12


def leave_one_out(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q `(N, r)` and S `(r, k)` of equation (3) for `(N, k)` images of rank r; s_i = 0 where no direction is lost.

    With Y = Q D V^T, the vector s_i is orthogonal to D v_j for all rows v_j of V but v_i. In the coordinates of Q,
    this is V^T e_i divided by D, if e_i is in the range of V: otherwise the rows without v_i still span everything.
    """
    images = np.asarray(images, dtype=np.float64)
    basis, values, rows = np.linalg.svd(images, full_matrices=False)
    rank = np.count_nonzero(values > TOLERANCE * values.max())
    rows = rows[:rank]
    needed = np.sum(rows**2, axis=0) > 1.0 - TOLERANCE
    lost = rows / values[:rank, None]
    length = np.linalg.norm(lost, axis=0)
    return basis[:, :rank], np.where(needed, lost / np.where(needed, length, 1.0), 0.0)


def xtrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True) -> Estimate:
    """Equations (2) to (6) from 2 k products at most."""
    vectors = checked(vectors, operator.size)
    images = operator.apply(vectors)
    basis, lost = leave_one_out(images)
    basis_images = operator.apply(basis)
    inner = basis.T @ basis_images
    samples = np.trace(inner) - np.sum(lost * (inner @ lost), axis=0)
    inside = basis.T @ vectors
    inside -= lost * np.sum(lost * inside, axis=0)  # the coordinates of P_i w_i
    outside = vectors - basis @ inside
    rest = np.sum(outside * (images - basis_images @ inside), axis=0)
    free = operator.size - basis.shape[1] + lost.any(axis=0)
    if normalise:
        rest = rest * free / np.where(free > 0, np.sum(outside**2, axis=0), 1.0)
    return _estimate(samples + rest)


def xnystrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True, shift: float = 1e-10) -> Estimate:
    """Equations (8) to (10) for A + nu I with nu = shift |Y|_F / sqrt(N), from k products."""
    vectors = checked(vectors, operator.size)
    size, count = vectors.shape
    if count > size:
        raise ValueError(f"{count} vectors in {size} dimensions are not independent")
    images = operator.apply(vectors)
    if not images.any():
        return _estimate(np.zeros(count))
    nu = shift * np.linalg.norm(images) / np.sqrt(size)
    images = images + nu * vectors
    inner = vectors.T @ images
    half, inverse_diagonal = _triangular(0.5 * (inner + inner.T))
    root = half @ images.T  # the square of this, root^T root, is the Nystrom approximation
    samples = np.sum(root**2) - np.sum((half.T @ root) ** 2, axis=1) / inverse_diagonal - nu * size
    factor = (size - count + 1) * _triangular(vectors.T @ vectors)[1] if normalise else 1.0
    return _estimate(samples + factor / inverse_diagonal)


def _triangular(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of the lower Cholesky factor, and the diagonal of the inverse matrix."""
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:  # a ValueError only in newer versions
        raise ValueError("the inner products are not positive definite") from error
    half = solve_triangular(factor, np.eye(len(matrix)), lower=True)
    return half, np.sum(half**2, axis=0)


def _estimate(samples: np.ndarray) -> Estimate:
    """Equations (4) and (5)."""
    count = len(samples)
    error = float(np.std(samples, ddof=1) / np.sqrt(count)) if count > 1 else float("inf")
    return Estimate(trace=float(np.mean(samples)), error=error, samples=samples)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
