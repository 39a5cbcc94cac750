"""Part of the shared judge: keeps the sources and modules of tests and reference where the candidate does not find them."""
