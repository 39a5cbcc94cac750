"""Both directions side by side."""

from sgm.directions import DIRECTIONS
from sgm.divergence import divergence


def both(rate, sigma, orders):
    """Divergences by direction. That of ADD is the larger one."""
    return {direction: divergence(rate, sigma, orders, direction) for direction in DIRECTIONS}


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
