"""k-vectors by the metric of the reciprocal lattice."""

import numpy as np


def k_indices(cell, cutoff):
    """All indices of a cube around the origin, sorted."""
    cell = np.array(cell, dtype=np.float64)
    metric = np.linalg.inv(cell @ cell.T) * (2.0 * np.pi) ** 2
    reach = int(np.ceil(cutoff * np.sqrt((cell**2).sum(axis=1)).max() / (2.0 * np.pi)))
    grid = np.indices((2 * reach + 1,) * 3).reshape(3, -1).T - reach
    squares = np.sum((grid @ metric) * grid, axis=1)
    leading = np.where(grid[:, 0] != 0, grid[:, 0], np.where(grid[:, 1] != 0, grid[:, 1], grid[:, 2]))
    chosen = grid[(leading > 0) & (squares <= cutoff**2)]
    return chosen[np.lexsort(chosen.T[::-1])].astype(np.int64)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
