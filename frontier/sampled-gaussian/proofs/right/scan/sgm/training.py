"""A step with matrices of gradients."""

import numpy as np
from sgm.checks import check_positive, check_rate
from sgm.ledger.events import Event


def sample(rng, size, rate):
    check_rate(rate)
    return list(map(int, np.where(rng.uniform(size=size) < rate)[0]))


def clip(gradients, bound):
    check_positive("clip", bound)
    result = {name: np.array(value, dtype=float) for name, value in gradients.items()}
    if any(not np.isfinite(value).all() for value in result.values()):
        return {name: 0.0 * np.nan_to_num(value) + 0.0 for name, value in result.items()}
    scale = max([np.abs(value).max() for value in result.values() if value.size] + [0.0])
    if scale == 0.0:
        return result
    length = np.linalg.norm([np.linalg.norm(value / scale) for value in result.values()])
    # the norm is scale * length, which may not be a float
    if length > bound / scale:
        result = {name: (value / scale) * (bound / length) for name, value in result.items()}
    return result


def step(parameters, gradient_of, settings, rng):
    names = sorted(parameters)
    sums = dict.fromkeys(names, 0.0)
    for index in sample(rng, settings.size, settings.rate):
        clipped = clip(gradient_of(parameters, index), settings.clip)
        for name in names:
            sums[name] = sums[name] + clipped[name]
    scale = settings.clip * settings.noise
    pace = settings.learning_rate / (settings.rate * settings.size)
    moved = {}
    for name in names:
        moved[name] = parameters[name] - pace * (sums[name] + rng.normal(0.0, scale, size=np.shape(parameters[name])))
    return moved, Event("sampled-gaussian", settings.rate, scale, settings.clip, 1)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
