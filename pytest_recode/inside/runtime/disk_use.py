"""Measures the disk space of a launch without namespaces: its directory, and the files that it has deleted and still holds open.

Runs in the keeper process of a launch, as root; the launch is a user of its own. Called by `monitor.py`. Must follow no link, and must work for
whatever a candidate builds: a directory that is nested too deep to be measured counts as too large.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import stat

from . import unprivileged

_DEEPEST = 64
_BLOCK = 512  # bytes of `st_blocks`, whatever the file system
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
TOO_MUCH = 1 << 62


def used(directory: str, pids: list[int], user: unprivileged.User) -> int:
    """Bytes on the disk."""
    try:
        top = os.open(directory, _DIRECTORY)
    except OSError:  # it is being removed
        return 0
    try:
        in_directory = _below(top, 0)
    finally:
        os.close(top)
    with unprivileged.seeing_as(user):
        return in_directory + sum(_deleted(pids).values())


def _below(directory: int, depth: int) -> int:
    total = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
                total += status.st_blocks * _BLOCK
                if not stat.S_ISDIR(status.st_mode):
                    continue
                if depth == _DEEPEST:
                    return TOO_MUCH
                within = os.open(entry.name, _DIRECTORY, dir_fd=directory)
            except OSError:  # it has been removed or replaced
                continue
            try:
                total += _below(within, depth + 1)
            finally:
                os.close(within)
    return total


def _deleted(pids: list[int]) -> dict[tuple[int, int], int]:
    """The bytes of each open file without a name, by device and number: processes may share it."""
    sizes = {}
    for pid in pids:
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # it has ended
            continue
        for number in numbers:
            try:
                status = os.stat(f"/proc/{pid}/fd/{number}")
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                sizes[status.st_dev, status.st_ino] = status.st_blocks * _BLOCK
    return sizes
