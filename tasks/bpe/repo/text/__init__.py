"""Words, merges and vocabularies."""
