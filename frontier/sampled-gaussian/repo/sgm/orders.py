"""Grids of orders."""

import numpy as np


def published():
    """The orders of the published tables."""
    from sgm.legacy.moments import LAMBDAS

    return LAMBDAS + 1.0


def dense(highest=512.0, count=200):
    """Orders that lie closer together where they are small."""
    return 1.0 + np.geomspace(1e-2, highest - 1.0, count)


def usual():
    """The grid of the command line."""
    return np.array(
        [1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 64.0, 256.0]
    )


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
