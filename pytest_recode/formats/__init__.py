"""Task formats: each turns a manifest on disk into Tasks. Adding one: docs/how-to/add-a-benchmark.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from pytest_recode.faults import UserError
from pytest_recode.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a manifest becomes Tasks.

    `manifest`: the file name that marks a directory as a task or a benchmark.
    `load`: returns the Tasks of a manifest; raises a `UserError` that names the file, the key and the allowed values.
    `claims(manifest)`: whether a file of the manifest's name is one of this format, judged by its name and what lies beside it: other tools use the
    name too. None: each is, and one that cannot be read is an error.
    `defaults`: values of fields of Settings for its tasks, unless the user sets them.
    `owns(manifest, directory)`: whether a directory below the manifest's is part of a task, so that pytest collects no ordinary
    tests from it, even if pytest is started there. None: only directories below a root directory that contains the manifest.
    `single`: a manifest always defines exactly one task, and item ids omit the task's id. Leave it False for a manifest that
    may define more later, because ids would change.
    `data_set`: the manifest's directory is a published data set, and records of runs must not be written there.
    """

    name: str
    manifest: str
    load: Callable[[Path], Sequence[Task]]
    claims: Callable[[Path], bool] | None = None
    defaults: Mapping[str, Any] = field(default_factory=dict)
    owns: Callable[[Path, Path], bool] | None = None
    single: bool = False
    data_set: bool = False


def claimed(task_format: Format, path: Path) -> bool:
    """Whether `path` is an existing file with the name of the format's manifest that the format claims."""
    return (
        path.name == task_format.manifest
        and path.is_file()
        and (task_format.claims is None or task_format.claims(path))
    )


def unreadable(task_format: str, manifest: Path, name: str, why: str, facts: Mapping[str, Any] | None = None) -> Task:
    """A Task in place of one that a manifest names and that cannot run; `why` is one line, as in a `UserError`."""

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
