"""CSV files with a header; lines that begin with # are comments."""

import csv
from pathlib import Path


def read_csv(path):
    """Rows as dicts of text."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if line and not line.startswith("#")))


def write_csv(path, rows):
    """Write rows that have the same keys."""
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
