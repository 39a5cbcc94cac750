"""The directory in which a person works on a task, with an editor of their own.

In the process that plays the episode. It lies below a private directory of the user for temporary files, away from tasks and records, so
that nothing hidden is beside it. Must not follow a symbolic link, and must not trust a name that a file of the run gives.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.agents.workspace import MAX_TARGET
from pytest_recode.faults import UserError
from pytest_recode.inside.workspace.file_tree import Missing, Refusal, Tree
from pytest_recode.task import Files
from pytest_recode.verdict import legible

MAX_FILES = 2000
"""Files that are taken besides the targets. A directory with more, such as a virtual environment, has only its targets taken."""
MAX_BYTES = 32 << 20
"""Bytes of these files; as many as a checkpoint stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """The files at the time of a submission; None if the directory is gone. `problems`: why a target counts as absent, a line each. `whole`
    is False if there were too many files, so that `files` has only the targets."""

    files: Files | None
    problems: tuple[str, ...]
    whole: bool


def create(task: str, files: Files) -> Path:
    """A new directory with these files. Raises `UserError`."""
    base = _base()
    name = re.sub(r"[^\w-]+", "-", task)[:40].strip("-") or "task"
    try:
        directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
        tree = Tree(str(directory))
        try:
            for path, data in files.items():
                tree.write(tree.parts_of(path), data)
        finally:
            tree.close()
    except (OSError, Refusal) as error:
        raise UserError(f"{base}: cannot be filled for a person to work in ({error}): set TMPDIR to another") from None
    return directory


def existing(name: str) -> Path | None:
    """The directory that `create` made under this name, or None if there is none any more."""
    if not re.fullmatch(r"\w[\w-]*", name):
        return None
    found = _base() / name
    return found if _is_own_directory(found) else None


def read(directory: Path, targets: Sequence[str]) -> Submission:
    """The targets, and the other files as far as they are few enough. Links, pipes and unreadable files are left out."""
    try:
        tree = Tree(str(directory))
    except OSError as error:
        return Submission(
            files=None, problems=(f"{directory} cannot be read ({error.strerror}): restore it",), whole=False
        )
    try:
        files, problems = _targets(tree, targets)
        others = _others(tree, frozenset(targets))
    finally:
        tree.close()
    return Submission(files={**(others or {}), **files}, problems=tuple(problems), whole=others is not None)


def _base() -> Path:
    """The private directory, in which nobody else can write. Raises `UserError`."""
    base = Path(tempfile.gettempdir()).resolve() / f"recode-person-{os.getuid()}"
    try:
        base.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{base}: cannot be created ({error.strerror}): set TMPDIR to a directory that you can write to"
        ) from None
    if not _is_own_directory(base) or stat.S_IMODE(base.lstat().st_mode) & 0o077:
        raise UserError(f"{base}: is not a private directory of yours: remove it, or set TMPDIR to another place")
    return base


def _is_own_directory(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def _targets(tree: Tree, targets: Sequence[str]) -> tuple[dict[str, bytes], list[str]]:
    files: dict[str, bytes] = {}
    problems: list[str] = []
    for path in targets:
        try:
            files[path] = tree.read(path, MAX_TARGET)
        except Missing:
            continue  # a target may be absent: there may be several, and the person has not begun with this one
        except Refusal as refusal:
            problems.append(str(refusal))
        except OSError as error:
            problems.append(f"{path} cannot be read: {error.strerror}")
    return files, [legible(problem, keep="") for problem in problems]


def _others(tree: Tree, targets: frozenset[str]) -> dict[str, bytes] | None:
    """The other regular files; None if they are too many."""
    files: dict[str, bytes] = {}
    notes: list[str] = []
    room = MAX_BYTES
    try:
        for path in tree.walk("", notes, MAX_FILES):
            if path in targets or not _is_text(path):
                continue
            try:
                files[path] = tree.read(path, MAX_TARGET)
            except (Refusal, OSError):
                continue
            room -= len(files[path])
            if room < 0:
                return None
    except (Refusal, OSError):  # it changes while it is read
        return None
    return None if notes else files


def _is_text(path: str) -> bool:
    """Whether a path can be sent to the workspace: a name of a file may be no Unicode."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
