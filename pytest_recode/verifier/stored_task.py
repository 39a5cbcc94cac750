"""A task as files that the verifier reads: what judging needs of it, and nothing else. Written when the task is exported."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.task import Environment, Limits, Parts, Task

DESCRIPTION = "task.json"
PARTS = ("repo", "reference", "tests")
"""Directories of a stored task."""


def stored(task: Task, parts: Parts, *, fingerprint: str) -> dict[str, bytes]:
    """The files of a stored task, by path. `fingerprint`: of the whole task, for the results."""
    description = {
        "id": task.id,
        "title": task.title,
        "format": task.format,
        "targets": list(task.targets),
        "interfaces": list(task.interfaces),
        "preload": list(task.environment.preload),
        "limits": asdict(task.limits),
        "fingerprint": fingerprint,
        "canary": task.canary,
    }
    files = {DESCRIPTION: json.dumps(description, indent=1).encode() + b"\n"}
    for name, content in zip(PARTS, (parts.repo, parts.reference, parts.tests), strict=True):
        files.update({f"{name}/{path}": data for path, data in content.items()})
    return files


def read(place: Path) -> tuple[Task, Parts, str]:
    """The task that was stored in a directory, what is needed of its parts, and its fingerprint. Raises `UserError`."""
    path = place / DESCRIPTION
    try:
        values = json.loads(path.read_bytes())
        repo, reference, tests = (_files_below(place / name) for name in PARTS)
        task = Task(
            id=values["id"],
            title=values["title"],
            format=values["format"],
            manifest=path,
            targets=tuple(values["targets"]),
            interfaces=tuple(values["interfaces"]),
            environment=Environment(preload=tuple(values["preload"])),
            limits=Limits(**values["limits"]),
            canary=values["canary"],
            load=lambda: parts,
        )
        fingerprint = str(values["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{place}: is no stored task ({error!r}); export the task again") from None
    parts = Parts(instruction="", paper=None, repo=repo, reference=reference, tests=tests)
    return task, parts, fingerprint


def _files_below(place: Path) -> dict[str, bytes]:
    paths = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else []
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}
