"""Nested R-hat (Margossian et al., Bayesian Analysis 2024)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from .normal import normal_quantile
from .results import Variances


def _grouped(draws, superchain_ids) -> tuple[np.ndarray, np.ndarray]:
    """Checked draws `(N, C, P)` in float64 and the chains of each superchain, in the order of increasing ids."""
    values = np.array(draws, dtype=np.float64)
    # Python integers of any size are kept as they are, so that no two ids are merged by a conversion.
    ids = superchain_ids if isinstance(superchain_ids, np.ndarray) else np.array(superchain_ids, dtype=object)
    if values.ndim != 3:
        raise ValueError(f"draws have the shape (N, C, P), not {values.shape}")
    if ids.shape != (values.shape[1],):
        raise ValueError(f"{values.shape[1]} chains need as many superchain ids, not {ids.shape}")
    members: dict[int, list[int]] = {}
    for chain, name in enumerate(ids.tolist()):
        members.setdefault(name, []).append(chain)
    if len(members) < 2:
        raise ValueError("there must be at least two superchains")
    sizes = {len(chains) for chains in members.values()}
    if len(sizes) > 1:
        raise ValueError("superchains must have equal numbers of chains")
    if values.shape[0] * sizes.pop() < 2:
        raise ValueError("a superchain needs at least two draws")
    order = np.array([members[name] for name in sorted(members)])
    return values, order


def _exponent(*arrays: np.ndarray) -> np.ndarray:
    """For each variable (last axis), the binary exponent of the largest absolute value; 0 if all are 0."""
    largest = np.max([np.max(np.abs(a), axis=tuple(range(a.ndim - 1))) for a in arrays], axis=0)
    return np.frexp(largest)[1].astype(np.int64)


@dataclass(frozen=True)
class _Parts:
    """Equations (1) to (3) in units of 4**outer (between) and 4**inner (the others)."""

    between: np.ndarray
    chains: np.ndarray
    draws: np.ndarray
    inner: np.ndarray
    outer: np.ndarray


def _parts(values: np.ndarray, order: np.ndarray, scale: bool) -> _Parts:
    """Variances of finite draws. Differences to a draw of the same group come first: equal draws give exact zeros."""
    x = values[:, order, :]  # (N, K, M, P)
    count, groups, size, variables = x.shape
    first = x[0]  # (K, M, P)
    steps = x - first
    chain_steps = first - first[:, :1]
    group_steps = first[:, 0] - first[0, 0]  # (K, P)

    inner = _exponent(steps, chain_steps) if scale else np.zeros(variables, dtype=np.int64)
    steps = np.ldexp(steps, -inner)
    chain_steps = np.ldexp(chain_steps, -inner)

    means = steps.mean(axis=0)
    within = np.zeros((groups, variables))
    if count > 1:
        within = (np.sum((steps - means) ** 2, axis=0) / (count - 1)).mean(axis=1)
    means = chain_steps + means  # of chains, from the first draw of the superchain
    group_means = means.mean(axis=1)
    chains = np.zeros((groups, variables))
    if size > 1:
        chains = np.sum((means - group_means[:, None]) ** 2, axis=1) / (size - 1)

    outer = inner
    if scale:
        moving = np.any(group_means != 0.0, axis=0)
        standing = np.any(group_steps != 0.0, axis=0)
        other = _exponent(group_steps)
        outer = np.where(moving & standing, np.maximum(inner, other), np.where(standing, other, inner))
    group_means = np.ldexp(group_steps, -outer) + np.ldexp(group_means, inner - outer)
    group_means = group_means - group_means[0]
    between = np.sum((group_means - group_means.mean(axis=0)) ** 2, axis=0) / (groups - 1)
    return _Parts(between, chains, within, inner, outer)


def variances(draws: np.ndarray, superchain_ids: np.ndarray) -> Variances:
    """Variances between superchains, between their chains, and within chains."""
    values, order = _grouped(draws, superchain_ids)
    with np.errstate(all="ignore"):
        parts = _parts(values, order, scale=False)
    return Variances(parts.between, parts.chains, parts.draws)


def _rhat(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    finite = np.isfinite(values).all(axis=(0, 1))
    values = np.where(finite, values, 0.0)
    with np.errstate(all="ignore"):
        # Differences and sums must not overflow. What this loses is too small to matter beside such draws.
        huge = np.max(np.abs(values), axis=(0, 1)) > 2.0**960
        parts = _parts(np.where(huge, np.ldexp(values, -64), values), order, scale=True)
        inside = (parts.chains + parts.draws).mean(axis=0)
        ratio = np.ldexp(np.sqrt(parts.between / inside), parts.outer - parts.inner)
        result = np.hypot(1.0, ratio)
    flat = values.reshape(values.shape[0] * values.shape[1], values.shape[2])
    grouped = values[:, order, :]
    still = np.all(grouped == grouped[:1, :, :1], axis=(0, 1, 2))
    result = np.where(still, np.inf, result)
    return np.where(np.all(flat == flat[0], axis=0) | ~finite, np.nan, result)


def nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """Nested R-hat of each variable."""
    return _rhat(*_grouped(draws, superchain_ids))


def _scores(values: np.ndarray) -> np.ndarray:
    """Equation (6) for each variable, `(S, P)`; equal draws share the mean of their ranks."""
    if not values.size:
        return np.zeros(values.shape)
    ranks = rankdata(values, method="average", axis=0)
    return normal_quantile((ranks - 0.375) / (len(values) + 0.25))


def rank_nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """Nested R-hat of rank-normalised draws, for bulk and tails."""
    values, order = _grouped(draws, superchain_ids)
    finite = np.isfinite(values).all(axis=(0, 1))
    flat = np.where(finite, values, 0.0).reshape(values.shape[0] * values.shape[1], values.shape[2])
    with np.errstate(all="ignore"):
        folded = np.abs(flat - np.median(flat, axis=0))
    bulk = _rhat(_scores(flat).reshape(values.shape), order)
    tails = _rhat(_scores(folded).reshape(values.shape), order)
    # A NaN of the tails alone means that all folded draws are equal.
    return np.where(finite, np.fmax(bulk, tails), np.nan)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
