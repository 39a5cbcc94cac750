"""Noise of the program of before."""


def draw(rng, shapes, deviation):
    """Noise for each parameter. The names are taken in their alphabetical order, and the numbers are drawn even if the deviation is 0,
    so that a run without noise sees the same lots."""
    return {name: rng.normal(0.0, deviation, shapes[name]) for name in sorted(shapes)}


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
