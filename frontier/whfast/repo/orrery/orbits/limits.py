"""Where elements stop to be defined. `describe.py` says what is written in their place."""

CIRCULAR = 1e-11
"""Orbits of a smaller eccentricity have no pericentre."""
FLAT = 1e-11
"""Orbits whose inclination has a smaller sine have no node."""
PARABOLIC = 1e-6
"""Closer to the eccentricity 1, the equations of ellipse and hyperbola lose digits: initial states are those of a parabola."""
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
