"""Detection, one number after the other."""

import math

import numpy as np

from .seeding import g_values


def observe(settings, tokens, mask=None):
    tokens = np.array(tokens)
    if tokens.ndim != 2:
        raise ValueError("tokens")
    if mask is None:
        mask = np.ones_like(tokens)
    mask = np.array(mask)
    if mask.shape != tokens.shape:
        raise ValueError("mask")
    g = np.zeros(tokens.shape + (settings.depth,))
    scored = np.zeros(tokens.shape, dtype=bool)
    for b in range(tokens.shape[0]):
        text, known = [], []
        for t in range(tokens.shape[1]):
            if not mask[b, t]:
                continue
            if len(text) >= settings.window:
                context = text[-settings.window :]
                if context not in known:
                    known.append(context)
                    scored[b, t] = True
                    g[b, t] = g_values(settings, np.array([context]), np.array([[tokens[b, t]]]))[0, 0]
            text.append(int(tokens[b, t]))
    return g, scored


def _check(g, scored):
    g, scored = np.array(g, dtype=float), np.array(scored)
    if g.ndim != 3 or scored.shape != g.shape[:2]:
        raise ValueError("shapes")
    return g, scored != 0


def mean_score(g, scored, weighted=False):
    g, scored = _check(g, scored)
    depth = g.shape[2]
    weights = [1.0] * depth
    if weighted and depth > 1:
        weights = [10 - 9 * layer / (depth - 1) for layer in range(depth)]
    result = []
    for values, counts in zip(g, scored):
        kept = values[counts]
        result.append(np.average(kept.mean(axis=0), weights=weights) if len(kept) else 0.5)
    return np.array(result, dtype=float)


def bayesian_score(g, scored, beta, delta, prior=0.5):
    g, scored = _check(g, scored)
    beta, delta = np.array(beta, dtype=float), np.array(delta, dtype=float)
    depth = g.shape[2]
    if beta.shape != (depth,) or delta.shape != (depth, depth) or not 0 < prior < 1:
        raise ValueError("parameters")
    posterior, odds = [], []
    for values, counts in zip(g, scored):
        kept = values[counts]
        if not ((kept == 0) | (kept == 1)).all():
            raise ValueError("g-values")
        total = math.log(prior) - math.log(1 - prior)
        for layer in range(depth):
            x = beta[layer] + kept[:, :layer] @ delta[layer, :layer]
            psi = np.exp(-np.logaddexp(0.0, -x))
            total += float(np.log((kept[:, layer] + 0.5) * psi + np.exp(-np.logaddexp(0.0, x))).sum())
        odds.append(total)
        posterior.append(math.exp(-np.logaddexp(0.0, -total)))
    return np.array(posterior, dtype=float), np.array(odds, dtype=float)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
