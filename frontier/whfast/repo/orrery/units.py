"""Units: astronomical units, days, and gravitational parameters (G times mass) instead of masses."""

GAUSS = 0.01720209895
"""Gauss' constant; its square is the gravitational parameter of the Sun in AU^3 / day^2."""
GM_SUN = GAUSS**2
YEAR = 365.25
LIGHT = 173.14463267424034
"""Speed of light in AU / day."""
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
