"""Settings of the metric."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """order: longest n-gram. beta: recall counts beta times as much as precision, from 1e-30 to 1e30."""

    order: int = 6
    beta: float = 2.0

    def __post_init__(self) -> None:
        if self.order < 1 or not 1e-30 <= self.beta <= 1e30:
            raise ValueError(f"order {self.order} must be positive, and beta {self.beta} from 1e-30 to 1e30")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
