"""Lots of the program of before."""

import numpy as np


def lot(rng, labels, rate):
    """Examples of one lot: every example takes part or not, whatever the others do."""
    return np.flatnonzero(rng.random(len(labels)) < rate)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
