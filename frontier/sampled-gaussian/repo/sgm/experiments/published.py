"""The published table, again."""

from sgm import report
from sgm.divergence import divergence
from sgm.orders import published
from sgm.stored.published import published_rows


def compare():
    """Triples of a row, its epsilon as printed, and as the program prints it now."""
    pairs = published_rows()
    printed = report.table([row for row, _ in pairs], published(), divergence)
    return [(row, old, new) for (row, old), new in zip(pairs, printed, strict=True)]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
