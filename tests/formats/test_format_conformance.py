"""check_format passes our own format, and catches formats that break a promise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.formats import Format
from pytest_recode.formats.directory import FORMAT, load
from pytest_recode.task import Environment, Parts, Task
from pytest_recode.testing import check_format
from tests.formats.task_directory import write


def test_our_own_format_keeps_every_promise(tmp_path: Path) -> None:
    check_format(FORMAT, write(tmp_path))


def with_tasks(change: Callable[[Task], Task], times: int = 1) -> Format:
    """Our format, with each task changed."""

    def changed(path: Path) -> Sequence[Task]:
        return [change(task) for task in load(path) for _ in range(times)]

    return replace(FORMAT, load=changed)


def with_parts(change: Callable[[Parts], Parts]) -> Format:
    def changed(task: Task) -> Task:
        return replace(task, load=lambda: change(task.load()))

    return with_tasks(changed)


def careless(path: Path) -> Sequence[Task]:
    if not path.exists():
        raise FileNotFoundError(path)
    return load(path)


BROKEN = {
    "two words": (replace(FORMAT, name="my format"), "the name 'my format' must be one word"),
    "a path": (
        replace(FORMAT, manifest="a/task.yaml"),
        "the manifest 'a/task.yaml' must be the name of a file, without a directory",
    ),
    "no task": (replace(FORMAT, load=lambda _path: ()), "must have at least one task"),
    "twice the same id": (with_tasks(lambda task: task, 2), "the ids of the tasks must differ: mean, mean"),
    "several of a single one": (
        replace(FORMAT, load=lambda path: [replace(task, id=name) for task in load(path) for name in ("a", "b")]),
        "`single` requires one task for each manifest, not a, b",
    ),
    "another format": (
        with_tasks(lambda task: replace(task, format="other")),
        "mean: task.format must be 'directory', not 'other'",
    ),
    "target outside": (
        with_tasks(lambda task: replace(task, targets=("../stats.py",))),
        "mean: the target '../stats.py' must be relative to the repository, without '..'",
    ),
    "relative environment": (
        with_tasks(lambda task: replace(task, environment=Environment(requirements=Path("needs.txt")))),
        "mean: the environment's path needs.txt must be absolute",
    ),
    "no instruction": (
        with_parts(lambda parts: replace(parts, instruction=" ")),
        "mean: the instruction must not be empty",
    ),
    "no tests": (with_parts(lambda parts: replace(parts, tests={})), "mean: there must be hidden tests"),
    "no reference": (
        with_parts(lambda parts: replace(parts, reference={})),
        "mean: the reference must contain exactly the targets, not ",
    ),
    "the reference in the repository": (
        with_parts(lambda parts: replace(parts, repo={"old/stats.py": parts.reference["stats.py"]})),
        "mean: the agent can read stats.py in the repository, as old/stats.py",
    ),
    "the tests in the repository": (
        with_parts(lambda parts: replace(parts, repo={"t.py": parts.tests["test_stats.py"]})),
        "mean: the agent can read test_stats.py in the repository, as t.py",
    ),
    "text for bytes": (
        with_parts(lambda parts: replace(parts, repo={"a.py": "text"})),  # type: ignore[dict-item]
        "mean: the contents of a.py must be bytes",
    ),
    "another exception": (
        replace(FORMAT, load=careless),
        "a manifest that does not exist must raise UserError, not FileNotFoundError",
    ),
}


@pytest.mark.parametrize(("broken", "promise"), BROKEN.values(), ids=BROKEN)
def test_a_broken_promise_is_named(tmp_path: Path, broken: Format, promise: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_format(broken, write(tmp_path))
    assert promise in str(caught.value)


def test_a_format_that_changes_its_mind_is_caught(tmp_path: Path) -> None:
    titles = iter(["first", "second"])
    fickle = with_tasks(lambda task: replace(task, title=next(titles)))
    with pytest.raises(AssertionError, match="loading it twice must return equal tasks"):
        check_format(fickle, write(tmp_path))
