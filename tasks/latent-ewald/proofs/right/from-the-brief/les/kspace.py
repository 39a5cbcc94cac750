"""The k-vectors of a cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def _combined(transform: list[list[int]], cell: np.ndarray) -> np.ndarray:
    """`transform @ cell`, rounded once: long lattice vectors may have short differences."""
    exact = [[Fraction(float(entry)) for entry in row] for row in cell]
    return np.array(
        [[float(sum(row[d] * exact[d][a] for d in range(3))) for a in range(3)] for row in transform], dtype=np.float64
    )


def reduced(cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Integers U of determinant 1 or -1, and the cell U @ cell, whose lattice vectors are short.

    U is an array of Python integers. A sum of whole multiples of the two others is subtracted from a lattice vector
    as long as that makes it shorter.
    """
    transform = [[int(i == j) for j in range(3)] for i in range(3)]
    short = _combined(transform, cell)
    changed = True
    while changed:
        changed = False
        for i in range(3):
            others = [j for j in range(3) if j != i]
            choices = [([j], short[[j]]) for j in others] + [(others, short[others])]
            for which, rows in choices:
                factors = np.rint(np.linalg.lstsq(rows.T, short[i], rcond=None)[0])
                if not factors.any():
                    continue
                trial = [list(row) for row in transform]
                for j, factor in zip(which, factors, strict=True):
                    trial[i] = [a - int(factor) * b for a, b in zip(trial[i], transform[j], strict=True)]
                shorter = _combined(trial, cell)
                if np.sum(shorter[i] ** 2) < (1.0 - 1e-9) * np.sum(short[i] ** 2):
                    transform, short, changed = trial, shorter, True
    return np.array(transform, dtype=object), short


def _inverse(transform: np.ndarray) -> np.ndarray:
    """The exact inverse of an integer matrix of determinant 1 or -1."""
    a = transform
    cofactors = [
        [
            a[(i + 1) % 3][(j + 1) % 3] * a[(i + 2) % 3][(j + 2) % 3]
            - a[(i + 1) % 3][(j + 2) % 3] * a[(i + 2) % 3][(j + 1) % 3]
            for j in range(3)
        ]
        for i in range(3)
    ]
    determinant = sum(a[0][j] * cofactors[0][j] for j in range(3))
    return np.array([[cofactors[j][i] * determinant for j in range(3)] for i in range(3)], dtype=object)


def half_space(cell: np.ndarray, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The indices of `k_indices`, the indices of the same k-vectors for the reduced cell, and that cell."""
    cell = np.asarray(cell, dtype=np.float64)
    transform, short = reduced(cell)
    reciprocal = 2.0 * np.pi * np.linalg.inv(short).T
    # n_d = k . a_d / (2 pi), and |k| is at most the cutoff
    limits = np.floor(cutoff * np.linalg.norm(short, axis=1) / (2.0 * np.pi) * (1.0 + 1e-9)).astype(np.int64)
    slab = np.stack(np.meshgrid(*(np.arange(-m, m + 1) for m in limits[1:]), indexing="ij"), axis=-1).reshape(-1, 2)
    found = [np.zeros((0, 3), dtype=np.int64)]
    for first in range(limits[0] + 1):  # -k is found as k
        indices = np.column_stack([np.full(len(slab), first), slab])
        found.append(indices[np.sum((indices @ reciprocal) ** 2, axis=1) <= cutoff**2])
    inner = np.concatenate(found)
    positive = (inner[:, 0] > 0) | (
        (inner[:, 0] == 0) & ((inner[:, 1] > 0) | ((inner[:, 1] == 0) & (inner[:, 2] > 0)))
    )
    inner = inner[positive]
    outer = (inner.astype(object) @ _inverse(transform).T).astype(np.int64).reshape(-1, 3)
    leading = np.where(outer[:, 0] != 0, outer[:, 0], np.where(outer[:, 1] != 0, outer[:, 1], outer[:, 2]))
    sign = np.sign(leading)[:, None]
    inner, outer = inner * sign, outer * sign
    order = np.lexsort((outer[:, 2], outer[:, 1], outer[:, 0]))
    return outer[order], inner[order], short


def k_indices(cell: np.ndarray, cutoff: float) -> np.ndarray:
    """Integer indices `(M, 3)` of one of each pair k, -k of reciprocal lattice vectors within the cutoff."""
    return half_space(cell, cutoff)[0]


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
