"""Researchers: who answers a failed turn, which is a model, a person, or the author of the task, in feedback of the turn's level."""
