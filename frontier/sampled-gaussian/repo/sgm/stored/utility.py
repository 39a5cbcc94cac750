"""Accuracy of the study, by noise and clip."""

from sgm.files.csvfile import read_csv
from sgm.files.places import data_file


def stored_utility():
    """Dicts with noise, clip, seed, and the loss and accuracy after the last step."""
    return [
        {
            "noise": float(row["noise"]),
            "clip": float(row["clip"]),
            "seed": int(row["seed"]),
            "loss": float(row["loss"]),
            "accuracy": float(row["accuracy"]),
        }
        for row in read_csv(data_file("utility.csv"))
    ]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
