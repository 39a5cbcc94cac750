"""The driver: texts in, patches out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .batch import Patches, pad
from .model import BigramModel
from .patcher import byte_entropies, patch_batch, patch_starts
from .settings import PatchSettings


def segment(texts: Sequence[bytes], model: BigramModel, settings: PatchSettings) -> Patches:
    """The patches of several texts."""
    data, lengths = pad(texts)
    entropies = byte_entropies(model.logits(data))
    return patch_batch(patch_starts(entropies, data, lengths, settings), lengths)


def pieces(texts: Sequence[bytes], patches: Patches) -> list[list[bytes]]:
    """The bytes of each patch of each text."""
    found = []
    for text, lengths in zip(texts, patches.lengths, strict=True):
        lengths = lengths[lengths > 0]
        ends = np.cumsum(lengths)
        found.append([text[end - length : end] for end, length in zip(ends, lengths, strict=True)])
    return found


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
