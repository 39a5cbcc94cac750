"""The objective of KTO (Ethayarajh et al., ICML 2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .batches import pad
from .numerics import logsumexp
from .results import Losses
from .settings import RATIOS

Model = Callable[[np.ndarray], np.ndarray]


def completion_logps(logits: np.ndarray, tokens: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Log-probability of each completion, (B,)."""
    logits = np.asarray(logits, dtype=np.float64)
    tokens = np.asarray(tokens)
    mask = np.asarray(mask).astype(bool)
    if logits.ndim != 3:
        raise ValueError(f"logits must have three axes, not {logits.ndim}")
    if tokens.shape != logits.shape[:2] or mask.shape != logits.shape[:2]:
        raise ValueError(f"tokens {tokens.shape} and mask {mask.shape} must be {logits.shape[:2]}")
    scored = mask[:, 1:]
    chosen = tokens[:, 1:][scored]
    if np.any(chosen < 0) or np.any(chosen >= logits.shape[2]):
        raise ValueError(f"tokens of completions must be at least 0 and below {logits.shape[2]}")
    terms = np.zeros(scored.shape)
    if chosen.size:
        rows = logits[:, :-1][scored]
        rows = rows - rows.max(axis=-1, keepdims=True)
        terms[scored] = rows[np.arange(len(rows)), chosen.astype(np.int64)] - logsumexp(rows)
    return terms.sum(axis=1)


def reference_point(
    prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray], policy: Model, reference: Model
) -> float:
    """The point from which gains and losses are measured, from mismatched pairs."""
    prompts, completions = list(prompts), list(completions)
    if len(prompts) < 2 or len(completions) != len(prompts):
        raise ValueError(f"need at least two prompts, not {len(prompts)}, and as many completions, not {len(completions)}")
    tokens, mask = pad(prompts, completions[1:] + completions[:1])
    found, known = (completion_logps(model(tokens.copy()), tokens, mask) for model in (policy, reference))
    return max(0.0, float(np.mean(found - known)))


def _sigmoid(values: np.ndarray) -> np.ndarray:
    """The logistic function, accurate relative to itself."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0.0, 1.0, small) / (1.0 + small)


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
    policy_logps = np.asarray(policy_logps, dtype=np.float64)
    reference_logps = np.asarray(reference_logps, dtype=np.float64)
    desirable = np.asarray(desirable).astype(bool)
    if policy_logps.ndim != 1 or policy_logps.size == 0:
        raise ValueError(f"log-probabilities must be (m,) with m >= 1, not {policy_logps.shape}")
    if not policy_logps.shape == reference_logps.shape == desirable.shape:
        raise ValueError(f"shapes differ: {policy_logps.shape}, {reference_logps.shape}, {desirable.shape}")
    if not beta > 0.0:
        raise ValueError(f"beta must be positive, not {beta}")
    ratios = policy_logps - reference_logps
    signs = np.where(desirable, 1.0, -1.0)
    weights = np.where(desirable, float(desirable_weight), float(undesirable_weight))
    gains = signs * (beta * (ratios - float(z0)))
    # weight - weight sigma(x) is weight sigma(-x), without the cancellation
    losses = weights * _sigmoid(-gains)
    gradients = -signs * beta * losses * _sigmoid(gains) / len(losses)
    return Losses(losses, float(losses.mean()), beta * ratios, gradients)


def balanced_weights(desirable: np.ndarray, ratio: float = 1.0) -> tuple[float, float]:
    """Weights of desirable and undesirable examples whose totals have the given ratio."""
    desirable = np.asarray(desirable).astype(bool)
    good = int(desirable.sum())
    bad = desirable.size - good
    if good == 0 or bad == 0:
        raise ValueError(f"need both kinds of examples, not {good} desirable and {bad} undesirable ones")
    if not RATIOS[0] <= ratio <= RATIOS[1]:
        raise ValueError(f"ratio must be in {RATIOS}, not {ratio}")
    wanted = float(ratio) * bad
    if wanted >= good:
        return wanted / good, 1.0
    return 1.0, good / wanted


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
