"""Nested R-hat (Margossian et al., Bayesian Analysis 2024)."""

from __future__ import annotations

import numpy as np

from .normal import normal_quantile
from .results import Variances


def variances(draws: np.ndarray, superchain_ids: np.ndarray) -> Variances:
    """Equations (1) to (3) for draws `(N, C, P)` of C chains; chains with equal ids are a superchain.

    Raises ValueError unless there are at least two superchains of equal size, and more than one draw in each.
    """
    draws, ids = np.asarray(draws, dtype=np.float64), np.asarray(superchain_ids)
    if draws.ndim != 3 or ids.shape != draws.shape[1:2]:
        raise ValueError(f"draws {draws.shape} and ids {ids.shape} must be (N, C, P) and (C,)")
    sizes = np.unique(ids, return_counts=True)[1]
    if len(sizes) < 2 or sizes.min() != sizes.max() or len(draws) * sizes[0] < 2:
        raise ValueError(f"{len(draws)} draws of superchains of {sizes.tolist()} chains have no nested R-hat")
    grouped = draws[:, np.argsort(ids)].reshape(len(draws), len(sizes), sizes[0], draws.shape[2])
    chain_means = grouped.mean(axis=0)
    nothing = np.zeros(chain_means[:, 0].shape)
    return Variances(
        between=chain_means.mean(axis=1).var(axis=0, ddof=1),
        chains=chain_means.var(axis=1, ddof=1) if sizes[0] > 1 else nothing,
        draws=grouped.var(axis=0, ddof=1).mean(axis=1) if len(draws) > 1 else nothing,
    )


def nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """Equation (5) for each variable, `(P,)`; NaN if undefined, infinite if only superchains differ."""
    draws = np.asarray(draws, dtype=np.float64)
    draws = np.where(np.isfinite(draws).all(axis=(0, 1)), draws, 0.0)  # otherwise a constant, which gives NaN below
    # The ratio of variances does not depend on the unit, but squares of large and small numbers leave the range.
    size = np.abs(draws).max(axis=(0, 1))
    parts = variances(draws / np.where(size > 0.0, size, 1.0), superchain_ids)
    within = np.mean(parts.chains + parts.draws, axis=0)
    # Means of equal numbers are rounded, so variances of them need not be 0: equality is tested on the draws.
    _, first, members = np.unique(superchain_ids, return_index=True, return_inverse=True)
    still = (draws == draws[0, first[members]]).all(axis=(0, 1))
    constant = (draws == draws[0, 0]).all(axis=(0, 1))
    result = np.sqrt(1.0 + parts.between / np.where(still, 1.0, within))
    result[still] = np.inf
    result[constant] = np.nan
    return result


def rank_nested_rhat(draws: np.ndarray, superchain_ids: np.ndarray) -> np.ndarray:
    """The larger one of the nested R-hats of normal scores of the draws and of the folded draws, `(P,)`."""
    undefined = np.isnan(nested_rhat(draws, superchain_ids))
    draws = np.asarray(draws, dtype=np.float64)
    rows = draws.reshape(draws.shape[0] * draws.shape[1], draws.shape[2])
    folded = np.abs(draws - np.median(rows, axis=0))
    bulk, tails = (nested_rhat(_normal_scores(each), superchain_ids) for each in (draws, folded))
    return np.where(undefined, np.nan, np.fmax(bulk, tails))


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Equation (6) over all draws of each variable; equal draws share the mean of their ranks."""
    scores = np.empty(values.shape)
    for variable in range(values.shape[2]):
        _, place, counts = np.unique(values[:, :, variable].ravel(), return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]
        scores[:, :, variable] = normal_quantile((ranks - 0.375) / (len(ranks) + 0.25)).reshape(values.shape[:2])
    return scores


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
