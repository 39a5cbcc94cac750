"""Formats: a file each; every one turns a manifest on disk into Tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pytest_recode.faults import UserError
from pytest_recode.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """`manifest` is the file name that claims a directory; `load` raises `UserError` naming file, key and choices.

    `defaults` are values of fields of Settings that hold for its tasks unless the user gives others. `owns` tells whether a
    directory below the manifest's is part of a task, so that nothing in it may be collected as an ordinary test even
    where pytest was started in it; None: only what lies below a root directory with the manifest is kept from that.
    `single`: a manifest poses one task and never another, so that ids of items leave out the task's. Not for one that
    happens to hold a single task: its ids would change when it grows. `data_set`: the manifest's directory is as somebody
    published it, and no run's records may lie in it.
    """

    name: str
    manifest: str
    load: Callable[[Path], Sequence[Task]]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    owns: Callable[[Path, Path], bool] | None = None
    single: bool = False
    data_set: bool = False


def unreadable(task_format: str, manifest: Path, name: str, why: str, facts: Mapping[str, Any] | None = None) -> Task:
    """Stands for what a manifest names and nobody can play; `why` is one line, as of a `UserError`."""

    def no_parts() -> NoReturn:
        raise UserError(why)

    return Task(
        id=name,
        title=name,
        format=task_format,
        manifest=manifest,
        targets=(),
        interfaces=(),
        load=no_parts,
        facts=facts or {},
        fault=why,
    )
