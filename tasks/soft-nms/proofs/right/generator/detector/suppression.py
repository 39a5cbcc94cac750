"""Soft non-maximum suppression (Bodla et al., ICCV 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from .boxes import pairwise_iou
from .detections import METHODS, Detections, SoftNMSConfig


def decay_weights(overlaps: np.ndarray, method: str, *, sigma: float = 0.5, iou_threshold: float = 0.3) -> np.ndarray:
    """Factor by which the score of a box falls that overlaps a selected box by `overlaps`."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, not {method!r}")
    overlaps = np.asarray(overlaps, dtype=np.float64)
    if method == "gaussian":
        if not sigma > 0.0:
            raise ValueError(f"sigma must be positive, not {sigma}")
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(-np.square(overlaps) / sigma))
    factors = np.ones(overlaps.shape)
    reached = overlaps >= iou_threshold
    factors[reached] = 1.0 - overlaps[reached] if method == "linear" else 0.0
    return factors


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
    boxes = np.asarray(boxes, dtype=np.float64)
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1:
        raise ValueError(f"scores must be one-dimensional, not of shape {scores.shape}")
    if boxes.shape != (len(scores), 4):
        raise ValueError(f"boxes must be of shape {(len(scores), 4)}, not {boxes.shape}")

    def decay(overlaps: np.ndarray) -> np.ndarray:
        return decay_weights(overlaps, method, sigma=sigma, iou_threshold=iou_threshold)

    decay(np.empty(0))
    limit = len(scores) if max_detections is None else max(max_detections, 0)
    selected = list(islice(_selections(boxes, scores, decay, score_threshold), limit))
    indices = np.array([index for index, _ in selected], dtype=np.int64)
    return indices, np.array([score for _, score in selected], dtype=np.float64)


def _selections(
    boxes: np.ndarray, scores: np.ndarray, decay: Callable[[np.ndarray], np.ndarray], score_threshold: float
) -> Iterator[tuple[int, float]]:
    """Each selected box with its score, one after the other, for as long as boxes wait.

    The waiting boxes are kept together, best first to begin with; a box that is selected makes way for the last one.
    """
    waiting = np.argsort(-scores, kind="stable")
    current = scores[waiting]
    while True:
        alive = (current > 0.0) & (current >= score_threshold)
        if not alive.all():
            waiting, current = waiting[alive], current[alive]
        if not waiting.size:
            return
        highest = current.max()
        level = np.flatnonzero(current == highest)
        place = level[np.argmin(waiting[level])]
        index = waiting[place]
        yield int(index), float(highest)
        waiting[place], current[place] = waiting[-1], current[-1]
        waiting, current = waiting[:-1], current[:-1]
        current = current * decay(pairwise_iou(boxes[waiting], boxes[index][None, :])[:, 0])


def suppress_per_class(detections: Detections, config: SoftNMSConfig) -> Detections:
    """Soft-NMS within each class, the survivors of all classes in one ranking."""
    classes: dict[int, list[int]] = {}
    for index, label in enumerate(detections.labels.tolist()):
        classes.setdefault(label, []).append(index)

    survivors: list[tuple[float, int]] = []
    for members in classes.values():
        kept, finals = soft_nms(
            detections.boxes[members],
            detections.scores[members],
            method=config.method,
            sigma=config.sigma,
            iou_threshold=config.iou_threshold,
            score_threshold=config.score_threshold,
        )
        survivors += [(-final, members[place]) for place, final in zip(kept.tolist(), finals.tolist())]
    survivors.sort()
    if config.max_detections is not None:
        del survivors[max(config.max_detections, 0) :]
    indices = np.array([index for _, index in survivors], dtype=np.int64)
    finals = np.array([-negative for negative, _ in survivors], dtype=np.float64)
    return detections.take(indices, finals)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
