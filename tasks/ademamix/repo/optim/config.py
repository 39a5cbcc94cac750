"""Hyper-parameters of the optimizer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """What stays the same during training.

    lr: learning rate, where none is given for an update.
    beta1, beta2, beta3: decay rates of the fast average, the second moment and the slow average (after its warm-up).
    alpha: weight of the slow average (after its warm-up).
    eps: added to the root of the second moment.
    weight_decay: lambda of (4).
    beta3_warmup, alpha_warmup: updates until beta3 and alpha have their values; None or 0 for no schedule.
    """

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    beta3: float = 0.9999
    alpha: float = 5.0
    eps: float = 1e-8
    weight_decay: float = 0.0
    beta3_warmup: int | None = None
    alpha_warmup: int | None = None

    def __post_init__(self) -> None:
        for name in ("beta1", "beta2", "beta3"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} must be in [0, 1), not {getattr(self, name)}")
        for name in ("lr", "alpha", "eps", "weight_decay"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
        for name in ("beta3_warmup", "alpha_warmup"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
