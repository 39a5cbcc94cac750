"""Tournament sampling: the watermark in the distribution of the next token."""

from __future__ import annotations

import numpy as np

from .seeding import g_values
from .settings import Settings


def winner_distribution(probs: np.ndarray, g: np.ndarray, candidates: int = 2) -> np.ndarray:
    """Return the distribution (..., V) of the winner of a tournament between tokens that are drawn from `probs` (..., V).

    `g` (..., V, depth) decides the matches, its first layer first. Raises ValueError for what are no probabilities, for
    shapes that do not match, and for less than two candidates.
    """
    probs, g = np.asarray(probs, dtype=np.float64), np.asarray(g, dtype=np.float64)
    if g.shape[:-1] != probs.shape:
        raise ValueError(f"g has the shape {g.shape}, and the probabilities {probs.shape}")
    if candidates < 2:
        raise ValueError("a match needs two candidates or more")
    if not ((probs >= 0.0).all() and (np.abs(probs.sum(axis=-1) - 1.0) <= 1e-3).all()):
        raise ValueError("the probabilities must not be negative and must sum to 1")
    result = probs.copy()  # in the order of C: its rows, below, are views
    for row, values in zip(result.reshape(-1, probs.shape[-1]), g.reshape(-1, *g.shape[-2:]), strict=True):
        for layer in values.T:
            _, group = np.unique(layer, return_inverse=True)
            row /= row.sum()  # a sum of 1 + e becomes 1 + n e in each layer
            upto = np.cumsum(np.bincount(group, weights=row))
            below = np.concatenate([[0.0], upto[:-1]])
            # ((below + w)^n - below^n) / w, divided out: nothing cancels, and a group of mass w = 0 is no exception.
            factor = sum(upto**power * below ** (candidates - 1 - power) for power in range(candidates))
            row *= factor[group]
    return result


class Watermarker:
    """Puts a watermark into the next tokens of a batch of texts, except where a context occurs again."""

    def __init__(self, settings: Settings, responses: int = 1) -> None:
        """Contexts count as repeated within `responses` successive responses. Raises ValueError for less than one."""
        if responses < 1:
            raise ValueError("contexts are remembered for one response or more")
        self._settings = settings
        self._responses = responses
        self._seen: list[set[tuple[int, ...]]] = [set()]  # (row, *context), one set per response, the current one last

    def start(self) -> None:
        """Begin the next response of every text."""
        self._seen = [*self._seen, set()][-self._responses :]

    def distribution(self, tokens: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Return the distributions (B, V) from which to draw the tokens that follow `tokens` (B, t).

        Raises ValueError if the two do not have the same number of rows, or not two axes each.
        """
        tokens, probs = np.asarray(tokens), np.asarray(probs)
        if tokens.ndim != 2 or probs.ndim != 2 or len(tokens) != len(probs):
            raise ValueError(f"tokens {tokens.shape} and probabilities {probs.shape} must have a row for each text")
        result = winner_distribution(probs, np.zeros((*probs.shape, 1)))  # every match is a tie
        window = self._settings.window
        if tokens.shape[1] < window:
            return result
        for row, context in enumerate(tokens[:, -window:]):
            seen = (row, *context.tolist())
            if not any(seen in contexts for contexts in self._seen):
                g = g_values(self._settings, context, np.arange(probs.shape[1]))
                result[row] = winner_distribution(probs[row], g, self._settings.candidates)
            self._seen[-1].add(seen)
        return result


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
