"""Which files of a workspace changed, where any file may be part of the answer; and the way back: an answer is put over an image's files.

Runs in the workspace and in the process that runs a task's scripts. Follows no symbolic link: links, pipes and empty directories are no
part of an answer.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

from .file_tree import Refusal, Tree

SKIPPED = frozenset({"__pycache__", ".pytest_cache"})
"""Directories that are no part of an answer. The state of a repository of Git can be one."""
MOST = 16 << 20
"""Bytes of all files of an answer. Of more, the smallest are taken."""
WHOLE = "./"
_PROGRAMS = (b"#!", b"\x7fELF")

Stamp = Optional[tuple[int, ...]]


def stamp(path: str) -> Stamp:
    """Values of which every write to a file changes one: the time of a change cannot be set."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_ctime_ns


def stamps(tree: Tree) -> dict[str, Stamp]:
    return {path: stamp(path) for path in tree.walk("", [], sys.maxsize)}


def changed(tree: Tree, targets: Sequence[str], untouched: Mapping[str, Stamp]) -> dict[str, Any]:
    """The files at and below `targets` that differ from `untouched`, and those that are targets themselves: contents, and the paths of
    those that are gone."""
    seen = [path for path in tree.walk("", [], sys.maxsize) if _is_in(path, targets)]
    different = [path for path in seen if path in targets or path not in untouched or stamp(path) != untouched[path]]
    files: dict[str, bytes] = {}
    left = MOST
    for path in sorted(different, key=_size):
        with contextlib.suppress(Refusal, OSError):
            files[path] = tree.read(path, left)
            left -= len(files[path])
    gone = {path for path in untouched if _is_in(path, targets)} - set(seen)
    return {"files": files, "removed": sorted(gone)}


def lay(tree: Tree, files: Mapping[str, bytes], removed: Iterable[str]) -> None:
    """Put an answer over the files of the image. Its programs can be executed: an answer has no modes. Raises `Refusal` and `OSError`."""
    for path in removed:
        with contextlib.suppress(Refusal, FileNotFoundError):
            tree.remove(path)
    for path, data in files.items():
        parts = tree.parts_of(path)
        _make_way(tree, parts)
        tree.write(parts, data)
        if data.startswith(_PROGRAMS):
            os.chmod(os.path.join(tree.path, path), 0o755)


def _make_way(tree: Tree, parts: Sequence[str]) -> None:
    """Remove what is no regular file at the path of one, or no directory above it: the answer replaced it."""
    for count in range(1, len(parts) + 1):
        path = os.path.join(tree.path, *parts[:count])
        wanted = stat.S_ISREG if count == len(parts) else stat.S_ISDIR
        if os.path.lexists(path) and not wanted(os.lstat(path).st_mode):
            if os.path.isdir(path) and not os.path.islink(path):
                tree.clear(path)
            else:
                os.unlink(path)


def _is_in(path: str, targets: Sequence[str]) -> bool:
    return any(each == WHOLE or path == each or path.startswith(each.rstrip("/") + "/") for each in targets)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
