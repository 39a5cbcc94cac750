"""Programs that run inside a sandbox, and what they share. Stdlib only, Python 3.9+; the host ships their sources as `_recode.*`."""
