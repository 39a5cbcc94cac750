"""Images as rows of patches."""

from __future__ import annotations

import numpy as np


def patches_of(images: np.ndarray, side: int) -> np.ndarray:
    """`(N, H, W)` images as `(N, H / side, W / side, side**2)` patches."""
    count, height, width = images.shape
    if height % side or width % side:
        raise ValueError(f"images of {height} x {width} have no whole number of patches of side {side}")
    cut = images.reshape(count, height // side, side, width // side, side)
    return cut.transpose(0, 1, 3, 2, 4).reshape(count, height // side, width // side, side**2)


def images_of(patches: np.ndarray, side: int) -> np.ndarray:
    """The inverse of `patches_of`."""
    count, rows, columns, _ = patches.shape
    cut = patches.reshape(count, rows, columns, side, side)
    return cut.transpose(0, 1, 3, 2, 4).reshape(count, rows * side, columns * side)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
