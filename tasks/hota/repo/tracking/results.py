"""Results, with one entry for each of A thresholds."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Counts:
    """What is counted in one sequence. Sums are over its true positives."""

    thresholds: tuple[float, ...]
    tp: np.ndarray  # (A,) int64
    fn: np.ndarray  # (A,) int64
    fp: np.ndarray  # (A,) int64
    association: np.ndarray  # (A,) float64: sum of equation (3)
    association_recall: np.ndarray  # (A,) float64: sum of equation (4), left
    association_precision: np.ndarray  # (A,) float64: sum of equation (4), right
    similarity: np.ndarray  # (A,) float64: sum of the similarities


@dataclass(frozen=True)
class Scores:
    """Each of them in [0, 1], (A,) float64."""

    hota: np.ndarray
    det_a: np.ndarray
    det_re: np.ndarray
    det_pr: np.ndarray
    ass_a: np.ndarray
    ass_re: np.ndarray
    ass_pr: np.ndarray
    loc_a: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
