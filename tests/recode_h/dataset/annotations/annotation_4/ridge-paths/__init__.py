"""Ridge paths."""
