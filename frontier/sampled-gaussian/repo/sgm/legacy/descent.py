"""A step of the program of before."""

import numpy as np

from sgm.legacy.layers import clip_layers
from sgm.legacy.lots import lot
from sgm.legacy.noise import draw


def step(parameters, labels, gradient_of, bounds, sigma, rate, learning_rate, rng):
    """Parameters after one step. The sum is divided by the size that a lot has on average."""
    sums = {name: np.zeros_like(value) for name, value in parameters.items()}
    for index in lot(rng, labels, rate):
        for name, part in clip_layers(gradient_of(parameters, index), bounds).items():
            sums[name] += part
    sensitivity = np.sqrt(sum(bound**2 for bound in bounds.values()))
    noise = draw(rng, {name: value.shape for name, value in parameters.items()}, sigma * sensitivity)
    expected = rate * len(labels)
    return {name: value - learning_rate * (sums[name] + noise[name]) / expected for name, value in parameters.items()}


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
