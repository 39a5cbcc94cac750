"""JSON files."""

import json
from pathlib import Path


def read_json(path):
    """Contents of a file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_json(path, contents):
    """Write contents."""
    Path(path).write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
