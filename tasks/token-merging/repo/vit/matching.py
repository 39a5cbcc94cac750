"""Which tokens of a block are merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Matching:
    """A partition of the positions of T tokens. All arrays are int64; all but `destinations` increase.

    `sources[i]` is merged into `destinations[i]`, one of `second`. `first`, then `second`, are the positions that remain.
    """

    first: np.ndarray  # (m,)
    second: np.ndarray  # (n,)
    sources: np.ndarray  # (r,)
    destinations: np.ndarray  # (r,)

    @property
    def before(self) -> int:
        """Number of tokens before merging, T."""
        return self.after + len(self.sources)

    @property
    def after(self) -> int:
        """Number of tokens after merging, T'."""
        return len(self.first) + len(self.second)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
