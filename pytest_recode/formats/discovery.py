"""Find tasks on disk without pytest. Used by `pytest-recode report --tasks`, `power` and `preview`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, claimed
from pytest_recode.formats.checked_tasks import tasks_of
from pytest_recode.installed import Installed
from pytest_recode.task import Files, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredTasks:
    """Tasks by format and by their name in reports, and the error of each manifest that cannot be read."""

    tasks: Mapping[tuple[str, str], Task] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, set[str]]:
        """Task names by format."""
        names: dict[str, set[str]] = {}
        for task_format, name in self.tasks:
            names.setdefault(task_format, set()).add(name)
        return names

    def reference(self, task_format: str, name: str) -> Files | None:
        """The reference of a task, or None if the task was not found or has no reference. Raises `UserError` if it cannot be read."""
        task = self.tasks.get((task_format, name))
        if task is None:
            return None
        if task.fault:
            raise UserError(task.fault)
        return (task.reference() if task.reference is not None else task.load().reference) or None


def find(paths: Sequence[Path], named: Callable[[str, Mapping[str, Any]], str]) -> DiscoveredTasks:
    """Find the tasks of these manifests, and of manifests at any depth below these directories, in the formats that are installed.

    `named` computes a task's name from its id and facts. Raises `UserError` for a path that neither is nor contains a manifest, and for a
    name that two manifests use.
    """
    known: Mapping[str, Format] = Installed("formats") if paths else {}
    tasks: dict[tuple[str, str], Task] = {}
    errors = []
    for path in paths:
        manifests = list(_manifests(path, known))
        if not manifests:
            what = "contains no tasks" if path.exists() else f"no such file or directory{similar(path)}"
            raise UserError(f"{path}: {what}; give a directory with {' or '.join(sorted(known))}")
        for manifest in manifests:
            try:
                loaded = tasks_of(known[manifest.name], manifest)
            except UserError as error:
                errors.append(str(error))
                continue
            for task in loaded:
                name = named(task.id, task.facts)
                first = tasks.setdefault((task.format, name), task)
                if first.manifest.resolve() != task.manifest.resolve():
                    raise UserError(
                        f"{task.manifest}: task id {name!r} is already used by {first.manifest}: change one of the two ids,"
                        " or give one directory at a time"
                    )
    return DiscoveredTasks(tasks=tasks, errors=tuple(errors))


def similar(path: Path) -> str:
    """A guess at what was meant by a path that does not exist, as words behind it; "" without one."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_dir() and not each.name.startswith(".")]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, 1)
    return f" (did you mean {path.parent / near[0]}?)" if near else ""


def manifest_at(path: Path, known: Mapping[str, Format]) -> Path | None:
    """The manifest that a path is, or that is in its directory."""
    if path.is_file():
        return path if path.name in known and claimed(known[path.name], path) else None
    names = [name for name in sorted(known) if (path / name).is_file()]
    return next((path / name for name in names if claimed(known[name], path / name)), None)


def _manifests(path: Path, known: Mapping[str, Format]) -> Iterator[Path]:
    """The manifests below `path`; directories below a manifest are not searched, because they belong to it."""
    if (manifest := manifest_at(path, known)) is not None:
        yield manifest
    elif path.is_dir():
        for below in sorted(path.iterdir()):
            if below.is_dir() and not below.name.startswith(".") and not below.is_symlink():
                yield from _manifests(below, known)
