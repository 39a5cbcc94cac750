"""Detection with whole arrays."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .seeding import g_values
from .settings import Settings


def observe(settings: Settings, tokens: np.ndarray, mask: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """g-values of the tokens, and which of them count."""
    tokens = np.asarray(tokens)
    if tokens.ndim != 2 or (mask is not None and np.shape(mask) != tokens.shape):
        raise ValueError("tokens are (B, T), and so is the mask")
    given = np.full(tokens.shape, True) if mask is None else np.asarray(mask, dtype=bool)
    g, scored = np.zeros((*tokens.shape, settings.depth)), np.full(tokens.shape, False)
    for row, real in enumerate(given):
        text, places = tokens[row][real].astype(np.int64), np.nonzero(real)[0]
        if len(text) <= settings.window:
            continue
        contexts = sliding_window_view(text[:-1], settings.window)
        _, first = np.unique(contexts, axis=0, return_index=True)
        at = places[first + settings.window]
        scored[row, at] = True
        g[row, at] = g_values(settings, contexts[first], tokens[row, at][:, None])[:, 0]
    return g, scored


def mean_score(g: np.ndarray, scored: np.ndarray, weighted: bool = False) -> np.ndarray:
    """Mean of the g-values that count."""
    g, scored = np.asarray(g, dtype=np.float64), np.asarray(scored, dtype=bool)
    if g.ndim != 3 or g.shape[:2] != scored.shape:
        raise ValueError("g is (B, T, depth) and scored is (B, T)")
    alpha = np.linspace(10, 1, g.shape[2]) if weighted else np.full(g.shape[2], 1.0)
    alpha /= alpha.sum()
    means = np.full(len(g), 0.5)
    any_of = scored.any(axis=1)
    means[any_of] = [alpha @ g[row][scored[row]].mean(axis=0) for row in np.flatnonzero(any_of)]
    return means


def bayesian_score(
    g: np.ndarray, scored: np.ndarray, beta: np.ndarray, delta: np.ndarray, prior: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior and log-odds."""
    g, scored = np.asarray(g, dtype=np.float64), np.asarray(scored, dtype=bool)
    beta, delta = np.asarray(beta, dtype=np.float64), np.asarray(delta, dtype=np.float64)
    if g.ndim != 3 or g.shape[:2] != scored.shape or beta.shape != g.shape[2:] or delta.shape != 2 * g.shape[2:]:
        raise ValueError("shapes")
    if prior <= 0 or prior >= 1:
        raise ValueError("prior")
    rows, _ = np.nonzero(scored)
    kept = g[scored]
    if np.any((kept != 0) & (kept != 1)):
        raise ValueError("g-values are 0 or 1")
    logits = beta + kept @ np.tril(np.nan_to_num(delta, posinf=0.0), -1).T
    psi = 0.5 * (1.0 + np.tanh(0.5 * logits))
    evidence = np.where(kept == 1, np.log1p(0.5 * psi), np.log1p(-0.5 * psi)).sum(axis=1)
    odds = np.bincount(rows, weights=evidence, minlength=len(g)) + np.log(prior / (1 - prior))
    return 0.5 * (1.0 + np.tanh(0.5 * odds)), odds


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
