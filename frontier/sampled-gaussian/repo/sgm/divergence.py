"""Rényi divergences of the sampled Gaussian mechanism."""

from sgm.directions import ADD


def divergence(rate, sigma, orders, direction=ADD):
    """Rényi divergence between the outputs with and without one example, for each order."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
