"""How a cache is compressed."""

from __future__ import annotations

from dataclasses import dataclass

POOLINGS = ("average", "max")


@dataclass(frozen=True)
class Settings:
    """window: tokens at the end of the prompt that vote. capacity: most entries of each head, window included."""

    window: int = 32
    capacity: int = 1024
    kernel: int = 5
    pooling: str = "average"

    def __post_init__(self) -> None:
        if not 1 <= self.window < self.capacity:
            raise ValueError(f"a window of {self.window} does not fit into a capacity of {self.capacity}")
        if self.kernel < 1 or self.kernel % 2 == 0:
            raise ValueError(f"the kernel must be odd and positive, not {self.kernel}")
        if self.pooling not in POOLINGS:
            raise ValueError(f"unknown pooling {self.pooling!r}: choose one of {', '.join(POOLINGS)}")


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
