"""What a cell reads: checked once, so that the cell need not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Inputs:
    """Queries, keys, values and pre-activations of the gates, all float64; make them with `Inputs.of`.

    A sequence has its time axis before the features and last in the gates; a single token has no time axis.
    """

    query: np.ndarray  # (..., K)
    key: np.ndarray  # (..., K)
    value: np.ndarray  # (..., V)
    input_gate: np.ndarray  # (...), pre-activation; -inf writes nothing
    forget_gate: np.ndarray  # (...), pre-activation; -inf forgets everything

    @classmethod
    def of(cls, query, key, value, input_gate, forget_gate) -> Inputs:
        """Convert to float64 (arrays that are float64 already are not copied) and check; ValueError if malformed."""
        query, key, value, input_gate, forget_gate = (
            np.asarray(each, dtype=np.float64) for each in (query, key, value, input_gate, forget_gate)
        )
        leading = query.shape[:-1]
        if query.ndim == 0 or query.shape[-1] == 0 or key.shape != query.shape:
            raise ValueError(f"query {query.shape} and key {key.shape} must have the same shape, with features")
        if value.ndim == 0 or value.shape[:-1] != leading:
            raise ValueError(f"value {value.shape} must have the leading axes {leading}")
        if not input_gate.shape == forget_gate.shape == leading:
            raise ValueError(f"gates {input_gate.shape} and {forget_gate.shape} must have the shape {leading}")
        if not all(np.isfinite(each).all() for each in (query, key, value)):
            raise ValueError("queries, keys and values must be finite")
        if not all((each < np.inf).all() for each in (input_gate, forget_gate)):
            raise ValueError("pre-activations of gates must be finite or -inf")
        return cls(query, key, value, input_gate, forget_gate)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
