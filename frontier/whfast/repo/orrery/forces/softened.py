"""Softened attraction, for close encounters of test particles."""

import numpy as np


def softened(gm, x, length):
    """Like `newton`, with a softening length."""
    d = x[:, None] - x
    size = (np.sum(d * d, axis=2) + length**2) ** 1.5
    return -np.einsum("j,ijc->ic", gm, d / size[:, :, None])


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
