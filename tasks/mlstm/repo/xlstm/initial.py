"""Random layers and random tokens, for a first run and for checks."""

from __future__ import annotations

import numpy as np

from .inputs import Inputs
from .layer import Layer
from .settings import Settings


def layer(settings: Settings, rng: np.random.Generator) -> Layer:
    """A layer whose projections of tokens with features of size 1 have size 1, too."""

    def draw(*size: int) -> np.ndarray:
        return rng.normal(size=(settings.heads, settings.inputs, *size)) / np.sqrt(settings.inputs)

    return Layer(
        query=draw(settings.keys),
        key=draw(settings.keys),
        value=draw(settings.values),
        output=draw(settings.values),
        input_gate=draw(),
        forget_gate=draw(),
        forget=settings.forget,
    )


def tokens(settings: Settings, leading: tuple[int, ...], length: int, rng: np.random.Generator) -> Inputs:
    """Sequences `(*leading, length)` as a cell reads them. Input gates are as wide as they get in training."""
    axes = (*leading, length)
    features = (rng.normal(size=(*axes, size)) for size in (settings.keys, settings.keys, settings.values))
    return Inputs.of(*features, 10.0 * rng.normal(size=axes), rng.normal(size=axes) + 3.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
