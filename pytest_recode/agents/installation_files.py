"""What an installation consisted of when it was complete, so that a file that was changed, added or removed since then is noticed.

The list has the hash of each file, and values of which every write to a file changes one. Only files whose values differ are read again, so
that a check of twenty thousand files takes a quarter of a second, and the first one of a cache that was moved as long as it takes to read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

LIST = ".files.json"
"""The list itself, in the installation; written last."""


def record(place: Path) -> None:
    """Write the list of an installation that is complete. Raises `OSError`."""
    _write(place, {path: [_stamp(place / path), _content(place / path)] for path in _paths(place)})


def is_recorded(place: Path) -> bool:
    return (place / LIST).is_file()


def change(place: Path) -> str:
    """What was changed since then, with the path of one file; "" if nothing was. Raises `OSError`."""
    try:
        files: dict[str, Any] = json.loads((place / LIST).read_text("utf-8"))
        present = set(_paths(place))
        if missing := sorted(files.keys() - present):
            return f"{missing[0]} is missing"
        if added := sorted(present - files.keys()):
            return f"{added[0]} was added"
        return _changed(place, files)
    except (ValueError, TypeError, AttributeError):
        return f"{LIST} was changed"


def _changed(place: Path, files: dict[str, Any]) -> str:
    moved = False
    for path, (stamp, content) in files.items():
        now = _stamp(place / path)
        if now != stamp:
            if _content(place / path) != content:
                return f"{path} was changed"
            files[path], moved = [now, content], True
    if moved:
        with suppress(OSError):  # a cache that cannot be written is read again each time
            _write(place, files)
    return ""


def _write(place: Path, files: Mapping[str, Any]) -> None:
    unfinished = place / f"{LIST}.{os.getpid()}"
    unfinished.write_text(json.dumps(files))
    unfinished.replace(place / LIST)


def _paths(place: Path) -> Iterator[str]:
    """Of everything in it that is no directory, but for the list."""
    for root, directories, names in os.walk(place):
        here = Path(root)
        links = [name for name in directories if (here / name).is_symlink()]
        for name in (*names, *links):
            path = str((here / name).relative_to(place))
            if not path.startswith(LIST):
                yield path


def _stamp(path: Path) -> list[int]:
    """The time of a change (`ctime`) cannot be set."""
    status = path.lstat()
    return [status.st_ino, status.st_size, status.st_mode, status.st_mtime_ns, status.st_ctime_ns]


def _content(path: Path) -> str:
    """The hash of a file, with whether it can be executed; the target of a link."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"to {path.readlink()}"
    if not stat.S_ISREG(status.st_mode):
        return "no file"
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{digest} {'x' if status.st_mode & stat.S_IXUSR else '-'}"
