"""Min-p sampling, row by row."""

from __future__ import annotations

import math

import numpy as np

from .masks import masked


def _ranked(row):
    """Possible tokens of a row, the most probable first."""
    return [token for _, token in sorted((-value, token) for token, value in enumerate(row) if value > -math.inf)]


def _weights(row, ranked, temperature):
    """Unnormalised probabilities of the ranked tokens and what their exponents are."""
    gaps = [(row[token] - row[ranked[0]]) / temperature for token in ranked]
    return gaps, [math.exp(gap) for gap in gaps]


def _kept(row, settings):
    ranked = _ranked(row)
    if settings.temperature == 0:
        return ranked[:1]
    gaps, weights = _weights(row, ranked, settings.temperature)
    total = math.fsum(weights)
    stay, before = [], 0.0
    for rank, token in enumerate(ranked):
        in_nucleus = settings.top_p >= 1 or before / total < settings.top_p
        probable = settings.min_p == 0 or gaps[rank] >= math.log(settings.min_p)
        if rank < settings.min_tokens or (in_nucleus and probable):
            stay.append(token)
        before += weights[rank]
    return stay


def kept(logits, settings):
    logits = masked(logits)
    result = np.zeros(logits.shape, dtype=bool)
    for place in np.ndindex(logits.shape[:-1]):
        result[place][_kept(logits[place].tolist(), settings)] = True
    return result


def probabilities(logits, settings, allowed=None):
    logits = masked(logits, allowed)
    result = np.zeros(logits.shape)
    for place in np.ndindex(logits.shape[:-1]):
        row = logits[place].tolist()
        stay = _kept(row, settings)
        _, weights = _weights(row, stay, settings.temperature or 1.0)
        result[place][stay] = np.array(weights) / math.fsum(weights)
    return result


def sample(weights, uniforms):
    weights, uniforms = np.asarray(weights, dtype=float), np.asarray(uniforms, dtype=float)
    if weights.ndim < 1 or weights.shape[:-1] != uniforms.shape:
        raise ValueError("one number for each row of weights")
    tokens = np.zeros(uniforms.shape, dtype=np.int64)
    for place in np.ndindex(uniforms.shape):
        row, number = weights[place].tolist(), float(uniforms[place])
        if not 0 <= number < 1:
            raise ValueError(f"{number} is not in [0, 1)")
        if not any(row):
            raise ValueError("no weight")
        bound, so_far = number * sum(row), 0.0
        for token, weight in enumerate(row):
            so_far += weight
            if weight > 0:
                tokens[place] = token
                if so_far > bound:
                    break
    return tokens
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
