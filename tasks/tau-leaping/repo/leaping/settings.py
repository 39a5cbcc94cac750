"""What is chosen by the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Parameters of the method.

    epsilon: bound of the relative change of propensities in one leap.
    critical_limit: a reaction that can happen fewer times than this before a reactant is used up is critical.
    exact_factor: leaps shorter than so many mean waiting times are not worth while.
    exact_steps: number of exact steps in their place.
    """

    epsilon: float = 0.03
    critical_limit: int = 10
    exact_factor: float = 10.0
    exact_steps: int = 100


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
