"""Atoms with latent charges, in a periodic cell or in free space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class System:
    """N atoms with C latent charges each. Arrays of any real type are copied to float64.

    positions: `(N, 3)` Cartesian coordinates in Angstrom, N >= 1. They may lie outside of the cell.
    charges: `(N, C)`, or `(N,)` for one channel, which is stored as `(N, 1)`.
    cell: `(3, 3)`, one lattice vector per row, left-handed or right-handed; None for an isolated system.
    """

    positions: np.ndarray
    charges: np.ndarray
    cell: np.ndarray | None = None

    def __post_init__(self) -> None:
        positions = np.array(self.positions, dtype=np.float64)
        charges = np.array(self.charges, dtype=np.float64)
        if charges.ndim == 1:
            charges = charges[:, None]
        if positions.ndim != 2 or positions.shape[1] != 3 or len(positions) == 0:
            raise ValueError(f"positions must be (N, 3) with N >= 1, not {positions.shape}")
        if charges.ndim != 2 or len(charges) != len(positions) or charges.shape[1] == 0:
            raise ValueError(f"charges must be ({len(positions)},) or ({len(positions)}, C), not {charges.shape}")
        if not (np.isfinite(positions).all() and np.isfinite(charges).all()):
            raise ValueError("a position or a charge is not finite")
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "charges", charges)
        if self.cell is None:
            return
        cell = np.array(self.cell, dtype=np.float64)
        if cell.shape != (3, 3) or not np.isfinite(cell).all():
            raise ValueError("the cell must be a finite (3, 3) matrix")
        if abs(np.linalg.det(cell)) < 1e-9 * np.prod(np.linalg.norm(cell, axis=1)):
            raise ValueError("the lattice vectors lie in one plane")
        object.__setattr__(self, "cell", cell)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
