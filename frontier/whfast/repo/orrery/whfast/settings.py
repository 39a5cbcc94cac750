"""Settings of a run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Step in days (negative for the past) and order of the symplectic corrector (0 for none)."""

    dt: float
    corrector: int = 0


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
