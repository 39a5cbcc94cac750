"""Files of a run: records, transcripts, checkpoints, ledger, the run's directory and its locks."""
