"""Read the files below a directory of a task, with limits on their size and no symbolic links."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from pytest_recode.faults import UserError, machine_error
from pytest_recode.formats.links import link_refused

# A path that matches stays inside the directory it is joined to.
_SEGMENT = r"(?!\.{1,2}(?:/|$))[^/\\\x00-\x1f\x7f-\x9f]+"
RELATIVE = rf"{_SEGMENT}(?:/{_SEGMENT})*"
IMPORTABLE = re.compile(r"(?:[^\W\d]\w*/)*[^\W\d]\w*\.py")

OF_TOOLS = frozenset({"__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".DS_Store"})
"""Directories and files that tools create."""
_OF_EDITORS = re.compile(r"\..+\.sw[a-p]|\.#.+|#.+#", re.DOTALL)
"""What Vim and Emacs keep beside a file that is open."""


def is_of_a_tool(name: str) -> bool:
    """Whether a file or directory of this name is one that a tool or an editor creates, and no part of a task."""
    return name in OF_TOOLS or _OF_EDITORS.fullmatch(name) is not None


def files_below(root: Path, disk_mb: int) -> dict[str, bytes]:
    """Contents of all regular files below `root` by POSIX path, sorted. Empty directories are ignored.

    Raises `UserError` for symbolic links, special files, names that are not UTF-8, and more than `disk_mb` MiB in total.
    """
    paths: dict[str, Path] = {}
    total = 0
    pending = [(root, "")]
    while pending:
        directory, prefix = pending.pop()
        for entry in entries_of(str(directory)):
            if is_of_a_tool(entry.name):
                continue
            name, path = prefix + entry.name, directory / entry.name
            _encodable(path, name)
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                pending.append((path, f"{name}/"))
            elif stat.S_ISREG(status.st_mode):
                paths[name] = path
                total += status.st_size
            elif stat.S_ISLNK(status.st_mode):
                raise link_refused(path)
            else:
                raise UserError(f"{path}: is a special file, which cannot be copied into a sandbox; remove it")
    if total > disk_mb * 1024 * 1024:
        raise UserError(
            f"{root}: contains {total / 1024 / 1024:.0f} MiB, more than limits.disk_mb ({disk_mb});"
            " remove files, or raise the limit"
        )
    return {name: _contents(paths[name]) for name in sorted(paths)}


def entries_of(directory: str) -> list[os.DirEntry[str]]:
    """The entries of a directory. Raises `UserError` if it cannot be read."""
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError as error:
        what = f"{directory}: cannot be read"
        raise (
            machine_error(error, what) or UserError(f"{what} ({error.strerror}); make it a readable directory")
        ) from None


def _encodable(path: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="backslashreplace").decode()
        raise UserError(f"{shown}: the file name is not UTF-8; rename the file") from None


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        what = f"{path}: cannot be read"
        raise machine_error(error, what) or UserError(f"{what} ({error.strerror}); make it a readable file") from None
