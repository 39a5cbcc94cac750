"""What running tests leaves for a later run in the same sandbox: files, and processes.

Runs in the grader process that forks for each answer. Called by `grader_plugin.py`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress

Remains = frozenset[tuple[object, ...]]


def remains() -> Remains:
    """Every file in the working directory and that for temporary files, and every process of this session."""
    working, temporary = os.path.realpath(os.getcwd()), os.path.realpath(tempfile.gettempdir())
    places = {temporary} if os.path.commonpath([working, temporary]) == temporary else {working, temporary}
    return frozenset([*(file for place in places for file in _files(place)), *_processes()])


def remove_temporary_directories(before: Remains) -> None:
    """Remove the directories of pytest's `tmp_path` that were not there `before`: only the run that made them uses them."""
    place = os.path.realpath(tempfile.gettempdir())
    known = {each[0] for each in before}
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith("pytest-of-") and entry.path not in known:
                shutil.rmtree(entry.path, ignore_errors=True)


def _files(place: str) -> Iterator[tuple[object, ...]]:
    """Directories without their times: removing pytest's own changes that of the one above."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield (entry.path,)
                    yield from _files(entry.path)
                else:
                    found = entry.stat(follow_symlinks=False)
                    yield entry.path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _processes() -> Iterator[tuple[object, ...]]:
    session = os.getsid(0)
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            if os.getsid(int(name)) == session:
                yield "process", int(name)
