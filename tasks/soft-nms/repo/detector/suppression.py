"""Soft non-maximum suppression (Bodla et al., ICCV 2017)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .boxes import pairwise_iou
from .detections import METHODS, Detections, SoftNMSConfig


def decay_weights(overlaps: np.ndarray, method: str, *, sigma: float = 0.5, iou_threshold: float = 0.3) -> np.ndarray:
    """Factor by which the score of a box falls that overlaps a selected box by `overlaps`."""
    raise NotImplementedError


def soft_nms(
    boxes: np.ndarray,
    scores: np.ndarray,
    *,
    method: str = "gaussian",
    sigma: float = 0.5,
    iou_threshold: float = 0.3,
    score_threshold: float = 0.001,
    max_detections: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the kept boxes in the order of their selection, and their decayed scores."""
    raise NotImplementedError


def suppress_per_class(detections: Detections, config: SoftNMSConfig) -> Detections:
    """Soft-NMS within each class, the survivors of all classes in one ranking."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
