"""Numbers that are fixed for all documents."""

SLACK = 1e-12  # a risk that exceeds alpha by no more is taken to be equal to it
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
