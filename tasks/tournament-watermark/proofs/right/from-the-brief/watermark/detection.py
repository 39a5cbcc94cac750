"""Detection: g-values of a text, and how likely they are without a watermark."""

from __future__ import annotations

import numpy as np

from .seeding import g_values
from .settings import Settings


def observe(settings: Settings, tokens: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the g-values (B, T, depth) of the tokens (B, T) of texts, and which of them count (B, T)."""
    tokens = np.asarray(tokens)
    if tokens.ndim != 2:
        raise ValueError(f"tokens must have two axes, not the shape {tokens.shape}")
    real = np.ones(tokens.shape, dtype=bool) if mask is None else np.asarray(mask).astype(bool)
    if real.shape != tokens.shape:
        raise ValueError(f"a mask {real.shape} does not fit tokens {tokens.shape}")
    window = settings.window
    g = np.zeros((*tokens.shape, settings.depth))
    scored = np.zeros(tokens.shape, dtype=bool)
    for row in range(len(tokens)):
        places = np.flatnonzero(real[row])
        text = tokens[row, places].astype(np.int64)
        if len(text) <= window:
            continue
        contexts = np.lib.stride_tricks.sliding_window_view(text, window)[:-1]
        seen, new = set(), []
        for index, context in enumerate(map(tuple, contexts.tolist())):
            if context not in seen:
                seen.add(context)
                new.append(index)
        count = places[window:][new]
        scored[row, count] = True
        g[row, count] = g_values(settings, contexts[new], text[window:][new][:, None])[:, 0]
    return g, scored


def _observed(g: np.ndarray, scored: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The g-values with 0 where nothing is scored, and what is scored, of fitting shapes."""
    g, scored = np.asarray(g, dtype=np.float64), np.asarray(scored).astype(bool)
    if g.ndim != 3 or scored.shape != g.shape[:2]:
        raise ValueError(f"g-values {g.shape} and scored positions {scored.shape} must be (B, T, depth) and (B, T)")
    return np.where(scored[..., None], g, 0.0), scored


def mean_score(g: np.ndarray, scored: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Return the mean (B,) of the g-values (B, T, depth) that count."""
    g, scored = _observed(g, scored)
    depth = g.shape[2]
    weights = np.linspace(10.0, 1.0, depth) if weighted else np.ones(depth)
    weights = weights / weights.sum()
    counts = scored.sum(axis=1)
    # Terms are divided before they are added, so that sums do not overflow.
    means = (g * (weights / np.maximum(counts, 1)[:, None])[:, None, :]).sum(axis=(1, 2))
    return np.where(counts > 0, means, 0.5)


def bayesian_score(
    g: np.ndarray, scored: np.ndarray, beta: np.ndarray, delta: np.ndarray, prior: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior probability of a watermark and its log-odds, (B,) each."""
    g, scored = _observed(g, scored)
    depth = g.shape[2]
    beta, delta = np.asarray(beta, dtype=np.float64), np.asarray(delta, dtype=np.float64)
    if beta.shape != (depth,) or delta.shape != (depth, depth):
        raise ValueError(f"beta {beta.shape} and delta {delta.shape} do not fit {depth} layers")
    if not np.all((g == 0.0) | (g == 1.0)):
        raise ValueError("g-values at scored positions must be 0 or 1")
    if not 0.0 < prior < 1.0:
        raise ValueError(f"the prior must be between 0 and 1, not {prior}")
    earlier = np.where(np.tri(depth, k=-1, dtype=bool), delta, 0.0)
    psi = _logistic(beta + g @ earlier.T)
    evidence = np.where(scored[..., None], np.log1p((g - 0.5) * psi), 0.0)
    log_odds = np.log(prior) - np.log1p(-prior) + evidence.sum(axis=(1, 2))
    return _logistic(log_odds), log_odds


def _logistic(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x < 0.0, small, 1.0) / (1.0 + small)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
