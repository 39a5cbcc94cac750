"""Largest orders of the closed form."""

from sgm.files.csvfile import read_csv
from sgm.files.places import data_file


def stored_bounds():
    """Triples of rate, sigma and the largest order at which the closed form holds."""
    return [(float(row["rate"]), float(row["sigma"]), float(row["order"])) for row in read_csv(data_file("bound.csv"))]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
