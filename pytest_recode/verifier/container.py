"""Closes the container of the verifier: what candidates could read or change in it is root's alone, before any of their code runs.

A candidate runs as a user that nothing else has (`inside/runtime/unprivileged.py`), with a directory of its own. So it is enough that no
other place of the container can be written by everybody, and that tests and results cannot be entered.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

_KERNELS = ("/proc", "/sys")
"""Directories whose permissions are the kernel's."""


def close(secret: Sequence[Path]) -> None:
    """Take the permission to write from everybody, everywhere; and to enter these directories. Raises `OSError`.

    Only for a container that exists for this one answer: programs of other users may not work in it any more.
    """
    for path in secret:
        if stat.S_IMODE(path.stat().st_mode) & ~stat.S_IRWXU:
            path.chmod(stat.S_IRWXU)
    for place in ("/", *_within("/dev")):
        for path in _open_to_all(place):
            try:
                path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~stat.S_IWOTH)
            except OSError as error:
                if error.errno != errno.EROFS:  # nobody can write to a file system that is read-only
                    raise


def _within(place: str) -> list[str]:
    """The directories of /dev that are file systems of their own, such as that of shared memory."""
    with os.scandir(place) as entries:
        return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _open_to_all(place: str) -> Iterator[Path]:
    """The directories and files at and below a directory that everybody may write. Follows no link; devices stay as they are."""
    if os.lstat(place).st_mode & stat.S_IWOTH:
        yield Path(place)
    with suppress(FileNotFoundError), os.scandir(place) as entries:
        for entry in entries:
            if entry.path in (*_KERNELS, "/dev"):
                continue
            with suppress(FileNotFoundError):
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    yield from _open_to_all(entry.path)
                elif stat.S_ISREG(mode) and mode & stat.S_IWOTH:
                    yield Path(entry.path)
