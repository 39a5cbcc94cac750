"""A step, example by example."""

import math

import numpy as np
from sgm.checks import check_positive, check_rate
from sgm.ledger.events import Event


def sample(rng, size, rate):
    check_rate(rate)
    return [index for index, uniform in enumerate(rng.random(size)) if uniform < rate]


def clip(gradients, bound):
    check_positive("bound", bound)
    numbers = [float(x) for value in gradients.values() for x in np.ravel(value)]
    if not all(math.isfinite(x) for x in numbers):
        return {name: np.zeros(np.shape(value)) for name, value in gradients.items()}
    exponent = max((math.frexp(x)[1] for x in numbers if x), default=0)
    length = math.hypot(*(math.ldexp(x, -exponent) for x in numbers))
    mantissa, shift = math.frexp(bound)
    limit = math.ldexp(mantissa, max(min(shift - exponent, 1000), -1070)) if shift - exponent > -1000 else 0.0
    if length <= limit or length == 0.0:
        return {name: np.array(value, dtype=np.float64) for name, value in gradients.items()}
    return {name: np.ldexp(value, -exponent) / length * bound for name, value in gradients.items()}


def step(parameters, gradient_of, settings, rng):
    total = {name: np.zeros(np.shape(value)) for name, value in parameters.items()}
    for index in sample(rng, settings.size, settings.rate):
        clipped = clip(gradient_of(parameters, index), settings.clip)
        total = {name: total[name] + clipped[name] for name in total}
    std = settings.noise * settings.clip
    noisy = {name: total[name] + std * rng.standard_normal(np.shape(total[name])) for name in sorted(total)}
    new = {name: value - settings.learning_rate * (noisy[name] / settings.lot) for name, value in parameters.items()}
    return new, Event(kind="sampled-gaussian", rate=settings.rate, noise=std, clip=settings.clip, count=1)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
