"""Geometry of axis-aligned boxes.

A box is `(x1, y1, x2, y2)` in continuous coordinates: its width is `x2 - x1`, with no pixel added. A box with
`x2 <= x1` or `y2 <= y1` is degenerate and has area 0.
"""

from __future__ import annotations

import numpy as np


def area(boxes: np.ndarray) -> np.ndarray:
    """Area of each box of an `(N, 4)` array, shape `(N,)`."""
    width = np.maximum(boxes[:, 2] - boxes[:, 0], 0.0)
    height = np.maximum(boxes[:, 3] - boxes[:, 1], 0.0)
    return width * height


def pairwise_iou(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Intersection over union of every box of `first` (N, 4) with every box of `second` (M, 4), shape `(N, M)`.

    A pair whose union has no area overlaps by 0, so that degenerate boxes never give NaN.
    """
    top_left = np.maximum(first[:, None, :2], second[None, :, :2])
    bottom_right = np.minimum(first[:, None, 2:], second[None, :, 2:])
    intersection = np.prod(np.maximum(bottom_right - top_left, 0.0), axis=2)
    union = area(first)[:, None] + area(second)[None, :] - intersection
    overlap = np.zeros_like(union)
    np.divide(intersection, union, out=overlap, where=union > 0.0)
    return overlap


def clip(boxes: np.ndarray, height: float, width: float) -> np.ndarray:
    """The boxes cut off at the borders of an image of `height` x `width`, as a new array."""
    limits = np.array([width, height, width, height], dtype=np.float64)
    return np.clip(boxes, 0.0, limits)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
