"""Reject symbolic links in tasks: a link that a task's author made could point to any file of the user's machine."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_recode.faults import UserError


def refuse_links(root: Path, *parts: str) -> None:
    """Raise `UserError` if one of `parts`, relative to `root`, or a directory on the way to it is a symbolic link.

    `root` itself may be a link, or below one, because the user chose it. Paths that do not exist are accepted.
    """
    for part in parts:
        path = root
        for name in Path(part).parts:
            path = path / name
            if path.is_symlink():
                raise link_refused(path)


def refuse_links_out(root: Path, path: Path) -> None:
    """Raise `UserError` if `path`, or a directory on the way to it, is a link to a place outside `root`."""
    if not os.path.realpath(path).startswith(f"{os.path.realpath(root)}{os.sep}"):
        while not path.is_symlink() and path != path.parent:
            path = path.parent
        raise UserError(
            f"{path}: is a symbolic link to {_target(path)}, outside {root}; a task may only use files below that directory. Replace the link with"
            " a copy of its target"
        )


def link_refused(path: Path) -> UserError:
    return UserError(
        f"{path}: is a symbolic link to {_target(path)}; a task may not contain links, because they can point to any file of this"
        " machine. Replace it with a copy of its target"
    )


def _target(path: Path) -> str:
    """The target as the link names it, in one line."""
    written = str(path.readlink()) if path.is_symlink() else os.path.realpath(path)
    return "".join(char if char.isprintable() else "?" for char in written)
