"""Remove a directory that untrusted code has filled.

Runs in the keeper of a launch, in the warm parent, and on the host, which also removes the directory of a person who plays with it. Must follow no link, and must work at any depth: a candidate can
nest directories deeper than `shutil.rmtree` recurses, longer than a path may be, and without permission to enter them.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Optional

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def remove(path: str) -> None:
    """Remove a directory with all that it contains, as far as this user may. Its processes must have ended.

    A directory inside is moved up to `path` before it is emptied, so its depth costs neither memory, nor descriptors, nor length of a path.
    """
    if not os.path.islink(path):
        _permit(path)
    try:
        top = os.open(path, _DIRECTORY)
    except OSError:
        return
    try:
        left = _emptied(top)
        while left:
            left += _flattened(left.pop(), top)
    finally:
        os.close(top)
    with suppress(OSError):
        os.rmdir(path)


def _flattened(name: str, top: int) -> list[str]:
    """Remove a directory in `top`. Returns the new names of the directories that were in it, which are in `top` now."""
    _permit(name, top)
    moved = []
    with suppress(OSError):
        within = os.open(name, _DIRECTORY, dir_fd=top)
        try:
            for below in _emptied(within):
                _permit(below, within)  # moving a directory changes its entry `..`
                another = os.urandom(16).hex()
                with suppress(OSError):
                    os.rename(below, another, src_dir_fd=within, dst_dir_fd=top)
                    moved.append(another)
        finally:
            os.close(within)
        os.rmdir(name, dir_fd=top)
    return moved


def _emptied(directory: int) -> list[str]:
    """Remove the files and empty directories in an open directory. Returns the names of the other directories."""
    left = []
    for name in os.listdir(directory):
        try:
            os.unlink(name, dir_fd=directory)
        except IsADirectoryError:
            try:
                os.rmdir(name, dir_fd=directory)
            except OSError:
                left.append(name)
        except OSError:
            continue
    return left


def _permit(name: str, directory: Optional[int] = None) -> None:
    """Permit this user, if it is the owner, to change a directory. Root needs no permission."""
    if os.geteuid() != 0:
        with suppress(OSError):
            os.chmod(name, 0o700, dir_fd=directory)
