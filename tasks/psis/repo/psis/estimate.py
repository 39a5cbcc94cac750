"""The driver: an expectation with its diagnostics."""

from __future__ import annotations

import numpy as np

from .smoothing import diagnose, smooth


def expectation(values: np.ndarray, log_ratios: np.ndarray, relative_efficiency: float = 1.0) -> dict[str, object]:
    """Self-normalised estimate of the mean of `values` (S,) under the target, and what to think of it."""
    smoothed = smooth(log_ratios, relative_efficiency)
    diagnosis = diagnose(smoothed)
    return {
        "mean": float(np.exp(smoothed.log_weights) @ np.asarray(values, dtype=np.float64)),
        "k": smoothed.k,
        "tail": smoothed.tail,
        "effective sample size": diagnosis.effective_sample_size,
        "reliable": diagnosis.reliable,
        "more draws": max(0.0, diagnosis.min_sample_size - len(smoothed.log_weights)),
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
