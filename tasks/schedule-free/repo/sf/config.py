"""Hyperparameters, checked once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RULES = ("sgd", "adamw")


@dataclass(frozen=True)
class Config:
    """Hyperparameters of both optimisers.

    rule: "sgd" or "adamw".
    lr: base learning rate, from 0 to 1e30.
    beta: weight of x in the training point y, from 0 to 1, both included.
    beta2: decay of the second moment, from 0 (included) to 1 (excluded); AdamW only.
    eps: added to the root of the second moment, >= 0; AdamW only.
    weight_decay: decoupled decay, from 0 to 1e30, for both rules.
    warmup_steps: length of the linear warm-up, an integer >= 0.
    lr_power, step_power: exponents of the largest learning rate and of the step in the weights of the average, from 0 to 8.
    """

    rule: str = "sgd"
    lr: float = 1.0
    beta: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = 0.0
    warmup_steps: int = 0
    lr_power: float = 2.0
    step_power: float = 0.0

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"the rule must be one of {RULES}, not {self.rule!r}")
        for name in ("lr", "eps", "weight_decay", "warmup_steps", "lr_power", "step_power"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be finite and not negative, not {value}")
        for name, most in (("lr", 1e30), ("weight_decay", 1e30), ("lr_power", 8), ("step_power", 8)):
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be at most {most}, not {getattr(self, name)}")
        if not 0.0 <= self.beta <= 1.0:
            raise ValueError(f"beta must be from 0 to 1, not {self.beta}")
        if not 0.0 <= self.beta2 < 1.0:
            raise ValueError(f"beta2 must be at least 0 and below 1, not {self.beta2}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
