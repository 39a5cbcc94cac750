"""What the separate grader and the shared judge have in common: pytest runs, case outcomes, comparison of values."""
