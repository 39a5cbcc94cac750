"""Soft non-maximum suppression (Bodla et al., ICCV 2017)."""

from __future__ import annotations

import numpy as np

from .boxes import pairwise_iou
from .detections import METHODS, Detections, SoftNMSConfig


def decay_weights(overlaps: np.ndarray, method: str, *, sigma: float = 0.5, iou_threshold: float = 0.3) -> np.ndarray:
    """Factor by which the score of a box falls that overlaps a selected box by `overlaps`.

    Raises ValueError for an unknown method, and for a Gaussian without a positive sigma.
    """
    _check_rule(method, sigma)
    overlaps = np.asarray(overlaps, dtype=np.float64)
    if method == "gaussian":
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-(overlaps**2) / sigma))
    lowered = 1.0 - overlaps if method == "linear" else 0.0
    return np.where(overlaps >= iou_threshold, lowered, 1.0)


def _check_rule(method: str, sigma: float) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, not {method!r}")
    if method == "gaussian" and not sigma > 0.0:
        raise ValueError(f"sigma must be positive, not {sigma}")


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
    """Indices of the kept boxes in the order of their selection, and the scores they had when selected.

    Raises ValueError for shapes that do not match, and where `decay_weights` does.
    """
    _check_rule(method, sigma)
    boxes = np.asarray(boxes, dtype=np.float64)
    current = np.array(scores, dtype=np.float64)
    if current.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, not of shape {current.shape}")
    if boxes.shape != (len(current), 4):
        raise ValueError(f"boxes must have shape {(len(current), 4)}, not {boxes.shape}")

    limit = len(current) if max_detections is None else max_detections
    # Positions of the boxes that wait, ascending, so that the first of equal scores has the lowest index.
    waiting = np.arange(len(current))
    waiting = waiting[_is_alive(current, score_threshold)]
    selected: list[int] = []
    while len(waiting) and len(selected) < limit:
        place = np.argmax(current[waiting])
        best = waiting[place]
        selected.append(int(best))
        waiting = np.delete(waiting, place)
        overlaps = pairwise_iou(boxes[[best]], boxes[waiting])[0]
        current[waiting] *= decay_weights(overlaps, method, sigma=sigma, iou_threshold=iou_threshold)
        waiting = waiting[_is_alive(current[waiting], score_threshold)]

    indices = np.array(selected, dtype=np.int64)
    return indices, current[indices]


def _is_alive(scores: np.ndarray, score_threshold: float) -> np.ndarray:
    """Which scores let a box wait: positive and not below the threshold."""
    return (scores > 0.0) & ~(scores < score_threshold)


def suppress_per_class(detections: Detections, config: SoftNMSConfig) -> Detections:
    """Soft-NMS within each class, the survivors of all classes in one ranking.

    The limit on the number of detections holds for the whole image. Raises ValueError for a bad configuration
    unless there are no detections.
    """
    kept: list[np.ndarray] = [np.empty(0, dtype=np.int64)]
    decayed: list[np.ndarray] = [np.empty(0, dtype=np.float64)]
    for label in np.unique(detections.labels):
        members = np.flatnonzero(detections.labels == label)
        chosen, scores = soft_nms(
            detections.boxes[members],
            detections.scores[members],
            method=config.method,
            sigma=config.sigma,
            iou_threshold=config.iou_threshold,
            score_threshold=config.score_threshold,
        )
        kept.append(members[chosen])
        decayed.append(scores)

    indices, scores = np.concatenate(kept), np.concatenate(decayed)
    ranking = np.lexsort((indices, -scores))
    if config.max_detections is not None:
        ranking = ranking[: max(config.max_detections, 0)]
    return detections.take(indices[ranking], scores[ranking])
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
