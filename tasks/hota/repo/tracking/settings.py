"""Constants of the metric."""

THRESHOLDS = tuple(k / 20 for k in range(1, 20))
"""The localisation thresholds 0.05, 0.1, ..., 0.95."""

EPSILON = 1e-4
"""Separates the three aims of the matching, equation (6)."""

SLACK = 1e-9
"""A similarity that falls short of a threshold by this much still reaches it."""

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
