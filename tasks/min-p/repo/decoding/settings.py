"""How tokens are sampled."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplerSettings:
    """Temperature and truncation. Raises ValueError for values out of range.

    temperature: what logits are divided by, finite and >= 0; 0 is greedy decoding.
    top_p: the mass that the nucleus must reach, in [0, 1]; 1 is no truncation.
    min_p: the least probability of a token relative to the most probable one, in [0, 1]; 0 is no truncation.
    min_tokens: the number of tokens that truncation must leave, at least 1.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    min_p: float = 0.0
    min_tokens: int = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be finite and not negative, not {self.temperature}")
        if not (0.0 <= self.top_p <= 1.0 and 0.0 <= self.min_p <= 1.0):
            raise ValueError(f"top_p {self.top_p} and min_p {self.min_p} must be in [0, 1]")
        if self.min_tokens < 1:
            raise ValueError(f"min_tokens must be at least 1, not {self.min_tokens}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
