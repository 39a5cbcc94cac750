"""One step of a private training."""

import numpy as np
from sgm.checks import check_positive, check_rate
from sgm.ledger.events import Event


def sample(rng, size, rate):
    """Indices of the examples that take part in a step."""
    check_rate(rate)
    return np.flatnonzero(rng.random(size) < rate).tolist()


def clip(gradients, bound):
    """The gradient of one example, of a bounded norm."""
    check_positive("the bound", bound)
    gradients = {name: np.array(value, dtype=np.float64) for name, value in gradients.items()}
    largest = max((float(np.max(np.abs(value), initial=0.0)) for value in gradients.values()), default=0.0)
    if not np.isfinite(largest):
        return {name: np.zeros(value.shape) for name, value in gradients.items()}
    if largest == 0.0:
        return gradients
    relative = np.sqrt(sum(float(np.sum((value / largest) ** 2)) for value in gradients.values()))
    if bound / largest >= relative:
        return gradients
    return {name: value / largest * (bound / relative) for name, value in gradients.items()}


def step(parameters, gradient_of, settings, rng):
    """Parameters after one step, and its event."""
    sums = {name: np.zeros(value.shape) for name, value in parameters.items()}
    for index in sample(rng, settings.size, settings.rate):
        for name, part in clip(gradient_of(parameters, index), settings.clip).items():
            sums[name] += part
    deviation = settings.noise * settings.clip
    for name in sorted(sums):
        sums[name] += rng.normal(0.0, deviation, sums[name].shape)
    changed = {name: value - settings.learning_rate / settings.lot * sums[name] for name, value in parameters.items()}
    return changed, Event("sampled-gaussian", settings.rate, deviation, settings.clip)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
