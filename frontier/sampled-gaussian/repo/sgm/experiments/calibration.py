"""Noise for a given privacy."""

from sgm import calibrate
from sgm.divergence import divergence


def noise_of(rate, steps, orders, delta, target):
    """The least multiplier."""
    return calibrate.smallest_noise(lambda sigma: steps * divergence(rate, sigma, orders), orders, delta, target)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
