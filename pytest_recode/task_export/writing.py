"""Writes exported tasks: new directories, with the same bytes and permissions each time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.inside.runtime import removal

_SCRIPT, _FILE = 0o755, 0o644


def check_new(directories: Mapping[str, Path]) -> None:
    """Raises `UserError` for the first directory that exists."""
    for directory in directories.values():
        if directory.exists():
            raise UserError(f"{directory}: exists already: remove it, or give another directory with -o")


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write a new directory; it is removed again if not all of it can be written. Raises `UserError`."""
    try:
        directory.mkdir(parents=True)
        for place, data in files.items():
            path = directory / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(_SCRIPT if path.suffix == ".sh" else _FILE)
    except OSError as error:
        removal.remove(str(directory))
        raise UserError(f"{directory}: cannot be written ({error.strerror})") from None
