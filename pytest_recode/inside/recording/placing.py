"""Puts a repository where its code runs and can be imported.

Runs in the sandbox of a repository whose calls are recorded or rehearsed. Called once, before any of its files is imported.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..setup.task_files import write_files


def place(files: Mapping[str, bytes], roots: Sequence[str]) -> Path:
    """Write `files` to a directory, work there, and import from its `roots` first. Returns the directory."""
    directory = Path.cwd() / "repository"
    write_files(files, directory)
    os.chdir(directory)
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(directory / root) for root in roots]
    importlib.invalidate_caches()
    return directory
