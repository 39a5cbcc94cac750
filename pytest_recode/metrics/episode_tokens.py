"""The tokens of an episode, as the mean of recorded episodes of real models: what the cost of further episodes follows from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.models.table import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeTokens:
    """Mean tokens of `episodes` recorded episodes, those of the feedback model included. `models`: who played them."""

    prompt: float
    completion: float
    episodes: int
    models: tuple[str, ...]

    def cost_usd(self, price: Price | None) -> float | None:
        """What an episode with these tokens costs; None if the price is unknown."""
        return (self.prompt * price.prompt + self.completion * price.completion) / 1e6 if price else None


def mean_tokens(attempts: Iterable[Attempt]) -> EpisodeTokens | None:
    """The mean over played episodes with recorded tokens; None without one.

    Simulated models are left out: their answers are not as long as those of a real one.
    """
    counts = [
        (one, one.tokens, one.completion_tokens)
        for one in attempts
        if one.played and not one.row.simulated and one.tokens and one.completion_tokens is not None
    ]
    if not counts:
        return None
    return EpisodeTokens(
        prompt=fmean(tokens - completion for _, tokens, completion in counts),
        completion=fmean(completion for _, _, completion in counts),
        episodes=len(counts),
        models=tuple(dict.fromkeys(one.row.model for one, _, _ in counts)),
    )
