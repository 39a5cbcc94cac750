"""What decoding returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Generation:
    """The new tokens, without the prompt, and how they came about."""

    tokens: list[int]
    rounds: int  # calls of the target model
    drafted: int  # tokens that the draft model proposed
    accepted: int  # proposed tokens that verification accepted


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
