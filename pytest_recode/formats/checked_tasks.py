"""The tasks of a manifest, as its format returns them: checked once, here, before an item or a command uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.directory.interface_check import undefined
from pytest_recode.schema.declared_types import described, problem
from pytest_recode.task import Files, Parts, Task


def tasks_of(task_format: Format, manifest: Path) -> Sequence[Task]:
    """Load a manifest. A task with a wrong field is replaced by an unreadable one, with the field in its fault.

    `load` and `reference` of a task raise `UserError` for wrong parts. Raises `UserError` for a manifest that cannot be loaded, or has two
    tasks with one id.
    """
    who = f"{manifest}: the format {task_format.name!r}"
    tasks: dict[str, Task] = {}
    for task in task_format.load(manifest):
        if not isinstance(task, Task) or not isinstance(task.id, str) or not task.id.strip():
            raise UserError(f"{who}: load() returned {described(task, problem(task, Task) or '.id must not be empty')}")
        if (first := tasks.get(task.id)) is not None:
            raise UserError(
                f"{who}: load() returned two tasks with the id {task.id!r}, with the titles {first.title!r} and {task.title!r}:"
                " give each its own id"
            )
        tasks[task.id] = _checked(task_format, manifest, task)
    return tuple(tasks.values())


def _checked(task_format: Format, manifest: Path, task: Task) -> Task:
    if wrong := problem(task, Task):
        return unreadable(
            task_format.name, manifest, task.id, f"task {task.id} of the format {task_format.name!r}: Task{wrong}"
        )
    reference = task.reference and partial(_files, task, task.reference, "reference")
    return replace(task, load=partial(_parts, task), reference=reference)


def _parts(task: Task) -> Parts:
    parts = task.load()
    if (wrong := problem(parts, Parts)) or (wrong := _without_content(task, parts)):
        raise UserError(f"task {task.id}: load() returned {described(parts, wrong)}")
    return parts


def _files(task: Task, load: Callable[[], Any], field: str) -> Files:
    files: Files = load()
    if wrong := problem(files, Files):
        raise UserError(f"task {task.id}: {field}() returned {described(files, wrong)}")
    return files


def _without_content(task: Task, parts: Parts) -> str:
    """What is missing in parts of the right types: without it, a verdict would be wrong."""
    if not parts.instruction.strip():
        return ".instruction is empty: an agent must be told what to do"
    if task.oracle.isolation == "verifier":  # its reference is a script that makes the targets
        return ""
    missing = [path for path in task.targets if path not in parts.reference]
    if task.targets and len(missing) == len(task.targets):
        return f".reference has none of the targets {', '.join(missing)}: it must have the authors' version of each"
    if task.oracle.isolation == "separate" and not any(map(_is_a_test, parts.tests)):
        return f".tests has no test_*.py: {', '.join(parts.tests) or 'it is empty'}"
    if task.oracle.isolation == "separate" and (lacks := undefined(task.interfaces, task.targets, parts.reference)):
        return f": {lacks[1]}"
    return ""


def _is_a_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))
