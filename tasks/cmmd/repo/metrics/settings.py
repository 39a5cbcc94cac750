"""Constants of the metric."""

from __future__ import annotations

SIGMA = 10.0  # width of the kernel, for embeddings of length 1
SCALE = 1000.0  # makes the result readable
ESTIMATORS = ("unbiased", "biased")
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
