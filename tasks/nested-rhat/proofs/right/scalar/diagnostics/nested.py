"""Nested R-hat in exact or compensated arithmetic, one variable and one superchain at a time."""

import math
from fractions import Fraction

import numpy as np

from .normal import normal_quantile
from .results import Variances


def _groups(draws, superchain_ids):
    """The array, and the places of the chains of each superchain."""
    array = np.asarray(draws, dtype=np.float64)
    names = np.asarray(superchain_ids)
    if array.ndim != 3 or names.ndim != 1 or len(names) != array.shape[1]:
        raise ValueError("draws must be (N, C, P), with an id for each chain")
    groups = {}
    for place, name in enumerate(names.tolist()):
        groups.setdefault(name, []).append(place)
    sizes = {len(group) for group in groups.values()}
    if len(groups) < 2 or len(sizes) != 1 or array.shape[0] * sizes.pop() < 2:
        raise ValueError("two or more superchains of equal size, each with two or more draws, are needed")
    return array, [groups[name] for name in sorted(groups)]


def _variance(values):
    if len(values) == 1:
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def _mean(values):
    return math.fsum(values) / len(values)


def variances(draws, superchain_ids):
    array, groups = _groups(draws, superchain_ids)
    variables = array.shape[2]
    between, chains, within = np.empty(variables), np.empty((len(groups), variables)), np.empty((len(groups), variables))
    for p in range(variables):
        centres = []
        for k, group in enumerate(groups):
            columns = [array[:, chain, p].tolist() for chain in group]
            means = [_mean(column) for column in columns]
            chains[k, p] = _variance(means)
            within[k, p] = _mean([_variance(column) for column in columns])
            centres.append(_mean(means))
        between[p] = _variance(centres)
    return Variances(between, chains, within)


def _one(values, groups, superchain_ids):
    """Nested R-hat of an `(N, C)` array."""
    numbers = values.ravel().tolist()
    if not all(map(math.isfinite, numbers)) or min(numbers) == max(numbers):
        return math.nan
    if all(values[:, group].min() == values[:, group].max() for group in groups):
        return math.inf
    origin = sum(map(Fraction, numbers)) / len(numbers)
    exact = [[Fraction(value) - origin for value in row] for row in values.tolist()]
    unit = max(abs(value) for row in exact for value in row)
    found = variances([[[float(value / unit)] for value in row] for row in exact], superchain_ids)
    within = _mean((found.chains + found.draws)[:, 0].tolist())
    return math.sqrt((float(found.between[0]) + within) / within)


def nested_rhat(draws, superchain_ids):
    array, groups = _groups(draws, superchain_ids)
    return np.array([_one(array[:, :, p], groups, superchain_ids) for p in range(array.shape[2])], dtype=np.float64)


def _normal_scores(values):
    numbers = values.ravel().tolist()
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    ranks = [0.0] * len(numbers)
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and numbers[order[stop]] == numbers[order[start]]:
            stop += 1
        for place in order[start:stop]:
            ranks[place] = (start + 1 + stop) / 2
        start = stop
    return normal_quantile((np.array(ranks) - 3 / 8) / (len(numbers) + 1 / 4)).reshape(values.shape)


def rank_nested_rhat(draws, superchain_ids):
    array, groups = _groups(draws, superchain_ids)
    result = []
    for p in range(array.shape[2]):
        values = array[:, :, p]
        if not np.isfinite(values).all():
            result.append(math.nan)
            continue
        folded = np.abs(values - np.median(values))
        both = [_one(_normal_scores(each), groups, superchain_ids) for each in (values, folded)]
        result.append(both[0] if math.isnan(both[1]) else max(both))
    return np.array(result, dtype=np.float64)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
