"""Numbers that are fixed for all forecasts."""

GRID_POINTS = 128  # of the integrals over the unit interval
SMALLEST_WIDTH = 1.0 / GRID_POINTS  # of a kernel that the grid resolves
HALVINGS = 12  # of the interval that contains the width
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
