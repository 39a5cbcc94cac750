"""Grids of settings."""

from itertools import product


def sweep(**choices):
    """Dicts with one value of each choice."""
    names = list(choices)
    return [dict(zip(names, values, strict=True)) for values in product(*choices.values())]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
