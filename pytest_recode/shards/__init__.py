"""A run in parts: the file that names a part, and what `pytest-recode merge` reads, checks and writes."""
