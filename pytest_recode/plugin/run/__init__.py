"""One run of a session: the checks before it, and what it holds until it ends: its directory, sandbox, gateway, time limits."""
