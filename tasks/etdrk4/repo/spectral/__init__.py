"""Periodic partial differential equations in one dimension, solved in Fourier space."""
