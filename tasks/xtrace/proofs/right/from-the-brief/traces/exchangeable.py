"""Exchangeable estimators of a trace (Epperly, Tropp and Webber, SIAM J. Matrix Anal. Appl. 2024)."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from .operators import Operator
from .results import Estimate
from .vectors import checked

RANK = 1e-12  # singular values are zero up to this times the largest one


def _range(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the range of a matrix."""
    if columns.size == 0:
        return np.zeros((len(columns), 0))
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, : int(np.sum(values > RANK * values[0]))]


def leave_one_out(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Basis of the range of all columns, and for each column the direction that is lost without it."""
    images = np.asarray(images, dtype=np.float64)
    if images.ndim != 2:
        raise ValueError(f"images must be (N, k), not {images.shape}")
    basis = _range(images)
    rank, count = basis.shape[1], images.shape[1]
    lost = np.zeros((rank, count))
    for column in range(count):
        rest = _range(np.delete(images, column, axis=1))
        if rest.shape[1] < rank:
            # of the range, what is orthogonal to the range of the other columns
            lost[:, column] = np.linalg.svd(basis.T @ rest, full_matrices=True)[0][:, -1]
    return basis, lost


def _estimate(samples: np.ndarray) -> Estimate:
    count = len(samples)
    trace = float(np.mean(samples))
    if count == 1:
        return Estimate(trace, math.inf, samples)
    error = math.sqrt(float(np.sum((samples - trace) ** 2)) / (count * (count - 1)))
    return Estimate(trace, error, samples)


def xtrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True) -> Estimate:
    """XTrace for any square matrix."""
    size = operator.size
    vectors = checked(vectors, size)
    images = operator.apply(vectors)
    basis, lost = leave_one_out(images)
    products = operator.apply(np.ascontiguousarray(basis))
    core = basis.T @ products

    ranks = basis.shape[1] - np.any(lost != 0.0, axis=0).astype(np.int64)
    inside = basis.T @ vectors
    inside = inside - lost * np.sum(lost * inside, axis=0)  # coordinates of P_i w_i
    outside = vectors - basis @ inside  # u_i
    forms = np.sum(outside * (images - products @ inside), axis=0)
    lengths = np.sum(outside**2, axis=0)
    # nothing is left of a vector that P_i keeps as it is
    left = (ranks < size) & (lengths > 1e-24 * np.sum(vectors**2, axis=0))
    factors = np.where(left, 1.0, 0.0)
    if normalise:
        factors = np.where(left, (size - ranks) / np.where(left, lengths, 1.0), 0.0)
    samples = np.trace(core) - np.sum(lost * (core @ lost), axis=0) + factors * forms
    return _estimate(samples)


def xnystrace(operator: Operator, vectors: np.ndarray, *, normalise: bool = True, shift: float = 1e-10) -> Estimate:
    """XNysTrace for a positive semidefinite matrix."""
    size = operator.size
    vectors = checked(vectors, size)
    count = vectors.shape[1]
    if count > size:
        raise ValueError(f"{count} test vectors are more than {size} rows")
    images = operator.apply(vectors)
    if not images.any():
        return _estimate(np.zeros(count))
    nu = shift * float(np.linalg.norm(images)) / math.sqrt(size)
    images = images + nu * vectors
    core = vectors.T @ images
    try:
        factor = np.linalg.cholesky(0.5 * (core + core.T))
    except np.linalg.LinAlgError as error:
        raise ValueError("the matrix is not positive semidefinite on the test vectors") from error
    half = solve_triangular(factor, images.T, lower=True)  # A<W> is half^T half
    inverse = solve_triangular(factor, np.eye(count), lower=True)
    diagonal = np.sum(inverse**2, axis=0)  # h
    columns = half.T @ inverse  # d
    factors = np.ones(count)
    if normalise:
        triangle = np.linalg.qr(vectors, mode="r")
        factors = (size - count + 1) * np.sum(solve_triangular(triangle, np.eye(count)) ** 2, axis=1)
    samples = np.sum(half**2) + (factors - np.sum(columns**2, axis=0)) / diagonal - nu * size
    return _estimate(samples)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
