"""What comes into the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Inputs:
    """Float64 arrays whose leading axes (the axis of time is one of them) are the same.

    query, key: `(..., K)`. value: `(..., V)`. log_decay, beta: `(...)`.
    """

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    log_decay: np.ndarray
    beta: np.ndarray

    @classmethod
    def of(cls, query: Any, key: Any, value: Any, log_decay: Any, beta: Any, axes: int = 0) -> Inputs:
        """Convert and check; there must be `axes` leading axes or more."""
        made = cls(*(np.asarray(each, dtype=np.float64) for each in (query, key, value, log_decay, beta)))
        lead = made.log_decay.shape
        if len(lead) < axes or made.beta.shape != lead:
            raise ValueError(f"log_decay {lead} and beta {made.beta.shape} must have one shape, {axes} axes or more")
        for name in ("query", "key", "value"):
            array = getattr(made, name)
            if array.ndim == 0 or array.shape[:-1] != lead or array.shape[-1] == 0:
                raise ValueError(f"{name} has the shape {array.shape}, but the gates have {lead}")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite")
        if made.query.shape != made.key.shape:
            raise ValueError(f"query {made.query.shape} and key {made.key.shape} must have the same shape")
        if not ((made.log_decay >= -1e4) & (made.log_decay <= 0.0)).all():
            raise ValueError("log_decay must be from -1e4 to 0")
        if not ((made.beta >= 0.0) & (made.beta <= 2.0)).all():
            raise ValueError("beta must be from 0 to 2")
        return made


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
