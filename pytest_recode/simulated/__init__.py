"""The simulated models: they answer offline from the reference, with deliberate mistakes, and need no key."""
