"""Workers of pytest-xdist: what the controller sends them, those on other hosts, and those that are stopped."""
