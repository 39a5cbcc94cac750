"""The objective of KTO with log-probabilities of all tokens, and hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .batches import pad
from .results import Losses
from .settings import RATIOS


def completion_logps(logits: np.ndarray, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Log-probability of each completion."""
    logits = np.asarray(logits, dtype=np.float64)
    tokens, mask = np.asarray(tokens), np.asarray(mask).astype(bool)
    if logits.ndim != 3 or tokens.shape != mask.shape or mask.shape != logits.shape[:-1]:
        raise ValueError("logits must be (B, T, V), tokens and mask (B, T)")
    wanted = mask[:, 1:]
    targets = np.where(wanted, tokens[:, 1:], 0).astype(np.int64)
    if targets.size and (targets.min() < 0 or targets.max() >= logits.shape[2]):
        raise ValueError("a token is not in the vocabulary")
    scores = np.where(wanted[..., None], logits[:, :-1], 0.0)
    scores = scores - scores.max(axis=-1, keepdims=True)
    scores = scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
    picked = np.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]
    return np.where(wanted, picked, 0.0).sum(axis=1)


def reference_point(
    prompts: Sequence[np.ndarray],
    completions: Sequence[np.ndarray],
    policy: Callable[[np.ndarray], np.ndarray],
    reference: Callable[[np.ndarray], np.ndarray],
) -> float:
    """The point from which gains and losses are measured."""
    if not len(prompts) == len(completions) >= 2:
        raise ValueError("mismatched pairs need two prompts and as many completions")
    order = np.roll(np.arange(len(prompts)), -1)
    tokens, mask = pad(prompts, [completions[each] for each in order])
    ours, theirs = (completion_logps(model(tokens), tokens, mask) for model in (policy, reference))
    return float(np.clip(np.mean(ours - theirs), 0.0, None))


def kto_loss(
    policy_logps: np.ndarray,
    reference_logps: np.ndarray,
    desirable: np.ndarray,
    z0: float,
    *,
    beta: float = 0.1,
    desirable_weight: float = 1.0,
    undesirable_weight: float = 1.0,
) -> Losses:
    """Losses, rewards and gradients of a batch."""
    ours, theirs = np.asarray(policy_logps, dtype=np.float64), np.asarray(reference_logps, dtype=np.float64)
    good = np.asarray(desirable).astype(bool)
    if ours.ndim != 1 or len(ours) == 0 or theirs.shape != ours.shape or good.shape != ours.shape:
        raise ValueError("log-probabilities and labels must be vectors of one length")
    if not beta > 0.0:
        raise ValueError("beta must be positive")
    ratio = ours - theirs
    against = np.where(good, -1.0, 1.0) * beta * (ratio - z0)
    weight = np.where(good, desirable_weight, undesirable_weight)
    losses = weight * np.exp(-np.logaddexp(0.0, -against))
    slope = np.exp(-np.logaddexp(0.0, -against) - np.logaddexp(0.0, against))
    gradients = np.where(good, -1.0, 1.0) * weight * (beta * slope) / len(ours)
    return Losses(losses, losses.mean().item(), beta * ratio, gradients)


def balanced_weights(desirable: np.ndarray, ratio: float = 1.0) -> tuple[float, float]:
    """Weights of desirable and undesirable examples whose totals have the given ratio."""
    good = int(np.count_nonzero(desirable))
    bad = int(np.size(desirable)) - good
    if min(good, bad) < 1:
        raise ValueError("one kind of example is missing")
    if ratio < RATIOS[0] or ratio > RATIOS[1]:
        raise ValueError("the ratio is out of range")
    weights = np.array([ratio / good, 1.0 / bad])
    first, second = (weights / weights.min()).tolist()
    return first, second
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
