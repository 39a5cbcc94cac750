"""Mechanisms of which only a table is known."""

import numpy as np


def tabulated(event, orders):
    """Divergence of one access. A divergence does not fall as the order grows, so an order that is not in the table has that of the
    next one above; above the last one, nothing is known."""
    table = np.array(sorted(event.curve))
    place = np.searchsorted(table[:, 0], orders)
    return np.append(table[:, 1], np.inf)[place]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
