"""sgm steps: how long one may train."""

from sgm import calibrate
from sgm.divergence import divergence
from sgm.orders import usual


def steps(arguments):
    """Lines."""
    values = divergence(arguments.rate, arguments.sigma, usual())
    most = calibrate.largest_steps(usual(), values, arguments.delta, arguments.epsilon)
    return ["any number of steps" if most is None else f"{most} steps"]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
