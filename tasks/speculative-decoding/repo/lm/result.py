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
