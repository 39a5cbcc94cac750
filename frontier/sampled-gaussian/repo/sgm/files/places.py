"""Where the data are."""

from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"


def data_file(*parts):
    """Path of a file in data/."""
    return DATA.joinpath(*parts)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
