"""Detection: g-values of a text, and how likely they are without a watermark."""

from __future__ import annotations

import numpy as np

from .seeding import g_values
from .settings import Settings


def observe(settings: Settings, tokens: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the g-values (B, T, depth) of the tokens (B, T) of texts, and which of them count (B, T).

    Raises ValueError unless `tokens` has two axes and `mask` its shape.
    """
    tokens = np.asarray(tokens)
    if tokens.ndim != 2:
        raise ValueError(f"tokens must have the shape (B, T), not {tokens.shape}")
    mask = np.ones(tokens.shape) if mask is None else np.asarray(mask)
    if mask.shape != tokens.shape:
        raise ValueError(f"the mask has the shape {mask.shape}, and the tokens {tokens.shape}")
    g = np.zeros((*tokens.shape, settings.depth))
    scored = np.zeros(tokens.shape, dtype=bool)
    for row in range(len(tokens)):
        places = np.flatnonzero(mask[row])
        text = tokens[row, places]
        seen: set[tuple[int, ...]] = set()
        for at in range(settings.window, len(text)):
            context = text[at - settings.window : at]
            if tuple(context.tolist()) not in seen:
                seen.add(tuple(context.tolist()))
                scored[row, places[at]] = True
                g[row, places[at]] = g_values(settings, context, text[[at]])[0]
    return g, scored


def mean_score(g: np.ndarray, scored: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Return the mean (B,) of the g-values (B, T, depth) that count; 0.5 for a text of which none does.

    Weighted: the weights of the layers fall evenly from 10 to 1. Raises ValueError for shapes that do not match.
    """
    values, scored = _checked(g, scored)
    depth = values.shape[-1]
    weights = np.linspace(10.0, 1.0, depth) if weighted else np.ones(depth)
    count = scored.sum(axis=1)
    means = values.sum(axis=1) @ (weights / weights.sum()) / np.maximum(count, 1)
    return np.where(count > 0, means, 0.5)


def bayesian_score(
    g: np.ndarray, scored: np.ndarray, beta: np.ndarray, delta: np.ndarray, prior: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior probability of a watermark and its log-odds, (B,) each.

    Raises ValueError for shapes that do not match, g-values that count and are neither 0 nor 1, and a prior outside (0, 1).
    """
    values, scored = _checked(g, scored)
    beta, delta = np.asarray(beta, dtype=np.float64), np.asarray(delta, dtype=np.float64)
    depth = values.shape[-1]
    if beta.shape != (depth,) or delta.shape != (depth, depth):
        raise ValueError(f"beta {beta.shape} and delta {delta.shape} do not fit to {depth} layers")
    if not 0.0 < prior < 1.0:
        raise ValueError("the prior must be between 0 and 1")
    if not np.isin(values, (0.0, 1.0)).all():
        raise ValueError("the model is for g-values of 0 and 1")
    earlier = np.tril(np.ones((depth, depth)), -1)
    distinct = _logistic(values @ np.where(earlier, delta, 0.0).T + beta)
    evidence = np.where(scored[:, :, None], np.log1p(distinct * (values - 0.5)), 0.0).sum(axis=(1, 2))
    log_odds = evidence + np.log(prior) - np.log1p(-prior)
    return _logistic(log_odds), log_odds


def _checked(g: np.ndarray, scored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return g, 0 where it does not count, and what counts, both as arrays."""
    g, scored = np.asarray(g, dtype=np.float64), np.asarray(scored)
    if g.ndim != 3 or scored.shape != g.shape[:2]:
        raise ValueError(f"g {g.shape} and scored {scored.shape} must be (B, T, depth) and (B, T)")
    return np.where(scored[:, :, None], g, 0.0), scored


def _logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without an overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x < 0.0, small, 1.0) / (1.0 + small)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
