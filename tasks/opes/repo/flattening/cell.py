"""The space of collective variables, some of which may be periodic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Cell:
    """periods: one for each of the d variables; 0 for a variable that is not periodic."""

    periods: tuple[float, ...]

    def points(self, values: np.ndarray) -> np.ndarray:
        """The values as a new (N, d) float64 array. Raises ValueError for another shape."""
        given = np.array(values, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != len(self.periods):
            raise ValueError(f"points must be (N, {len(self.periods)}), not {given.shape}")
        return given

    def difference(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The shortest way from `start` to `end`, which broadcast; the last axis has d entries."""
        way = np.asarray(end, dtype=np.float64) - np.asarray(start, dtype=np.float64)
        periods = np.array(self.periods)
        safe = np.where(periods > 0.0, periods, 1.0)
        return way - np.where(periods > 0.0, periods * np.round(way / safe), 0.0)

    def wrap(self, points: np.ndarray) -> np.ndarray:
        """The same points with periodic variables from minus to plus half a period."""
        return self.difference(np.zeros(len(self.periods)), points)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
