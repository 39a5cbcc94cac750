"""Starts, isolates, limits and ends programs in every sandbox: shipped with all of them."""
