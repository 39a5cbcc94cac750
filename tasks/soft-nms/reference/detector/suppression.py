"""Soft non-maximum suppression (Bodla et al., ICCV 2017)."""

from __future__ import annotations

import numpy as np

from .boxes import pairwise_iou
from .detections import METHODS, Detections, SoftNMSConfig


def decay_weights(overlaps: np.ndarray, method: str, *, sigma: float = 0.5, iou_threshold: float = 0.3) -> np.ndarray:
    """Factor by which the score of a box falls that overlaps a selected box by `overlaps`.

    Same shape as `overlaps`, float64, each in [0, 1]. The linear and the hard rule act from `iou_threshold` on
    (equal counts); the Gaussian rule acts on every overlap. Raises ValueError for an unknown method, or a `sigma`
    that is not positive where the method uses it.
    """
    overlaps = np.asarray(overlaps, dtype=np.float64)
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
    if method == "gaussian":
        if not sigma > 0.0:
            raise ValueError(f"sigma must be positive, not {sigma}")
        return np.exp(-(overlaps**2) / sigma)
    lowered = 1.0 - overlaps if method == "linear" else np.zeros_like(overlaps)
    return np.where(overlaps >= iou_threshold, lowered, 1.0)


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
    """Indices of the kept boxes in the order of their selection, and their decayed scores.

    boxes `(N, 4)`, scores `(N,)` -> indices `(K,)` int64, scores `(K,)` float64. Each round selects the highest
    *current* score (the lowest index among equals) and lowers those of the boxes still waiting. A box waits only
    while its current score is positive and not below `score_threshold`. Raises ValueError where boxes and scores
    do not match, or as `decay_weights` does.
    """
    boxes = np.asarray(boxes, dtype=np.float64)
    current = np.array(scores, dtype=np.float64)  # a copy: the caller's scores stay as they are
    if current.ndim != 1 or boxes.shape != (len(current), 4):
        raise ValueError(f"boxes {boxes.shape} and scores {current.shape} must be (N, 4) and (N,)")
    decay_weights(np.zeros(0), method, sigma=sigma)  # bad options are refused even if no box ever overlaps

    limit = len(current) if max_detections is None else max_detections
    waiting = (current > 0.0) & (current >= score_threshold)
    kept: list[int] = []
    while waiting.any() and len(kept) < limit:
        best = int(np.argmax(np.where(waiting, current, -np.inf)))
        kept.append(best)
        waiting[best] = False
        overlaps = pairwise_iou(boxes[best : best + 1], boxes)[0]
        factors = decay_weights(overlaps, method, sigma=sigma, iou_threshold=iou_threshold)
        current[waiting] *= factors[waiting]
        waiting &= (current > 0.0) & (current >= score_threshold)
    indices = np.array(kept, dtype=np.int64)
    return indices, current[indices]


def suppress_per_class(detections: Detections, config: SoftNMSConfig) -> Detections:
    """Soft-NMS within each class, the survivors of all classes in one ranking.

    Sorted by falling final score, the earlier input first among equals; `config.max_detections` limits the whole
    image, not a class.
    """
    final = np.full(len(detections.scores), -np.inf)
    survivors = [np.zeros(0, dtype=np.int64)]
    for label in np.unique(detections.labels):
        members = np.flatnonzero(detections.labels == label)
        kept, scores = soft_nms(
            detections.boxes[members],
            detections.scores[members],
            method=config.method,
            sigma=config.sigma,
            iou_threshold=config.iou_threshold,
            score_threshold=config.score_threshold,
        )
        final[members[kept]] = scores
        survivors.append(members[kept])
    indices = np.sort(np.concatenate(survivors))
    ranking = np.argsort(-final[indices], kind="stable")[: config.max_detections]
    indices = indices[ranking]
    return detections.take(indices, final[indices])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
