"""Symbolic links in tasks: a task is its author's, and a link in it may lead to any file of the user's machine."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_recode.faults import UserError


def refuse_links(root: Path, *parts: str) -> None:
    """Raises `UserError` where one of `parts`, relative to `root`, or a directory on the way to it is a symbolic link.

    `root` itself may be one, or be reached by one: that is the user's choice. What does not exist is no link.
    """
    for part in parts:
        path = root
        for name in Path(part).parts:
            path = path / name
            if path.is_symlink():
                raise link_refused(path)


def refuse_links_out(root: Path, path: Path) -> None:
    """Raises `UserError` where `path`, or a directory on the way to it, is a link that leads out of `root`."""
    if not os.path.realpath(path).startswith(f"{os.path.realpath(root)}{os.sep}"):
        while not path.is_symlink() and path != path.parent:
            path = path.parent
        raise UserError(
            f"{path}: is a symbolic link to {_target(path)}, outside {root}; a task's files lie below that folder: copy what it"
            " points to"
        )


def link_refused(path: Path) -> UserError:
    return UserError(
        f"{path}: is a symbolic link to {_target(path)}; a task may hold none, as a link can lead to any file of this machine:"
        " copy what it points to"
    )


def _target(path: Path) -> str:
    """As written, in one line."""
    written = str(path.readlink()) if path.is_symlink() else os.path.realpath(path)
    return "".join(char if char.isprintable() else "?" for char in written)
