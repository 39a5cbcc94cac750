"""Tournaments one token at a time, with plain Python numbers."""

import math
from collections import deque

import numpy as np

from .seeding import g_values


def _layer(probs, values, candidates):
    masses = {}
    for p, value in zip(probs, values):
        masses.setdefault(value, []).append(p)
    below, factors = 0.0, {}
    for value in sorted(masses):
        mass = math.fsum(masses[value])
        # (a + w)^n - a^n = sum over k >= 1 of C(n, k) w^k a^(n - k)
        factors[value] = math.fsum(
            math.comb(candidates, k) * mass ** (k - 1) * below ** (candidates - k) for k in range(1, candidates + 1)
        )
        below += mass
    won = [p * factors[value] for p, value in zip(probs, values)]
    total = math.fsum(won)
    return [p / total for p in won]


def winner_distribution(probs, g, candidates=2):
    probs = np.array(probs, dtype=float)
    g = np.array(g, dtype=float)
    if candidates < 2:
        raise ValueError("candidates")
    if g.ndim != probs.ndim + 1 or g.shape[:-1] != probs.shape:
        raise ValueError("shapes")
    if np.isnan(probs).any() or (probs < 0).any() or (abs(probs.sum(-1) - 1) > 1e-3).any():
        raise ValueError("probabilities")
    out = np.empty_like(probs)
    for place in np.ndindex(probs.shape[:-1]):
        total = math.fsum(probs[place])
        row = [p / total for p in probs[place].tolist()]
        for layer in range(g.shape[-1]):
            row = _layer(row, g[place][:, layer].tolist(), candidates)
        out[place] = row
    return out


class Watermarker:
    def __init__(self, settings, responses=1):
        if responses < 1:
            raise ValueError("responses")
        self.settings = settings
        self.memory = deque([{}], maxlen=responses)

    def start(self):
        self.memory.append({})

    def distribution(self, tokens, probs):
        tokens, probs = np.asarray(tokens), np.asarray(probs)
        if tokens.ndim != 2 or probs.ndim != 2 or tokens.shape[0] != probs.shape[0]:
            raise ValueError("shapes")
        window, size = self.settings.window, probs.shape[1]
        rows = []
        for index, (text, p) in enumerate(zip(tokens, probs)):
            g = np.zeros((size, 1))
            if len(text) >= window:
                context = tuple(map(int, text[len(text) - window :]))
                if all(context not in response.get(index, ()) for response in self.memory):
                    g = g_values(self.settings, np.array(context), np.arange(size))
                self.memory[-1].setdefault(index, set()).add(context)
            rows.append(winner_distribution(p, g, self.settings.candidates))
        return np.array(rows).reshape(probs.shape)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
