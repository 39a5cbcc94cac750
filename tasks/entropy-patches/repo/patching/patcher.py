"""Entropy patching (Pagnoni et al., 2024)."""
# ruff: noqa: F401  (the parts of the repository this module builds on)

from __future__ import annotations

import numpy as np

from .batch import Patches, real
from .settings import NEWLINE, PADDING, RULES, PatchSettings


def byte_entropies(logits: np.ndarray) -> np.ndarray:
    """Entropy in nats of the prediction of each byte: logits `(..., T + 1, V)` -> `(..., T)` float64."""
    raise NotImplementedError


def patch_starts(entropies: np.ndarray, data: np.ndarray, lengths: np.ndarray, settings: PatchSettings) -> np.ndarray:
    """Whether a patch begins at each byte of a padded batch: `(B, T)` bool."""
    raise NotImplementedError


def patch_batch(starts: np.ndarray, lengths: np.ndarray) -> Patches:
    """Patch lengths and the patch of each byte of a padded batch."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
