"""Check a file that a session writes at its end, before anything is run."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_recode.faults import UserError


def check(option: str, path: Path | None) -> None:
    """Raise `UserError` if no file can be written at `path`, the value of `--recode-<option>`."""
    if path is None:
        return
    if not path.parent.is_dir():
        wrong = f"there is no directory {path.parent}"
    elif path.is_dir():
        wrong = "is a directory"
    elif path.exists() and not path.is_file():
        wrong = "is no regular file"
    elif not os.access(path.parent, os.W_OK | os.X_OK):
        wrong = f"{path.parent} cannot be written"
    else:
        return
    raise UserError(f"--recode-{option}={path}: {wrong}: name a file in a directory that exists and can be written")
