"""A step on flat vectors."""

import numpy as np
from sgm import checks
from sgm.ledger.events import Event


def sample(rng, size, rate):
    checks.check_rate(rate)
    uniforms = rng.random(size)
    return [int(index) for index in np.nonzero(uniforms < rate)[0]]


def clip(gradients, bound):
    checks.check_positive("bound", bound)
    names = list(gradients)
    parts = [np.asarray(gradients[name], dtype=np.float64) for name in names]
    flat = np.concatenate([np.ravel(part) for part in parts]).astype(np.longdouble)
    if not np.isfinite(flat).all():
        flat = np.zeros_like(flat)
    length = np.sqrt(np.sum(flat * flat))
    if length > bound:
        flat = flat * (np.longdouble(bound) / length)
    edges = np.cumsum([part.size for part in parts])[:-1]
    pieces = np.split(flat.astype(np.float64), edges)
    return {name: piece.reshape(part.shape) for name, piece, part in zip(names, pieces, parts, strict=True)}


def step(parameters, gradient_of, settings, rng):
    chosen = sample(rng, settings.size, settings.rate)
    clipped = [clip(gradient_of(parameters, index), settings.clip) for index in chosen]
    change = {}
    for name in sorted(parameters):
        shape = np.shape(parameters[name])
        noise = rng.normal(size=shape) * settings.clip * settings.noise
        change[name] = (noise + sum(each[name] for each in clipped)) / settings.lot
    after = {name: parameters[name] - settings.learning_rate * change[name] for name in parameters}
    event = Event("sampled-gaussian", rate=settings.rate, noise=settings.clip * settings.noise, clip=settings.clip)
    return after, event


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
