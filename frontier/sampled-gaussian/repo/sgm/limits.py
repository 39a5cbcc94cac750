"""Ranges of searches."""

LOWEST_ORDER = 1.0 + 2.0**-10
HIGHEST_ORDER = 512.0

SMALLEST_NOISE = 2.0**-7
LARGEST_NOISE = 2.0**20
# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
