"""The grader program of separate judging (`separate_grader.main`): hidden tests and reference, without the candidate's code."""
