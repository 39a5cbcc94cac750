"""The candidate program of separate judging (`candidate.candidate_server`): it runs the code under test."""
