"""Files of `data/`."""

import json
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"


def read(name: str) -> dict:
    """The contents of `data/<name>.json`."""
    return json.loads((DATA / f"{name}.json").read_text())


# recode-canary 8f0c6a52-3d17-4b7e-9a41-c2e95d70b618
