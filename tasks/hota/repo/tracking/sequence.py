"""What is evaluated: true and predicted objects, frame by frame."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sequence:
    """One video. Frame t has G_t true and T_t predicted objects; either number may be 0, and there may be no frames.

    Ids are any integers; those of truth and prediction have nothing to do with each other. An id occurs at most once in a frame.
    """

    truth: list[np.ndarray]  # ids of the true objects, (G_t,) int64 for each frame
    predicted: list[np.ndarray]  # ids of the predicted objects, (T_t,) int64 for each frame
    similarity: list[np.ndarray]  # (G_t, T_t) float64 for each frame, in [0, 1]

    def __post_init__(self) -> None:
        if not len(self.truth) == len(self.predicted) == len(self.similarity):
            raise ValueError("truth, predicted and similarity must have one entry for each frame")
        for name in ("truth", "predicted"):
            ids = [np.array(frame, dtype=np.int64) for frame in getattr(self, name)]
            if any(frame.ndim != 1 or len(np.unique(frame)) != len(frame) for frame in ids):
                raise ValueError(f"an id occurs twice in a frame of {name}")
            object.__setattr__(self, name, ids)
        similarity = [np.array(frame, dtype=np.float64) for frame in self.similarity]
        for frame, true, predicted in zip(similarity, self.truth, self.predicted, strict=True):
            if frame.shape != (len(true), len(predicted)):
                raise ValueError(f"similarity must be of shape {(len(true), len(predicted))}, not {frame.shape}")
        object.__setattr__(self, "similarity", similarity)


def tracks(frames: list[np.ndarray]) -> np.ndarray:
    """All ids of `frames`, in increasing order, once each."""
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *frames]))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
