"""Token merging (Bolya et al., ICLR 2023)."""

from __future__ import annotations

import numpy as np

from .matching import Matching


def match(metric: np.ndarray, r: int, protected: int = 1) -> Matching:
    """The r tokens that are merged, and into which others."""
    raise NotImplementedError


def merge(matching: Matching, x: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and sizes after merging, equation (2)."""
    raise NotImplementedError


def trace(matching: Matching, source: np.ndarray) -> np.ndarray:
    """The source matrix after merging."""
    raise NotImplementedError


def unmerge(matching: Matching, y: np.ndarray) -> np.ndarray:
    """A row for each token before merging."""
    raise NotImplementedError


def attend(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Proportional attention, equation (3)."""
    raise NotImplementedError


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
