"""A small kit for decoding language models."""
