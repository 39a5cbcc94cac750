"""A curve as bars."""

import numpy as np


def bars(orders, values, width=40):
    """One line for each order."""
    top = np.max(values[np.isfinite(values)], initial=0.0)
    lines = []
    for order, value in zip(orders, values, strict=True):
        size = width if not np.isfinite(value) else round(width * value / top) if top else 0
        lines.append(f"{order:8.2f} {'#' * size}")
    return lines


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
