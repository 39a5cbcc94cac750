"""Sequences from boxes."""

import numpy as np

from .sequence import Sequence


def overlaps(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Intersection over union of boxes (n, 4) and (m, 4), given as left, top, width, height: (n, m)."""
    start = np.maximum(first[:, None, :2], second[None, :, :2])
    end = np.minimum((first[:, :2] + first[:, 2:])[:, None], (second[:, :2] + second[:, 2:])[None])
    shared = np.prod(np.maximum(end - start, 0.0), axis=2)
    area = np.prod(first[:, 2:], axis=1)[:, None] + np.prod(second[:, 2:], axis=1)[None] - shared
    return np.where(area > 0.0, shared / np.where(area > 0.0, area, 1.0), 0.0)


def sequence_of(truth: np.ndarray, predicted: np.ndarray, frames: int) -> Sequence:
    """From rows (frame, id, left, top, width, height), in any order; frames are counted from 1."""
    parts: list[tuple[np.ndarray, ...]] = []
    for frame in range(1, frames + 1):
        true, found = truth[truth[:, 0] == frame], predicted[predicted[:, 0] == frame]
        parts.append((true[:, 1].astype(np.int64), found[:, 1].astype(np.int64), overlaps(true[:, 2:], found[:, 2:])))
    return Sequence(*([part[k] for part in parts] for k in range(3)))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
