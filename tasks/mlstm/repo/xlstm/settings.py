"""The sizes of a layer, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from .gates import KINDS


@dataclass(frozen=True)
class Settings:
    """Sizes for one token and one head, and how the layer runs. Raises ValueError for what cannot be run.

    inputs, keys, values: numbers of features X, K and V.
    heads: number of heads H, each with a memory of its own.
    chunk: number of tokens that are taken at once.
    forget: kind of the forget gate, one of `KINDS`.
    """

    inputs: int
    keys: int
    values: int
    heads: int = 1
    chunk: int = 64
    forget: str = "sigmoid"

    def __post_init__(self) -> None:
        for name in ("inputs", "keys", "values", "heads", "chunk"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.forget not in KINDS:
            raise ValueError(f"the forget gate is one of {', '.join(KINDS)}, not {self.forget!r}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
