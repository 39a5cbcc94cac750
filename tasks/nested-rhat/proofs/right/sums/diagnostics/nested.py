"""Nested R-hat with a matrix that adds up the chains of each superchain."""

import numpy as np
from scipy.stats import rankdata

from .normal import normal_quantile
from .results import Variances


def _prepare(draws, superchain_ids):
    draws = np.array(draws, dtype=float)
    ids = np.array(superchain_ids)
    if draws.ndim != 3:
        raise ValueError("draws need three axes")
    if ids.shape != (draws.shape[1],):
        raise ValueError("every chain needs an id")
    member = np.unique(ids)[:, None] == ids
    counts = member.sum(axis=1)
    if len(counts) < 2:
        raise ValueError("there is one superchain only")
    if np.ptp(counts) or draws.shape[0] * counts[0] <= 1:
        raise ValueError("superchains must be equal in size and have several draws")
    return draws, member, int(counts[0])


def variances(draws, superchain_ids):
    draws, member, size = _prepare(draws, superchain_ids)
    length, superchains = len(draws), len(member)
    origin = draws[0].mean(axis=0)
    draws = draws - origin
    weights = member / size
    means = draws.sum(axis=0) / length
    centres = weights @ means
    deviations = means - member.T @ centres
    chains = member @ deviations**2 / max(size - 1, 1)
    within = weights @ (np.square(draws - means).sum(axis=0) / max(length - 1, 1))
    between = np.square(centres - centres.mean(axis=0)).sum(axis=0) / (superchains - 1)
    return Variances(between=between, chains=chains * (size > 1), draws=within * (length > 1))


def nested_rhat(draws, superchain_ids):
    draws, member, _ = _prepare(draws, superchain_ids)
    result = np.full(draws.shape[2], np.nan)
    for variable in range(draws.shape[2]):
        values = draws[:, :, variable]
        if not np.all(np.isfinite(values)) or np.all(values == values.flat[0]):
            continue
        if all(np.unique(values[:, row]).size == 1 for row in member):
            result[variable] = np.inf
            continue
        values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])
        values = values - values.mean()
        values = values / np.abs(values).max()
        found = variances(values[:, :, None], superchain_ids)
        result[variable] = np.sqrt(1 + found.between[0] / (found.chains[:, 0] + found.draws[:, 0]).mean())
    return result


def rank_nested_rhat(draws, superchain_ids):
    draws, _, _ = _prepare(draws, superchain_ids)
    rows = []
    for values in np.moveaxis(draws, 2, 0):
        if np.isfinite(values).all():
            folded = abs(values - np.median(values))
            both = np.stack([rankdata(values).reshape(values.shape), rankdata(folded).reshape(values.shape)], axis=2)
            rows.append(nested_rhat(normal_quantile((both - 0.375) / (values.size + 0.25)), superchain_ids))
        else:
            rows.append([np.nan, np.nan])
    rows = np.reshape(rows, (-1, 2))
    return np.where(np.isnan(rows[:, 1]), rows[:, 0], np.maximum(rows[:, 0], rows[:, 1]))
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
