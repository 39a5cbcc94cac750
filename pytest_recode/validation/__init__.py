"""Validation: check a task without a model. Its reference solves it, nothing else does, and its tests detect mistakes."""
