"""Streams to try detectors on."""

import numpy as np


def shifted(length, at, by, seed):
    """Standard normal values, with `by` added from place `at` on."""
    values = np.random.default_rng(seed).normal(size=length)
    values[at:] += by
    return values
