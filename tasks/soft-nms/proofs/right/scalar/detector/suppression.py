"""Soft-NMS with one Python loop over a list of waiting boxes."""

import math

import numpy as np

from .boxes import pairwise_iou
from .detections import METHODS, Detections, SoftNMSConfig


def _check(method, sigma):
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, not {method!r}")
    if method == "gaussian" and not sigma > 0:
        raise ValueError(f"sigma must be positive, not {sigma}")


def _factor(iou, method, sigma, iou_threshold):
    if method == "gaussian":
        return math.exp(-(iou * iou) / sigma)
    if iou < iou_threshold:
        return 1.0
    return 0.0 if method == "hard" else 1.0 - iou


def decay_weights(overlaps, method, *, sigma=0.5, iou_threshold=0.3):
    _check(method, sigma)
    given = np.asarray(overlaps, dtype=np.float64)
    result = np.empty(given.shape, dtype=np.float64)
    for place, iou in np.ndenumerate(given):
        result[place] = _factor(float(iou), method, sigma, iou_threshold)
    return result


def soft_nms(
    boxes, scores, *, method="gaussian", sigma=0.5, iou_threshold=0.3, score_threshold=0.001, max_detections=None
):
    _check(method, sigma)
    points = np.array(boxes, dtype=np.float64)
    values = np.array(scores, dtype=np.float64)
    if values.ndim != 1 or points.shape != (len(values), 4):
        raise ValueError(f"boxes {points.shape} and scores {values.shape} must be (N, 4) and (N,)")
    overlap = pairwise_iou(points, points) if len(points) else np.zeros((0, 0))

    def waits(score):
        return score > 0.0 and not score < score_threshold

    waiting = {index: float(score) for index, score in enumerate(values) if waits(float(score))}
    chosen, final = [], []
    while waiting and (max_detections is None or len(chosen) < max_detections):
        best = min(waiting, key=lambda index: (-waiting[index], index))
        chosen.append(best)
        final.append(waiting.pop(best))
        decayed = {
            index: score * _factor(float(overlap[best, index]), method, sigma, iou_threshold)
            for index, score in waiting.items()
        }
        waiting = {index: score for index, score in decayed.items() if waits(score)}
    return np.array(chosen, dtype=np.int64), np.array(final, dtype=np.float64)


def suppress_per_class(detections: Detections, config: SoftNMSConfig) -> Detections:
    kept = []
    for label in sorted({int(each) for each in detections.labels}):
        members = [index for index, each in enumerate(detections.labels) if int(each) == label]
        found, scores = soft_nms(
            detections.boxes[members],
            detections.scores[members],
            method=config.method,
            sigma=config.sigma,
            iou_threshold=config.iou_threshold,
            score_threshold=config.score_threshold,
        )
        kept += [(-float(score), members[int(index)]) for index, score in zip(found, scores, strict=True)]
    kept.sort()
    if config.max_detections is not None:
        kept = kept[: config.max_detections]
    order = np.array([index for _, index in kept], dtype=np.int64)
    return detections.take(order, np.array([-score for score, _ in kept], dtype=np.float64))

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
