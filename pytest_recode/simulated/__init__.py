"""The offline model: it answers from the reference, with mistakes, and needs no key."""
