"""The conformance suite for task formats: call `check_format(FORMAT, path_of_a_manifest)` in a test of your format."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats import Format
from pytest_recode.task import WHOLE, Files, Parts, Task, brief

GARBAGE = b"\xff\xfe\x00 no manifest of any format \x00"


def check_format(format: Format, manifest: Path) -> None:  # noqa: A002  the noun of the project
    """Load `manifest`, which must be valid, a manifest that does not exist, and one with garbage, as a run would.

    Raises an `AssertionError` that names the requirement that the format does not meet.
    """
    _must(bool(format.name) and format.name.split() == [format.name], f"the name {format.name!r} must be one word")
    _must(
        Path(format.manifest).name == format.manifest,
        f"the manifest {format.manifest!r} must be the name of a file, without a directory",
    )
    _must(manifest.name == format.manifest, f"{manifest} must be named {format.manifest}, or the format is never used")
    tasks = format.load(manifest)
    _must(len(tasks) > 0, f"{manifest} must have at least one task")
    ids = [task.id for task in tasks]
    _must(len(set(ids)) == len(ids), f"the ids of the tasks must differ: {', '.join(ids)}")
    _must(len(ids) == 1 or not format.single, f"`single` requires one task for each manifest, not {', '.join(ids)}")
    _must(list(format.load(manifest)) == list(tasks), "loading it twice must return equal tasks")
    for task in tasks:
        _task(format, manifest, task)
        parts = task.load()
        _parts(task, parts)
        _must(task.load() == parts, f"{task.id}: loading it twice must return equal parts")
    _refuses(format, manifest.parent / "no such directory" / format.manifest, "does not exist")
    with tempfile.TemporaryDirectory() as directory:
        garbage = Path(directory) / format.manifest
        garbage.write_bytes(GARBAGE)
        _refuses(format, garbage, "contains garbage")


def _task(format: Format, manifest: Path, task: Task) -> None:  # noqa: A002
    _must(task.format == format.name, f"{task.id}: task.format must be {format.name!r}, not {task.format!r}")
    _must(task.manifest == manifest, f"{task.id}: task.manifest must be the path that was loaded")
    _must(bool(task.id) and task.id == task.id.strip() and "::" not in task.id, f"the id {task.id!r} must be a name")
    _must(bool(task.title.strip()), f"{task.id}: the title must not be empty")
    _must(bool(task.targets), f"{task.id}: there must be at least one target")
    separate = task.oracle.isolation == "separate"
    _must(bool(task.interfaces) or not separate, f"{task.id}: there must be at least one interface")
    for path in task.targets:
        _must(
            path == WHOLE or _relative(path.removesuffix("/")),
            f"{task.id}: the target {path!r} must be relative to the repository, without '..'",
        )
    _must(
        not task.environment.python,
        f"{task.id}: environment.python must be empty, because only the user may choose an interpreter; set environment.name instead of {task.environment.python!r}",
    )
    for file in (task.environment.dockerfile, task.environment.requirements):
        _must(file is None or file.is_absolute(), f"{task.id}: the environment's path {file} must be absolute")


def _parts(task: Task, parts: Parts) -> None:
    _must(bool(parts.instruction.strip()), f"{task.id}: the instruction must not be empty")
    _must(bool(parts.tests), f"{task.id}: there must be hidden tests")
    script = task.oracle.script
    _must(
        not script or script in parts.tests, f"{task.id}: the hidden tests must contain the oracle's script {script!r}"
    )
    verifier = task.oracle.verifier
    _must(
        verifier is None or not verifier.uploads or verifier.script in parts.tests,
        f"{task.id}: the hidden tests must contain the verifier's script",
    )
    _must(
        verifier is not None or set(parts.reference) == set(task.targets),
        f"{task.id}: the reference must contain exactly the targets, not {', '.join(parts.reference)}",
    )
    _must(
        task.reference is None or task.reference() == parts.reference,
        f"{task.id}: `reference` must return the same files as `load().reference`",
    )
    for files in (parts.repo, parts.reference, parts.tests):
        _files(task, files)
    shown = brief(task, parts).repo
    # With a shared oracle, the files of the tests may include a copy of a visible file that is not a target
    script = task.oracle.script
    tests = {script: parts.tests[script]} if task.oracle.isolation == "shared" and script else parts.tests
    for name, data in {**parts.reference, **tests}.items():
        copies = [path for path, held in shown.items() if held == data and data.strip()]
        _must(not copies, f"{task.id}: the agent can read {name} in the repository, as {', '.join(copies)}")


def _files(task: Task, files: Files) -> None:
    for path, data in files.items():
        _must(_relative(path), f"{task.id}: the path {path!r} must be relative, without '..'")
        _must(isinstance(data, bytes), f"{task.id}: the contents of {path} must be bytes")


def _refuses(format: Format, manifest: Path, what: str) -> None:  # noqa: A002
    if format.claims is not None and not format.claims(manifest):
        _must(not format.load(manifest), f"a file that {what}, and that the format does not claim, must have no tasks")
        return
    error = _raised(lambda: format.load(manifest))
    _must(
        isinstance(error, UserError),
        f"a manifest that {what} must raise UserError, not {type(error).__name__ if error else 'return tasks'}",
    )
    _must(
        str(manifest) in str(error) and "\n" not in str(error),
        f"the error for a manifest that {what} must be one line that names its path, not: {error}",
    )


def _raised(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as error:  # noqa: BLE001  which one it is, is the question
        return error
    return None


def _relative(path: str) -> bool:
    return bool(path) and not path.startswith("/") and "\\" not in path and not {"", ".", ".."} & set(path.split("/"))


def _must(condition: bool, requirement: str) -> None:
    if not condition:
        raise AssertionError(requirement)
