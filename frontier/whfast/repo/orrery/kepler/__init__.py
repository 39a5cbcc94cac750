"""Package kepler."""
# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
