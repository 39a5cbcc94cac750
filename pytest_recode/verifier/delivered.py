"""Reads the targets that an agent has delivered. It chose what they are: links, devices, files of any size.

Runs as root in the verifier's container, where a followed link could lead to the reference.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe without a writer would block


def targets(place: Path, names: Sequence[str], most: int) -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """The contents of the targets below a directory, and a line for each one that is missing or cannot be taken.

    `most`: the bytes of all of them together.
    """
    files: dict[str, bytes] = {}
    faults = []
    for name in names:
        try:
            data = _content(place, name, most - sum(map(len, files.values())))
        except OSError as error:
            faults.append(f"{name}: {error.strerror}")
            continue
        if data is None:
            faults.append(f"{name}: is no regular file, or too large")
        else:
            files[name] = data
    return files, tuple(faults)


def _content(place: Path, name: str, most: int) -> bytes | None:
    """The content of a file, reached without following a link; None if it is no regular file or has more than `most` bytes."""
    *directories, last = name.split("/")
    opened = [os.open(place, _DIRECTORY)]
    try:
        for directory in directories:
            opened.append(os.open(directory, _DIRECTORY, dir_fd=opened[-1]))
        opened.append(os.open(last, _FILE, dir_fd=opened[-1]))
        status = os.fstat(opened[-1])
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        with open(opened[-1], "rb", closefd=False) as file:
            return file.read(most)
    finally:
        for fd in reversed(opened):
            with suppress(OSError):
                os.close(fd)
