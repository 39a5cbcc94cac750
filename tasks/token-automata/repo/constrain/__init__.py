"""Decoding such that the text belongs to a regular language."""
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
