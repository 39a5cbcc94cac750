"""Writes a task's files into a directory.

Runs in the candidate process and in the graders. Called before any of the files is imported. Must not be given paths
that the candidate chose: parent directories are followed and created as the path says.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(files: Mapping[str, bytes], directory: Path) -> None:
    """Write `files` (contents by path relative to `directory`), with the directories that they need."""
    for path, data in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
