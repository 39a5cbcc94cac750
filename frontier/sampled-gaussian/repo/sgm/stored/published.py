"""Rows of the published table."""

from dataclasses import dataclass

from sgm.files.csvfile import read_csv
from sgm.files.places import data_file


@dataclass(frozen=True)
class Row:
    """One training: how many examples, examples in a lot, epochs, the noise multiplier, and delta."""

    size: int
    lot: int
    epochs: int
    noise: float
    delta: float


def published_rows():
    """Pairs of a row and its epsilon as printed."""
    return [
        (
            Row(int(row["size"]), int(row["lot"]), int(row["epochs"]), float(row["noise"]), float(row["delta"])),
            row["epsilon"],
        )
        for row in read_csv(data_file("published.csv"))
    ]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
