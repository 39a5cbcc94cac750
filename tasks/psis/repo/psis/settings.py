"""Numbers that are fixed for all estimates."""

MIN_TAIL = 5  # exceedances that a fit needs
PRIOR_SHAPE = 0.5  # the shape that the weak prior favours
PRIOR_WEIGHT = 10.0  # its weight, in observations
LARGEST_THRESHOLD = 0.7  # of the shape, for any number of draws
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
