"""sgm noise: the least noise."""

from sgm.experiments.calibration import noise_of
from sgm.orders import usual


def noise(arguments):
    """Lines."""
    sigma = noise_of(arguments.rate, arguments.steps, usual(), arguments.delta, arguments.epsilon)
    return [f"sigma {sigma:.6f}"]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
