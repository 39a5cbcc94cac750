"""Measures the disk space of a launch without namespaces: its directory, and the files that it has deleted and still holds open.

Runs in the keeper process of a launch, as root; the launch is a user of its own. Called by `monitor.py`. Must follow no link, and must work for
whatever a candidate builds: directories may be nested more deeply than there are descriptors, and be moved meanwhile.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import stat

from . import unprivileged

_BLOCK = 512  # bytes of `st_blocks`, whatever the file system
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def used(directory: str, pids: list[int], user: unprivileged.User) -> int:
    """Bytes on the disk."""
    try:
        top = os.open(directory, _DIRECTORY)
    except OSError:  # it is being removed
        return 0
    try:
        in_directory = _below(top)
    finally:
        os.close(top)
    with unprivileged.seeing_as(user):
        return in_directory + sum(_deleted(pids).values())


def _below(top: int) -> int:
    """Bytes below a directory; less if one below it is moved or removed meanwhile, so that there is no way back. Holds one descriptor."""
    current = os.dup(top)
    names, total = _entries(current)
    try:
        above: list[tuple[tuple[int, int], list[str]]] = []  # the directories on the way, with the names that are left
        while names or above:
            if names:
                try:
                    following = os.open(names.pop(), _DIRECTORY, dir_fd=current)
                except OSError:  # it has been removed or replaced
                    continue
                above.append((_identity(current), names))
                os.close(current)
                current = following
                names, size = _entries(current)
                total += size
            else:
                expected, names = above.pop()
                following = os.open("..", _DIRECTORY, dir_fd=current)
                os.close(current)
                current = following
                if _identity(current) != expected:
                    break
    except OSError:  # the directory has been removed: the next look measures what is there then
        pass
    finally:
        os.close(current)
    return total


def _entries(directory: int) -> tuple[list[str], int]:
    """The names of the directories in a directory, and the bytes of all that is in it."""
    names, total = [], 0
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:  # it has been removed
                continue
            total += status.st_blocks * _BLOCK
            if stat.S_ISDIR(status.st_mode):
                names.append(entry.name)
    return names, total


def _identity(directory: int) -> tuple[int, int]:
    status = os.fstat(directory)
    return status.st_dev, status.st_ino


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
