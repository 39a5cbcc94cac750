"""Drift in streams."""
