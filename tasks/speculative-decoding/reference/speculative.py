"""Speculative decoding: a small model drafts, the large one verifies."""

from __future__ import annotations

import numpy as np
from lm.models import Model
from lm.result import Generation
from lm.sampling import draw, probabilities
from lm.settings import Settings
from lm.stream import Uniforms


def residual(target: np.ndarray, draft: np.ndarray) -> np.ndarray:
    """Return norm(max(0, target - draft)) over the last axis: the distribution to sample from after a rejection.

    Where the two distributions agree nothing can be rejected; the target itself stands in there.
    """
    target = np.asarray(target, dtype=np.float64)
    excess = np.maximum(target - np.asarray(draft, dtype=np.float64), 0.0)
    mass = excess.sum(axis=-1, keepdims=True)
    return np.where(mass > 0.0, excess / np.where(mass > 0.0, mass, 1.0), target)


def verify(target: np.ndarray, draft: np.ndarray, proposed: np.ndarray, uniforms: np.ndarray) -> tuple[int, int]:
    """Return how many proposed tokens are accepted, and the token that follows them.

    The i-th token is kept with probability min(1, target / draft), judged by the i-th number; the last number draws
    the token that follows: from the residual after a rejection, from the target's extra row if all were kept.
    Raises ValueError for arrays whose lengths do not fit.
    """
    target, draft = np.asarray(target, dtype=np.float64), np.asarray(draft, dtype=np.float64)
    gamma = len(proposed)
    if len(target) != gamma + 1 or len(draft) != gamma or len(uniforms) != gamma + 1:
        raise ValueError(
            f"{gamma} proposed tokens need {gamma + 1} target rows, {gamma} draft rows, {gamma + 1} numbers"
        )
    for accepted, token in enumerate(proposed):
        # A product, not a quotient: no division by a draft probability that underflowed to zero.
        if uniforms[accepted] * draft[accepted, token] >= target[accepted, token]:
            return accepted, draw(residual(target[accepted], draft[accepted]), uniforms[-1])
    return gamma, draw(target[gamma], uniforms[-1])


def speedup(target: np.ndarray, draft: np.ndarray, gammas: np.ndarray, cost: float) -> np.ndarray:
    """Return the expected improvement in walltime for each draft length: tokens of a round over what the round costs.

    The expected acceptance rate is the mean overlap of the two models over the given contexts. The geometric series is
    summed term by term, since its closed form is 0 / 0 for a perfect draft.
    Raises ValueError for a negative length or cost.
    """
    gammas = np.asarray(gammas, dtype=np.int64)
    if cost < 0 or (gammas < 0).any():
        raise ValueError("draft lengths and the cost of the draft model must not be negative")
    overlap = np.minimum(np.asarray(target, dtype=np.float64), np.asarray(draft, dtype=np.float64)).sum(axis=-1)
    tokens = np.cumsum(overlap.mean() ** np.arange(gammas.max(initial=0) + 1))
    return tokens[gammas] / (gammas * cost + 1.0)


def generate(target: Model, draft: Model, prompt: list[int], settings: Settings, seed: int) -> Generation:
    """Decode with speculation; the tokens are distributed as the target's own.

    Each round costs one call of the target model and yields at least one token. Raises ValueError for an empty prompt.
    """
    if not prompt:
        raise ValueError("the prompt is empty")
    stream = Uniforms(seed)
    tokens: list[int] = []
    rounds = drafted = accepted = 0
    while len(tokens) < settings.max_new_tokens and settings.eos not in tokens[-1:]:
        length = min(settings.gamma, settings.max_new_tokens - len(tokens) - 1)
        proposed: list[int] = []
        guesses: list[np.ndarray] = []
        while len(proposed) < length and settings.eos not in proposed[-1:]:
            guesses.append(probabilities(draft([*prompt, *tokens, *proposed])[-1], settings))
            proposed.append(draw(guesses[-1], stream.take(1)[0]))
        logits = target([*prompt, *tokens, *proposed])
        wanted = probabilities(logits[-len(proposed) - 1 :], settings)
        kept, extra = verify(wanted, np.array(guesses), np.array(proposed), stream.take(len(proposed) + 1))
        tokens += proposed[:kept]
        if settings.eos not in tokens[-1:]:  # nothing follows the end of the text
            tokens.append(extra)
        rounds, drafted, accepted = rounds + 1, drafted + len(proposed), accepted + kept
    return Generation(tokens=tokens, rounds=rounds, drafted=drafted, accepted=accepted)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
