"""Settings of the optimiser."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Symbols are those of paper.md.

    rate: eta_0.
    decay: t, the decay of the rate per iteration.
    damping: lambda.
    momentum: mu.
    constraint: C, the largest squared length of a step, or None for no constraint.
    clip: w, the width of the interval for energies, or None for no clipping.
    """

    rate: float = 0.02
    decay: float = 1e-4
    damping: float = 1e-3
    momentum: float = 0.99
    constraint: float | None = 1e-3
    clip: float | None = 5.0


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
