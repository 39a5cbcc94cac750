"""What a format returns is checked once: a task with a fault becomes an unreadable one, whose message names task and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats import Format
from pytest_recode.formats.checked_tasks import tasks_of
from pytest_recode.task import Parts, Task
from tests.messages import assert_message

MANIFEST = Path("/set/bad.toml")


def parts(**fields: Any) -> Any:
    right = {
        "instruction": "Write twice.",
        "paper": None,
        "repo": {},
        "reference": {"a.py": b"def twice(x):\n    return 2 * x\n"},
        "tests": {"test_a.py": b"def test_twice(candidate):\n    assert candidate.a.twice(2) == 4\n"},
    }
    return lambda: Parts(**{**right, **fields})


def task(**fields: Any) -> Task:
    right = {"id": "t", "title": "t", "format": "bad", "manifest": MANIFEST, "targets": ("a.py",)}
    return Task(**{**right, "interfaces": ("a.twice",), "load": parts(), **fields})


def loaded(*tasks: Any) -> list[Task]:
    return list(tasks_of(Format(name="bad", manifest="bad.toml", load=lambda _: tasks), MANIFEST))


def test_a_wrong_field_is_a_fault_of_this_task_alone() -> None:
    wrong, right = loaded(task(targets="a.py"), task(id="other"))
    assert_message(wrong.fault, "task t of the format 'bad'", "Task.targets='a.py'", "such as ('a.py',)")
    assert not right.fault
    assert right.load() == parts()()


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (lambda: None, "None: must be a pytest_recode.task.Parts"),
        (parts(instruction=None), "Parts.instruction=None: must be a str"),
        (parts(instruction=" "), "Parts.instruction is empty"),
        (parts(repo={"a.py": "text"}), "Parts.repo['a.py']='text': must be bytes"),
        (parts(reference={}), "Parts.reference has none of the targets a.py"),
        (parts(reference={"a.py": b"def half(x):\n    return x / 2\n"}), "reference/a.py does not define 'a.twice'"),
        (parts(tests={"a.check.py": b"def test_twice(candidate): pass\n"}), "Parts.tests has no test_*.py: a.check.py"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_parts_are_an_error_of_their_author(load: Any, words: str) -> None:
    [checked] = loaded(task(load=load))
    with pytest.raises(UserError) as raised:
        checked.load()
    assert_message(str(raised.value), "task t: load() returned", words)


def test_a_wrong_reference_is_named() -> None:
    [checked] = loaded(task(reference=lambda: {"a.py": "text"}))
    assert checked.reference is not None
    with pytest.raises(UserError, match=r"task t: reference\(\) returned .*'a.py'.*: must be bytes"):
        checked.reference()


def test_two_tasks_with_one_id_are_both_named() -> None:
    with pytest.raises(UserError) as raised:
        loaded(task(title="first"), task(title="second"))
    assert_message(str(raised.value), "/set/bad.toml", "the id 't'", "'first'", "'second'", "its own id")


@pytest.mark.parametrize("entry", ["t", task(id=3), task(id=" ")], ids=["text", "number", "blank"])
def test_a_task_without_an_id_is_an_error_of_the_manifest(entry: Any) -> None:
    with pytest.raises(UserError, match=r"/set/bad.toml: the format 'bad': load\(\) returned "):
        loaded(entry)
