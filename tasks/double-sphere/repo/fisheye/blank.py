"""Invalid entries."""

from __future__ import annotations

import numpy as np


def blank(values: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """A copy of `values` with NaN in the place of the entries that are not valid.

    The shape of `valid` is that of the leading axes of `values`.
    """
    expanded = valid.reshape(valid.shape + (1,) * (values.ndim - valid.ndim))
    return np.where(expanded, values, np.nan)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
