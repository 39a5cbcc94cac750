"""Tournaments by sorting, all rows at once."""

from __future__ import annotations

import numpy as np

from .seeding import g_values
from .settings import Settings


def winner_distribution(probs: np.ndarray, g: np.ndarray, candidates: int = 2) -> np.ndarray:
    """Winners of a tournament, layer by layer."""
    p = np.asarray(probs).astype(np.float64)
    g = np.asarray(g).astype(np.float64)
    if candidates < 2 or p.shape != g.shape[:-1] or p.ndim == 0:
        raise ValueError("two candidates or more, and a g-value for each token and layer")
    sums = p.sum(axis=-1, keepdims=True)
    if np.any(~(p >= 0)) or np.any(np.abs(sums - 1.0) > 1e-3):
        raise ValueError("these are no probabilities")
    p = p / sums
    for values in np.moveaxis(g, -1, 0):
        order = np.argsort(values, axis=-1, kind="stable")
        ranked = np.take_along_axis(values, order, axis=-1)
        mass = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1)
        mass = mass / mass[..., -1:]
        first = np.ones(ranked.shape, dtype=bool)
        first[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
        last = np.roll(first, -1, axis=-1)
        last[..., -1] = True
        size = ranked.shape[-1]
        start = np.maximum.accumulate(np.where(first, np.arange(size), 0), axis=-1)
        end = np.minimum.accumulate(np.where(last, np.arange(size), size - 1)[..., ::-1], axis=-1)[..., ::-1]
        upper = np.take_along_axis(mass, end, axis=-1)
        lower = np.take_along_axis(np.concatenate([np.zeros_like(mass[..., :1]), mass], axis=-1), start, axis=-1)
        factor = np.ones_like(upper)
        power = np.ones_like(upper)
        for _ in range(candidates - 1):
            power = power * lower
            factor = factor * upper + power
        p = p * np.take_along_axis(factor, np.argsort(order, axis=-1, kind="stable"), axis=-1)
        p = p / p.sum(axis=-1, keepdims=True)
    return p


class Watermarker:
    """Remembers, for each row and context, the number of the last response that had it."""

    def __init__(self, settings: Settings, responses: int = 1) -> None:
        if responses < 1:
            raise ValueError("at least one response is remembered")
        self.settings, self.responses, self.current = settings, responses, 0
        self.last: dict[tuple[int, bytes], int] = {}

    def start(self) -> None:
        self.current += 1

    def distribution(self, tokens: np.ndarray, probs: np.ndarray) -> np.ndarray:
        tokens = np.asarray(tokens)
        probs = np.asarray(probs, dtype=np.float64)
        if tokens.ndim != 2 or probs.ndim != 2 or len(tokens) != len(probs):
            raise ValueError("one row for each text")
        every = np.arange(probs.shape[1])
        window, depth = self.settings.window, self.settings.depth
        if tokens.shape[1] < window:
            return winner_distribution(probs, np.zeros((*probs.shape, depth)), self.settings.candidates)
        contexts = tokens[:, tokens.shape[1] - window :].astype(np.int64)
        g = g_values(self.settings, contexts, np.broadcast_to(every, probs.shape))
        for row, context in enumerate(contexts):
            name = (row, context.tobytes())
            if self.current - self.last.get(name, -self.responses) < self.responses:
                g[row] = 0.0
            self.last[name] = self.current
        return winner_distribution(probs, g, self.settings.candidates)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
