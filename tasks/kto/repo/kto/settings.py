"""Numbers that are fixed for all runs."""

PAD = 0  # the token that fills the end of a sequence
RATIOS = (1.0, 1.5)  # smallest and largest ratio of the total weights of desirable and undesirable examples
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
