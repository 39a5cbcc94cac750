"""Gaussian process regression, exact and sparse."""
