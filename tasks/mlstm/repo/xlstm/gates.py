"""From pre-activations of gates to their logarithms."""

from __future__ import annotations

import numpy as np

KINDS = ("sigmoid", "exp")


def log_forget_gate(pre_activation: np.ndarray, kind: str) -> np.ndarray:
    """Logarithm of the forget gate, elementwise: -inf (forget everything) for -inf.

    Raises ValueError for a `kind` that is not in `KINDS`.
    """
    if kind not in KINDS:
        raise ValueError(f"the forget gate is one of {', '.join(KINDS)}, not {kind!r}")
    return pre_activation if kind == "exp" else -np.logaddexp(0.0, -pre_activation)


def sigmoid(pre_activation: np.ndarray) -> np.ndarray:
    """The logistic function, for the output gate."""
    return np.exp(-np.logaddexp(0.0, -pre_activation))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
