"""Speculative decoding: a small model drafts, the large one verifies."""

from __future__ import annotations

import numpy as np
from lm.models import Model
from lm.result import Generation
from lm.sampling import draw, probabilities
from lm.settings import Settings
from lm.stream import Uniforms


def residual(target: np.ndarray, draft: np.ndarray) -> np.ndarray:
    """Return the distribution to sample from after a rejection."""
    target = np.array(target, dtype=np.float64)
    draft = np.asarray(draft, dtype=np.float64)
    if target.shape != draft.shape:
        raise ValueError(f"target {target.shape} and draft {draft.shape} must have the same shape")
    result = target - np.minimum(target, draft)
    # Measured by the largest difference of its row first, so that even subnormal differences have an ordinary sum.
    largest = result.max(axis=-1, keepdims=True)
    differs = largest > 0.0
    result = np.divide(result, largest, out=target, where=differs)
    total = result.sum(axis=-1, keepdims=True)
    return np.divide(result, total, out=result, where=differs)


def verify(target: np.ndarray, draft: np.ndarray, proposed: np.ndarray, uniforms: np.ndarray) -> tuple[int, int]:
    """Return how many proposed tokens are accepted, and the token that follows them."""
    target = np.asarray(target, dtype=np.float64)
    draft = np.asarray(draft, dtype=np.float64)
    uniforms = np.asarray(uniforms, dtype=np.float64)
    proposed = np.asarray(proposed)
    if target.ndim != 2 or proposed.ndim != 1:
        raise ValueError(f"target {target.shape} must be a matrix and proposed {proposed.shape} a vector")
    gamma = len(proposed)
    if gamma == 0 and draft.size == 0:
        draft = np.empty((0, target.shape[1]))
    if len(target) != gamma + 1 or draft.shape != (gamma, target.shape[1]) or uniforms.shape != (gamma + 1,):
        raise ValueError(
            f"target {target.shape}, draft {draft.shape} and uniforms {uniforms.shape} do not fit {gamma} proposals"
        )

    tokens = proposed.astype(np.int64)
    places = np.arange(gamma)
    kept = uniforms[:-1] * draft[places, tokens] < target[places, tokens]
    accepted = int(np.logical_and.accumulate(kept).sum())
    following = target[-1] if accepted == gamma else residual(target[accepted], draft[accepted])
    return accepted, int(draw(following, float(uniforms[-1])))


def speedup(target: np.ndarray, draft: np.ndarray, gammas: np.ndarray, cost: float) -> np.ndarray:
    """Return the expected improvement in walltime for each draft length."""
    gammas = np.asarray(gammas, dtype=np.float64)
    if (gammas < 0).any():
        raise ValueError("a draft length is negative")
    if not cost >= 0:
        raise ValueError(f"cost must not be negative, as {cost} is")
    overlaps = np.minimum(np.asarray(target, dtype=np.float64), np.asarray(draft, dtype=np.float64)).sum(axis=-1)
    # (5) in terms of delta = 1 - alpha is -expm1((gamma + 1) log1p(-delta)) / delta, which has no cancellation: not
    # for small delta, and not for large one. For delta = 1 the logarithm is -inf, as it should be.
    delta = 1.0 - float(overlaps.mean())
    if delta == 0.0:
        tokens = gammas + 1.0
    else:
        with np.errstate(divide="ignore"):
            tokens = -np.expm1((gammas + 1.0) * np.log1p(-delta)) / delta
    return tokens / (gammas * cost + 1.0)


def generate(target: Model, draft: Model, prompt: list[int], settings: Settings, seed: int) -> Generation:
    """Decode with speculation; the tokens are distributed as the target's own."""
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    stream = Uniforms(seed)
    text = list(prompt)
    limit = len(text) + settings.max_new_tokens
    rounds = drafted = kept = 0
    ended = False
    while not ended and len(text) < limit:
        distributions, proposals = _propose(draft, text, min(settings.gamma, limit - len(text) - 1), settings, stream)
        scores = np.asarray(target([*text, *proposals]))[len(text) - 1 :]
        uniforms = stream.take(len(proposals) + 1)
        accepted, token = verify(probabilities(scores, settings), distributions, proposals, uniforms)
        rounds += 1
        drafted += len(proposals)
        kept += accepted

        text += proposals[:accepted]
        ended = accepted > 0 and text[-1] == settings.eos
        if not ended:
            text.append(token)
            ended = token == settings.eos
    return Generation(tokens=text[len(prompt) :], rounds=rounds, drafted=drafted, accepted=kept)


def _propose(
    draft: Model, text: list[int], count: int, settings: Settings, stream: Uniforms
) -> tuple[list[np.ndarray], list[int]]:
    """At most `count` tokens that the draft model adds to the text, and the distributions that they come from."""
    distributions: list[np.ndarray] = []
    proposals: list[int] = []
    while len(proposals) < count and settings.eos not in proposals[-1:]:
        distribution = probabilities(np.asarray(draft([*text, *proposals]))[-1], settings)
        distributions.append(distribution)
        proposals.append(draw(distribution, stream.take(1)[0]))
    return distributions, proposals

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
