"""The data of the study."""

import numpy as np

from sgm.files.csvfile import read_csv
from sgm.files.places import data_file


def study():
    """Features (n, d) and labels (n,) of 0 and 1."""
    rows = read_csv(data_file("study.csv"))
    labels = np.array([int(row["label"]) for row in rows])
    features = np.array([[float(row[name]) for name in row if name != "label"] for row in rows])
    return features, labels


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
