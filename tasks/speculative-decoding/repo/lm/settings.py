"""How to decode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Raises ValueError for a negative temperature, draft length or limit, and for top_k below one."""

    max_new_tokens: int
    gamma: int = 4  # tokens the draft model proposes per round, at most
    temperature: float = 1.0  # 0 is greedy
    top_k: int | None = None  # None: all tokens
    eos: int | None = None  # None: nothing ends the text but the limit

    def __post_init__(self) -> None:
        if self.temperature < 0 or self.gamma < 0 or self.max_new_tokens < 0:
            raise ValueError("temperature, gamma and max_new_tokens must not be negative")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError("top_k must be at least 1")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
