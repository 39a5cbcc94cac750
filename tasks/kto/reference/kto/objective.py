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
    logits, tokens = np.asarray(logits, dtype=np.float64), np.asarray(tokens)
    mask = np.asarray(mask, dtype=bool)
    if logits.ndim != 3 or not tokens.shape == mask.shape == logits.shape[:2]:
        raise ValueError(f"logits {logits.shape}, tokens {tokens.shape} and mask {mask.shape} do not fit")
    rows, places = np.nonzero(mask[:, 1:])  # the logits at a place score the token after it
    scored = tokens[rows, places + 1]
    if np.any((scored < 0) | (scored >= logits.shape[2])):
        raise ValueError(f"scored tokens must be from 0 to {logits.shape[2] - 1}")
    logps = logits[rows, places, scored] - logsumexp(logits[rows, places])
    sums = np.zeros(len(logits))
    np.add.at(sums, rows, logps)
    return sums


def reference_point(
    prompts: Sequence[np.ndarray], completions: Sequence[np.ndarray], policy: Model, reference: Model
) -> float:
    """The point from which gains and losses are measured, from mismatched pairs."""
    if len(prompts) < 2 or len(completions) != len(prompts):
        raise ValueError(f"{len(prompts)} prompts and {len(completions)} completions cannot be mismatched")
    tokens, mask = pad(prompts, [*completions[1:], completions[0]])
    ratios = completion_logps(policy(tokens), tokens, mask) - completion_logps(reference(tokens), tokens, mask)
    return max(0.0, float(ratios.mean()))


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
    desirable = np.asarray(desirable, dtype=bool)
    if policy_logps.ndim != 1 or not policy_logps.shape == reference_logps.shape == desirable.shape != (0,):
        raise ValueError("log-probabilities and labels must be (m,), with at least one example")
    if not beta > 0.0:
        raise ValueError(f"beta must be positive, not {beta}")
    ratios = policy_logps - reference_logps
    sign, weights = np.where(desirable, 1.0, -1.0), np.where(desirable, desirable_weight, undesirable_weight)
    gain = sign * beta * (ratios - z0)
    small = np.exp(-np.abs(gain))  # never overflows; 1 - sigma(gain) is sigma(-gain), without cancellation
    losses = weights * np.where(gain > 0.0, small, 1.0) / (1.0 + small)
    gradients = -sign * weights * beta * small / (1.0 + small) ** 2 / len(ratios)
    return Losses(losses=losses, mean=float(losses.mean()), rewards=beta * ratios, gradients=gradients)


def balanced_weights(desirable: np.ndarray, ratio: float = 1.0) -> tuple[float, float]:
    """Weights of desirable and undesirable examples whose totals have the given ratio."""
    desirable = np.asarray(desirable, dtype=bool)
    good, bad = int(desirable.sum()), int((~desirable).sum())
    if good == 0 or bad == 0:
        raise ValueError("there must be examples of both kinds")
    if not RATIOS[0] <= ratio <= RATIOS[1]:
        raise ValueError(f"ratio must be from {RATIOS[0]} to {RATIOS[1]}, not {ratio}")
    share = ratio * bad / good
    return max(1.0, share), max(1.0, 1.0 / share)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
