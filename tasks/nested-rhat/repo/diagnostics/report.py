"""The driver: which variables have converged."""

from __future__ import annotations

from .nested import nested_rhat, rank_nested_rhat
from .samples import Samples


def report(samples: Samples, limit: float = 1.05) -> dict[str, dict[str, float | bool]]:
    """Both diagnostics of each variable, and whether the stricter one is at most `limit` (NaN is not)."""
    plain = nested_rhat(samples.draws, samples.superchain_ids)
    ranked = rank_nested_rhat(samples.draws, samples.superchain_ids)
    return {
        name: {"nested": float(one), "rank": float(other), "converged": bool(max(one, other) <= limit)}
        for name, one, other in zip(samples.names, plain, ranked, strict=True)
    }


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
