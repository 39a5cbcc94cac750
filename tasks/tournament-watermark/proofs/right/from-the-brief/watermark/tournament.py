"""Tournament sampling: the watermark in the distribution of the next token."""

from __future__ import annotations

from collections import deque

import numpy as np

from .seeding import g_values
from .settings import Settings

# Masses of groups are summed in this type, which has more digits than float64 on most machines.
_WIDE = np.longdouble
# Up to so many candidates, the bracket of (2) is divided by w as a polynomial.
_FEW = 16


def _checked(probs: np.ndarray) -> np.ndarray:
    probs = np.array(probs, dtype=np.float64)
    if probs.ndim == 0:
        raise ValueError("probabilities need an axis of tokens")
    if not np.all(probs >= 0.0):
        raise ValueError("probabilities must not be negative")
    if not np.all(np.abs(probs.sum(axis=-1) - 1.0) <= 1e-3):
        raise ValueError("probabilities must have the sum 1")
    return probs


def _bracket(below: np.ndarray, mass: np.ndarray, above: np.ndarray, candidates: int) -> np.ndarray:
    """[(a + w)^n - a^n] / w for each group, as a sum of positive terms; a + w + above is 1."""
    upto = below + mass
    if candidates <= _FEW:
        # w cancels: the sum over k of (a + w)^k a^(n - 1 - k)
        total, power = np.ones_like(mass), np.ones_like(mass)
        for _ in range(candidates - 1):
            power = power * below
            total = total * upto + power
        return total
    logarithm = np.where(above < 0.5, np.log1p(-above), np.log(upto))
    share = np.minimum(mass / upto, 1.0)
    return np.exp(candidates * logarithm) * -np.expm1(candidates * np.log1p(-share)) / mass


def _layer(probs: np.ndarray, g: np.ndarray, candidates: int) -> np.ndarray:
    """Equation (2) for the tokens of one text; all probabilities are positive."""
    order = np.argsort(g, kind="stable")
    ranked = g[order]
    first = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    mass = np.add.reduceat(probs[order], np.flatnonzero(first))
    # An error of the sum would be multiplied by n in every layer, so it is removed in every layer.
    whole = mass.sum()
    mass = mass / whole
    below = np.concatenate([[_WIDE(0.0)], np.cumsum(mass)[:-1]])
    above = np.concatenate([np.cumsum(mass[::-1])[::-1][1:], [_WIDE(0.0)]])
    factors = _bracket(below, mass, above, candidates)
    result = np.empty_like(probs)
    result[order] = probs[order] / whole * factors[np.cumsum(first) - 1]
    return result


def winner_distribution(probs: np.ndarray, g: np.ndarray, candidates: int = 2) -> np.ndarray:
    """Return the distribution (..., V) of the winner of a tournament between tokens that are drawn from `probs` (..., V)."""
    probs = _checked(probs)
    g = np.asarray(g, dtype=np.float64)
    if g.ndim == 0 or g.shape[:-1] != probs.shape:
        raise ValueError(f"g-values {g.shape} do not fit probabilities {probs.shape}")
    if candidates < 2:
        raise ValueError(f"a match needs at least 2 candidates, not {candidates}")
    result = np.zeros(probs.shape)
    with np.errstate(all="ignore"):
        for row in np.ndindex(probs.shape[:-1]):
            possible = np.flatnonzero(probs[row] > 0.0)
            current = probs[row][possible].astype(_WIDE)
            current = current / current.sum()
            values = g[row][possible]
            for layer in range(g.shape[-1]):
                current = _layer(current, values[:, layer], int(candidates))
                alive = current > 0.0  # what has underflowed plays no role any more
                if not alive.all():
                    current, values, possible = current[alive], values[alive], possible[alive]
            result[row][possible] = (current / current.sum()).astype(np.float64)
    return result


class Watermarker:
    """Puts a watermark into the next tokens of a batch of texts, except where a context occurs again."""

    def __init__(self, settings: Settings, responses: int = 1) -> None:
        """Contexts count as repeated within `responses` successive responses."""
        if responses < 1:
            raise ValueError(f"the memory has at least the current response, not {responses}")
        self._settings = settings
        # Of each response, the rows and contexts that occurred.
        self._seen: deque[set[tuple[int, ...]]] = deque([set()], maxlen=int(responses))

    def start(self) -> None:
        """Begin the next response of every text."""
        self._seen.append(set())

    def distribution(self, tokens: np.ndarray, probs: np.ndarray) -> np.ndarray:
        """Return the distributions (B, V) from which to draw the tokens that follow `tokens` (B, t)."""
        tokens, probs = np.asarray(tokens), np.asarray(probs, dtype=np.float64)
        if tokens.ndim != 2 or probs.ndim != 2 or len(tokens) != len(probs):
            raise ValueError(f"tokens {tokens.shape} and probabilities {probs.shape} need two axes, one row per text")
        probs = _checked(probs)
        result = probs / probs.sum(axis=1, keepdims=True)
        window = self._settings.window
        if tokens.shape[1] < window:
            return result
        contexts = tokens[:, tokens.shape[1] - window :].astype(np.int64)
        vocabulary = np.arange(probs.shape[1])
        for row, context in enumerate(contexts):
            key = (row, *context.tolist())
            if not any(key in seen for seen in self._seen):
                g = g_values(self._settings, context, vocabulary)
                result[row] = winner_distribution(probs[row], g, self._settings.candidates)
            self._seen[-1].add(key)
        return result


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
