"""What passes between the stages of the detector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

METHODS = ("linear", "gaussian", "hard")


@dataclass(frozen=True, eq=False)
class Detections:
    """Detections of one image.

    boxes: `(N, 4)` float64, `(x1, y1, x2, y2)`.
    scores: `(N,)` float64.
    labels: `(N,)` int64, the class of each box.
    """

    boxes: np.ndarray
    scores: np.ndarray
    labels: np.ndarray

    def __post_init__(self) -> None:
        boxes = np.asarray(self.boxes, dtype=np.float64).reshape(-1, 4)
        scores = np.asarray(self.scores, dtype=np.float64).reshape(-1)
        labels = np.asarray(self.labels, dtype=np.int64).reshape(-1)
        if not len(boxes) == len(scores) == len(labels):
            raise ValueError(f"{len(boxes)} boxes, {len(scores)} scores and {len(labels)} labels do not match")
        object.__setattr__(self, "boxes", boxes)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "labels", labels)

    def take(self, indices: np.ndarray, scores: np.ndarray | None = None) -> Detections:
        """The detections at `indices`, in that order; with `scores` in place of their own where given."""
        kept = self.scores[indices] if scores is None else scores
        return Detections(self.boxes[indices], kept, self.labels[indices])


@dataclass(frozen=True)
class SoftNMSConfig:
    """How to suppress.

    method: one of `METHODS`.
    sigma: width of the Gaussian decay; the other methods do not use it.
    iou_threshold: overlap from which the linear and hard decay act; the Gaussian one does not use it.
    score_threshold: a detection whose current score is below it is dropped.
    max_detections: most detections to keep for one image, or None for no limit.
    """

    method: str = "gaussian"
    sigma: float = 0.5
    iou_threshold: float = 0.3
    score_threshold: float = 0.001
    max_detections: int | None = None


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
