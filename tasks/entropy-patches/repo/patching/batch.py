"""Padded batches of byte sequences, and their patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def pad(texts: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Bytes `(B, T)` uint8, padded on the right with zeros, and lengths `(B,)` int64."""
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    data = np.zeros((len(texts), lengths.max(initial=0)), dtype=np.uint8)
    for row, text in zip(data, texts, strict=True):
        row[: len(text)] = np.frombuffer(text, dtype=np.uint8)
    return data, lengths


def real(shape: tuple[int, ...], lengths: np.ndarray) -> np.ndarray:
    """Bool array of the shape `(B, T)`: whether a position holds a byte, and not padding.

    Raises ValueError if the shape has not two axes, `lengths` has not the shape `(B,)`, or a length is not in 0..T.
    """
    lengths = np.asarray(lengths)
    if len(shape) != 2 or lengths.shape != shape[:1]:
        raise ValueError(f"a batch of shape {shape} cannot have lengths of shape {lengths.shape}")
    if np.any((lengths < 0) | (lengths > shape[1])):
        raise ValueError(f"lengths must be in 0..{shape[1]}")
    return np.arange(shape[1]) < lengths[:, None]


@dataclass(frozen=True, eq=False)
class Patches:
    """The patches of a padded batch. P is the largest number of patches of a sequence.

    lengths: `(B, P)` int64, bytes of each patch in order; 0 where a sequence has no more patches.
    index: `(B, T)` int64, the patch of each byte, from 0; `PADDING` for padding.
    """

    lengths: np.ndarray
    index: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
