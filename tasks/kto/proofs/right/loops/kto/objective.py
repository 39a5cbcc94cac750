"""The objective of KTO, one token and one example at a time."""

from __future__ import annotations

import math

import numpy as np

from .numerics import logsumexp
from .results import Losses
from .settings import RATIOS


def completion_logps(logits, tokens, mask):
    """Log-probability of each completion."""
    logits = np.array(logits, dtype=float)
    tokens, mask = np.array(tokens), np.array(mask)
    if logits.ndim != 3 or tokens.shape != logits.shape[:2] or mask.shape != logits.shape[:2]:
        raise ValueError("shapes do not fit")
    found = np.zeros(logits.shape[0])
    for b in range(logits.shape[0]):
        for t in range(1, logits.shape[1]):
            if mask[b, t]:
                token = int(tokens[b, t])
                if not 0 <= token < logits.shape[2]:
                    raise ValueError(f"no token {token}")
                found[b] += logits[b, t - 1, token] - logsumexp(logits[b, t - 1])
    return found


def reference_point(prompts, completions, policy, reference):
    """The point from which gains and losses are measured; one pair at a time, without padding."""
    count = len(prompts)
    if count < 2 or count != len(completions):
        raise ValueError("at least two prompts and as many completions")
    total = 0.0
    for i in range(count):
        tokens = np.concatenate([prompts[i], completions[(i + 1) % count]]).astype(np.int64)[None]
        mask = np.arange(tokens.shape[1])[None] >= len(prompts[i])
        total += (completion_logps(policy(tokens), tokens, mask) - completion_logps(reference(tokens), tokens, mask))[0]
    return max(float(total) / count, 0.0)


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))


def kto_loss(
    policy_logps,
    reference_logps,
    desirable,
    z0,
    *,
    beta=0.1,
    desirable_weight=1.0,
    undesirable_weight=1.0,
):
    """Losses, rewards and gradients of a batch."""
    policy, reference, labels = np.array(policy_logps, float), np.array(reference_logps, float), np.array(desirable)
    if policy.ndim != 1 or policy.shape != reference.shape or policy.shape != labels.shape or policy.size == 0:
        raise ValueError("three arrays of the same length")
    if not beta > 0:
        raise ValueError("beta must be positive")
    losses, rewards, gradients = [], [], []
    for ours, theirs, good in zip(policy.tolist(), reference.tolist(), labels.tolist(), strict=True):
        ratio = ours - theirs
        x = beta * (ratio - z0) if good else beta * (z0 - ratio)
        weight = desirable_weight if good else undesirable_weight
        losses.append(weight * _sigmoid(-x))
        rewards.append(beta * ratio)
        slope = weight * beta * _sigmoid(x) * _sigmoid(-x) / len(policy)
        gradients.append(-slope if good else slope)
    return Losses(np.array(losses), sum(losses) / len(losses), np.array(rewards), np.array(gradients))


def balanced_weights(desirable, ratio=1.0):
    """Weights of desirable and undesirable examples whose totals have the given ratio."""
    labels = [bool(each) for each in desirable]
    good = sum(labels)
    bad = len(labels) - good
    if good * bad == 0 or ratio < RATIOS[0] or ratio > RATIOS[1]:
        raise ValueError("both kinds of examples and an allowed ratio are needed")
    if good <= ratio * bad:
        return float(ratio * bad / good), 1.0
    return 1.0, float(good / (ratio * bad))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
