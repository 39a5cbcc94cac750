"""Draws of a sampler and the names of its variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Samples:
    """Draws of P named variables from C chains.

    names: P different names.
    draws: `(N, C, P)`, N draws of each chain.
    superchain_ids: `(C,)` integers; chains with the same id started at the same point.
    """

    names: tuple[str, ...]
    draws: np.ndarray
    superchain_ids: np.ndarray

    def __post_init__(self) -> None:
        if self.draws.ndim != 3 or self.draws.shape[2] != len(set(self.names)):
            raise ValueError(f"draws {self.draws.shape} do not fit {len(self.names)} names")

    def without_warmup(self, steps: int) -> Samples:
        """The same chains without their first `steps` draws."""
        return Samples(self.names, self.draws[steps:], self.superchain_ids)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
