"""The driver: raw network output in, final detections of an image out."""

from __future__ import annotations

import numpy as np

from .boxes import clip
from .detections import Detections, SoftNMSConfig
from .suppression import suppress_per_class


def postprocess(
    boxes: np.ndarray,
    class_scores: np.ndarray,
    image_size: tuple[int, int],
    config: SoftNMSConfig | None = None,
) -> Detections:
    """Detections of one image from `(N, 4)` boxes and `(N, C)` scores of the C classes.

    Every box is clipped to the image (height, width) and offered once for each class; `suppress_per_class` decides.
    """
    config = config or SoftNMSConfig()
    count, classes = class_scores.shape
    clipped = clip(np.asarray(boxes, dtype=np.float64).reshape(-1, 4), *image_size)
    offered = Detections(
        boxes=np.repeat(clipped, classes, axis=0),
        scores=class_scores.reshape(-1),
        labels=np.tile(np.arange(classes), count),
    )
    return suppress_per_class(offered, config)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
