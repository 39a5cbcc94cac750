"""How bytes are divided into patches."""

from __future__ import annotations

from dataclasses import dataclass

RULES = ("global", "monotonic")
NEWLINE = 10  # the byte that ends a line
PADDING = -1  # the patch of a byte that is padding


@dataclass(frozen=True)
class PatchSettings:
    """The rule for the start of a patch.

    rule: one of `RULES`.
    threshold: what the entropy, or its increase, must exceed, in nats.
    reset: whether every line begins with a new patch.
    max_length: most bytes of a patch, or None for no limit.
    """

    rule: str = "global"
    threshold: float = 1.0
    reset: bool = True
    max_length: int | None = None


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
