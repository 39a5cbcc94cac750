"""Hyper-parameters of the optimizer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """What stays the same during training.

    lr: learning rate, where none is given for an update.
    beta1, beta2: decay rates of the first moment, and of the second moment and the preconditioners.
    eps: added to the root of the second moment.
    weight_decay: lambda of (5).
    frequency: f, the number of updates between two changes of the bases.
    max_size: the largest axis that is preconditioned.
    collect: number of first updates that only collect statistics for the first bases.
    """

    lr: float = 3e-3
    beta1: float = 0.95
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.01
    frequency: int = 10
    max_size: int = 10_000
    collect: int = 1

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be in [0, 1), not {getattr(self, name)}")
        if self.frequency < 1 or self.collect < 0:
            raise ValueError(f"frequency {self.frequency} must be positive, collect {self.collect} not negative")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
