"""Small programs of their own: the conformance suite's probe, and the query for package versions in task validation."""
