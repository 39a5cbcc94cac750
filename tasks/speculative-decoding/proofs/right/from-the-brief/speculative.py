"""Speculative decoding: a small model drafts, the large one verifies (Leviathan, Kalman and Matias, 2023)."""

from __future__ import annotations

import numpy as np
from lm.models import Model
from lm.result import Generation
from lm.sampling import draw, probabilities
from lm.settings import Settings
from lm.stream import Uniforms


def residual(target: np.ndarray, draft: np.ndarray) -> np.ndarray:
    """Return the distribution to sample from after a rejection, along the last axis.

    Where the draft leaves nothing of the target, as when both are the same, it is the target itself.
    """
    target, draft = _distributions(target), _distributions(draft)
    if target.shape != draft.shape:
        raise ValueError(f"target has shape {target.shape}, but draft {draft.shape}")
    excess = np.maximum(target - draft, 0.0)
    total = excess.sum(axis=-1, keepdims=True)
    something = total > 0.0
    return np.where(something, excess / np.where(something, total, 1.0), target)


def verify(target: np.ndarray, draft: np.ndarray, proposed: np.ndarray, uniforms: np.ndarray) -> tuple[int, int]:
    """Return how many proposed tokens are accepted, and the token that follows them.

    The last uniform number draws that token, the others decide on the proposals. Raises ValueError for lengths that do
    not fit together.
    """
    target, draft = _distributions(target), _distributions(draft)
    proposed = [int(token) for token in proposed]
    uniforms = np.asarray(uniforms, dtype=np.float64)
    gamma = len(proposed)
    if target.ndim != 2 or uniforms.ndim != 1 or not len(target) == len(uniforms) == gamma + 1 or len(draft) != gamma:
        raise ValueError(
            f"{gamma} proposed tokens do not fit target {target.shape}, draft {draft.shape}, uniforms {uniforms.shape}"
        )
    if gamma and draft.shape != target[:gamma].shape:
        raise ValueError(f"target {target.shape} and draft {draft.shape} differ in their vocabulary")

    for position, token in enumerate(proposed):
        if not uniforms[position] * draft[position, token] < target[position, token]:
            return position, draw(residual(target[position], draft[position]), uniforms[-1])
    return gamma, draw(target[-1], uniforms[-1])


def speedup(target: np.ndarray, draft: np.ndarray, gammas: np.ndarray, cost: float) -> np.ndarray:
    """Return the expected improvement in walltime for each draft length.

    Raises ValueError for a negative length or cost, and for distributions that do not fit together.
    """
    target, draft = _distributions(target), _distributions(draft)
    if target.ndim != 2 or target.shape != draft.shape or not len(target):
        raise ValueError(f"target {target.shape} and draft {draft.shape} must both be (n, V), with n of at least 1")
    gammas = np.asarray(gammas, dtype=np.float64)
    if not (gammas >= 0.0).all():
        raise ValueError("a draft length is negative")
    if not cost >= 0.0:
        raise ValueError(f"cost must not be negative, not {cost}")
    alpha = np.minimum(target, draft).sum(axis=-1).mean()
    return _expected_tokens(float(alpha), gammas) / (gammas * cost + 1.0)


def _expected_tokens(alpha: float, gammas: np.ndarray) -> np.ndarray:
    """Return 1 + alpha + ... + alpha^gamma for each gamma, without cancellation however close alpha is to 1."""
    if alpha >= 1.0:  # sums of probabilities may also round to a little more than one
        return gammas + 1.0
    if alpha <= 0.0:
        return np.ones_like(gammas)
    return -np.expm1((gammas + 1.0) * np.log(alpha)) / (1.0 - alpha)


def generate(target: Model, draft: Model, prompt: list[int], settings: Settings, seed: int) -> Generation:
    """Decode with speculation; the tokens are distributed as the target's own. ValueError for an empty prompt."""
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    stream = Uniforms(seed)
    tokens: list[int] = []
    rounds = drafted = accepted = 0
    while len(tokens) < settings.max_new_tokens and not _ended(tokens, settings):
        context = [*prompt, *tokens]
        room = settings.max_new_tokens - len(tokens)
        proposed, guesses = _propose(draft, context, min(settings.gamma, room - 1), settings, stream)
        logits = np.asarray(target([*context, *proposed]))
        # The row of a token scores its successor: the last row of the context belongs to the first proposal.
        truth = probabilities(logits[len(context) - 1 :], settings)
        kept, extra = verify(truth, guesses, proposed, stream.take(len(proposed) + 1))

        tokens += proposed[:kept]
        if not _ended(tokens, settings):
            tokens.append(extra)
        rounds += 1
        drafted += len(proposed)
        accepted += kept
    return Generation(tokens=tokens, rounds=rounds, drafted=drafted, accepted=accepted)


def _propose(
    draft: Model, context: list[int], count: int, settings: Settings, stream: Uniforms
) -> tuple[list[int], list[np.ndarray]]:
    """Let the draft model continue the context by up to `count` tokens, none of them after the end of the text.

    Returns the tokens, and the distribution that each was drawn from.
    """
    proposed: list[int] = []
    distributions: list[np.ndarray] = []
    while len(proposed) < count and not _ended(proposed, settings):
        distribution = probabilities(draft([*context, *proposed])[-1], settings)
        proposed.append(draw(distribution, stream.take(1)[0]))
        distributions.append(distribution)
    return proposed, distributions


def _ended(tokens: list[int], settings: Settings) -> bool:
    """Whether the last token ends the text."""
    return settings.eos is not None and bool(tokens) and tokens[-1] == settings.eos


def _distributions(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
