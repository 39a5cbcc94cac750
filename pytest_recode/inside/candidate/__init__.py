"""The candidate program of separate judging (`candidate.server`): it runs the code under test."""
