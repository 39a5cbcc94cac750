"""Ordinary decoding."""

from __future__ import annotations

from lm.models import Model
from lm.result import Generation
from lm.sampling import draw, probabilities
from lm.settings import Settings
from lm.stream import Uniforms


def generate(model: Model, prompt: list[int], settings: Settings, seed: int) -> Generation:
    """Sample token after token until the end-of-text token or the limit. Raises ValueError for an empty prompt."""
    if not prompt:
        raise ValueError("the prompt is empty")
    stream = Uniforms(seed)
    tokens: list[int] = []
    while len(tokens) < settings.max_new_tokens and (not tokens or tokens[-1] != settings.eos):
        distribution = probabilities(model([*prompt, *tokens])[-1], settings)
        tokens.append(draw(distribution, stream.take(1)[0]))
    return Generation(tokens=tokens, rounds=len(tokens), drafted=0, accepted=0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
