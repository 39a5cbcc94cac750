"""Points to try the methods on."""

from __future__ import annotations

import numpy as np

from .stream import Uniforms


def clusters(stream: Uniforms, size: int, dimension: int, count: int, spread: float = 0.1) -> np.ndarray:
    """Points `(size, dimension)` in `count` cubes of the edge `spread`, whose centres are in the unit cube.

    The first cube has half of the points, the second a quarter, and so on; the last one has what is left. Pivots that are
    chosen uniformly miss the small ones. Takes `dimension` numbers for each centre, then as many for each point.
    """
    if size < 1 or dimension < 1 or count < 1:
        raise ValueError(f"size {size}, dimension {dimension} and count {count} must be at least 1")
    centres = stream.take(count * dimension).reshape(count, dimension)
    offsets = stream.take(size * dimension).reshape(size, dimension) - 0.5
    halvings = np.log2(size / np.arange(size, 0, -1)).astype(np.int64)
    return centres[np.minimum(halvings, count - 1)] + spread * offsets


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
