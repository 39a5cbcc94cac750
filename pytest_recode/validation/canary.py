"""The canary of a task: a text that every file of its directory must contain, so that a copy of any of them can be found."""

from __future__ import annotations

import os
from pathlib import Path

from pytest_recode.task import Task
from pytest_recode.wording import some_of

_MOST_SHOWN = 5


def canary_problem(task: Task) -> str:
    """The problem that files of `task` lack its canary; "" if none does, or if the task has no canary.

    Files that are not UTF-8 have none. Raises `OSError`.
    """
    if not task.canary:
        return ""
    root = task.manifest.parent
    paths = sorted(str(path.relative_to(root)) for path in _files(root) if _lacks(path, task.canary))
    if not paths:
        return ""
    return (
        f"{task.id}: {len(paths)} of its files {'lacks' if len(paths) == 1 else 'lack'} the canary of {task.manifest.name}: {some_of(paths, _MOST_SHOWN)}. "
        f"Add it to each as a comment: {task.canary}"
    )


def _files(root: Path) -> list[Path]:
    """All files below `root` but those that tools create. Follows no link."""
    paths = []
    for directory, directories, names in os.walk(root):
        directories[:] = [name for name in directories if name != "__pycache__" and not name.startswith(".")]
        paths += [Path(directory, name) for name in names if not name.startswith(".")]
    return paths


def _lacks(path: Path, canary: str) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    try:
        return canary not in path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
