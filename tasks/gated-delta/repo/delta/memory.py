"""States."""

from __future__ import annotations

from typing import Any

import numpy as np


def checked(state: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A float64 copy of a state of this shape; zeros for None. Raises ValueError for another shape."""
    if state is None:
        return np.zeros(shape)
    copy = np.array(state, dtype=np.float64)
    if copy.shape != shape:
        raise ValueError(f"the state has the shape {copy.shape}, not {shape}")
    return copy


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
