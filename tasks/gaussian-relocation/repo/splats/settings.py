"""Constants of the method."""

from __future__ import annotations

DEAD_OPACITY = 0.005  # a Gaussian of this opacity or less is dead; also the t of the noise
MIN_OPACITY = 0.005  # limits of a stored opacity after relocation
MAX_OPACITY = 1.0 - 1e-7
MAX_COPIES = 51
STEEPNESS = 100.0  # the k of the noise
NOISE_STRENGTH = 5e5  # times the learning rate of the positions
OPACITY_WEIGHT = 0.01
SCALE_WEIGHT = 0.01
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
