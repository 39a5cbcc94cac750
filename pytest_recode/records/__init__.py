"""Everything that a run writes and reads again: records, transcripts, checkpoints, stored turns."""
