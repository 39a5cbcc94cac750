"""The secret and the shape of a watermark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the generator and the detector have in common."""

    keys: tuple[int, ...]  # one secret integer per layer, first layer first
    window: int = 4  # tokens of a context
    candidates: int = 2  # tokens that compete in one match
    uniform: bool = False  # g-values are uniform on [0, 1), instead of 0 or 1 with probability 1/2 each

    def __post_init__(self) -> None:
        if not self.keys or self.window < 1 or self.candidates < 2:
            raise ValueError("a watermark needs a key, a window of 1 or more and 2 or more candidates")

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.keys)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
