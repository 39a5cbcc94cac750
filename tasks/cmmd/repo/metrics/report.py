"""The driver: generators in the order of their distance to real images."""

from __future__ import annotations

from .cmmd import cmmd
from .store import Store


def ranking(real: Store, generated: dict[str, Store]) -> list[tuple[str, float]]:
    """Names of generators and their CMMD, the best one first."""
    found = {name: cmmd(store, real) for name, store in generated.items()}
    return sorted(found.items(), key=lambda pair: pair[1])


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
