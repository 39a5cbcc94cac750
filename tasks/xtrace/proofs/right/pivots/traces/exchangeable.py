"""QR with pivoting, and inverses of triangles."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, null_space, qr

from .results import Estimate
from .vectors import checked


def _rank(columns):
    values = np.linalg.svd(columns, compute_uv=False)
    return int(np.sum(values > 1e-12 * values[0])) if values.size and values[0] > 0 else 0


def leave_one_out(images):
    images = np.asarray(images, dtype=float)
    rank = _rank(images)
    basis, triangle, order = qr(images, mode="economic", pivoting=True)
    basis, triangle = basis[:, :rank], triangle[:rank]
    coordinates = np.empty_like(triangle)
    coordinates[:, order] = triangle
    lost = np.zeros(coordinates.shape)
    for place in range(images.shape[1]):
        others = np.delete(coordinates, place, axis=1)
        if rank and _rank(others) < rank:
            lost[:, [place]] = null_space(others.T, rcond=1e-12) if others.size else np.ones((1, 1))
    return basis, lost


def xtrace(operator, vectors, *, normalise=True):
    omega = checked(vectors, operator.size)
    y = operator.apply(omega)
    q, s = leave_one_out(y)
    z = operator.apply(np.ascontiguousarray(q))
    ranks = q.shape[1] - np.round(np.einsum("rk,rk->k", s, s))
    h = q.T @ z
    w = q.T @ omega
    w = w - s * np.einsum("rk,rk->k", s, w)
    t = h.trace() - np.einsum("rk,rs,sk->k", s, h, s)
    u = omega - q @ w
    au = y - z @ w
    scale = np.ones(omega.shape[1])
    if normalise:
        with np.errstate(all="ignore"):
            scale = (operator.size - ranks) / np.einsum("nk,nk->k", u, u)
    terms = np.einsum("nk,nk->k", u, au) * scale
    terms[ranks == operator.size] = 0.0
    return _summary(t + terms)


def _summary(t):
    with np.errstate(all="ignore"):
        error = np.sqrt(np.square(t - t.mean()).sum() / len(t) / (len(t) - 1)) if len(t) > 1 else np.inf
    return Estimate(trace=float(t.mean()), error=float(error), samples=np.asarray(t, dtype=float))


def xnystrace(operator, vectors, *, normalise=True, shift=1e-10):
    omega = checked(vectors, operator.size)
    n, k = omega.shape
    if k > n:
        raise ValueError(f"{k} vectors cannot be independent in {n} dimensions")
    y = operator.apply(omega)
    if not np.any(y):
        return _summary(np.zeros(k))
    nu = shift * np.linalg.norm(y, "fro") / n**0.5
    y = y + nu * omega
    h = omega.T @ y
    try:
        factor = cho_factor((h + h.T) / 2)
    except np.linalg.LinAlgError as error:
        raise ValueError("not positive semidefinite") from error
    inverse = cho_solve(factor, np.eye(k))
    weights = cho_solve(factor, y.T)
    t = np.sum(weights * y.T) - np.square(weights).sum(axis=1) / inverse.diagonal() - n * nu
    scale = 1.0
    if normalise:
        triangle = np.linalg.qr(omega, mode="r")
        scale = (n - k + 1) * np.square(np.linalg.inv(triangle)).sum(axis=1)
    return _summary(t + scale / inverse.diagonal())
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
