"""What a run writes and reads again: records, transcripts, checkpoints, ledger, the run's directory and its locks."""
