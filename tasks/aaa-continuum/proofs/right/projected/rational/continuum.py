"""Roots as ordinary eigenvalues, where there is no root at infinity."""

import numpy as np
from scipy.linalg import eigvals, null_space

from .results import Barycentric, Fit, Roots


def _clean(rational):
    kept = np.flatnonzero(rational.weights)
    return rational.support[kept], rational.values[kept], rational.weights[kept]


def evaluate(rational, points):
    z, f, w = _clean(rational)
    x = np.array(points)
    x = x.astype(np.promote_types(np.result_type(x, z, f, w), float))
    out = np.empty(x.shape, dtype=x.dtype)
    with np.errstate(all="ignore"):
        for place in np.ndindex(*x.shape):
            gap = x[place] - z
            hit = np.abs(gap) < 1e-300
            if np.isnan(x[place]):
                out[place] = np.nan
            elif hit.any():
                out[place] = f[hit][0]
            elif np.isinf(x[place]):
                out[place] = (w * f).sum() / w.sum()
            else:
                out[place] = (w * f / gap).sum() / (w / gap).sum()
    return out


def _arrow(z, w):
    """Where the sum of w / (x - z) is zero."""
    w = w / np.abs(w).max()
    total = w.sum()
    if abs(total) > 1e-9:
        basis = null_space(w[None])
        projected = z[:, None] * basis - (w * z) @ basis / total
        found = np.linalg.eigvals(np.linalg.lstsq(basis, projected, rcond=None)[0]) if len(z) > 1 else np.zeros(0)
    else:
        e = np.block([[np.zeros((1, 1)), w[None]], [np.ones((len(z), 1)), np.diag(z)]])
        with np.errstate(all="ignore"):
            found = eigvals(e, np.diag([0.0] + [1.0] * len(z)))
        found = found[np.isfinite(found)]
    return found[np.abs(found) <= 1e10].astype(complex)


def roots(rational):
    z, f, w = _clean(rational)
    poles = _arrow(z, w)
    zeros = _arrow(z, w * f) if np.any(f) else np.zeros(0, dtype=complex)
    gaps = poles[:, None] - z
    residues = -np.sum(w * f / gaps, axis=1) / np.sum(w / gaps**2, axis=1)
    return Roots(poles=poles, residues=residues.astype(complex), zeros=zeros)


def samples(support, count):
    z = np.sort(np.array(support, dtype=float))
    return np.concatenate([np.linspace(a, b, count + 2)[1:-1] for a, b in zip(z[:-1], z[1:])] or [np.zeros(0)])  # noqa: B905


def aaa(function, *, tolerance=1e-13, max_degree=40):
    if not max_degree >= 1:
        raise ValueError("the degree must be positive")

    def values(x):
        y = np.asarray(function(x), dtype=float).copy()
        if np.isnan(y).any() or np.isinf(y).any():
            raise ValueError("the function must be finite")
        return y

    z = np.array([-1.0, 1.0])
    f = values(z)
    errors, best = [], None
    while len(z) <= max_degree + 1:
        x = samples(z, max(3, 16 - len(z)))
        y = values(x)
        everything = np.concatenate([f, y])
        if np.ptp(everything) == 0.0:
            return Fit(Barycentric(z[:1], f[:1], np.array([1.0])), np.array([0.0]), True)
        loewner = np.subtract.outer(y, f) / np.subtract.outer(x, z)
        weights = np.linalg.svd(np.linalg.qr(loewner, mode="r"))[2][-1]
        r = Barycentric(z, f, weights)
        distance = np.abs(evaluate(r, x) - y)
        worst = int(distance.argmax())
        errors.append(distance[worst] / np.abs(everything).max())
        poles = roots(r).poles
        good = not any(p.imag == 0.0 and abs(p) <= 1.0 for p in poles)
        if good and errors[-1] <= tolerance:
            return Fit(r, np.array(errors), np.True_)
        if good and (best is None or errors[-1] < best[0]):
            best = errors[-1], r
        z, f = np.append(z, x[worst]), np.append(f, y[worst])
    return Fit(r if best is None else best[1], np.array(errors), np.False_)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
