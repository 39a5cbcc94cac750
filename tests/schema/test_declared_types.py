"""A value of others is checked against its declared type: the message has the path of the first wrong field, its value and what it must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import Agent, AgentKind
from pytest_recode.episode import Move
from pytest_recode.feedback import PolicyKind
from pytest_recode.sandboxes import SandboxKind
from pytest_recode.schema.declared_types import described, problem
from pytest_recode.task import Environment, Oracle, Parts, Task
from pytest_recode.usage import Usage


def task(**fields: Any) -> Task:
    required = {"id": "t", "title": "t", "format": "f", "manifest": Path("m"), "targets": ("a.py",), "interfaces": ()}
    return Task(**{**required, "load": lambda: None, **fields})


def parts(**fields: Any) -> Parts:
    return Parts(**{"instruction": "Do.", "paper": None, "repo": {}, "reference": {}, "tests": {}, **fields})


def kind(**fields: Any) -> SandboxKind:
    functions = {name: lambda _: None for name in ("make", "check", "reap")}
    return SandboxKind(**{**functions, **fields})


class Lazy:
    pass


class Deaf:
    def act(self, brief: object, workspace: object) -> Move:
        return Move()


WRONG: list[tuple[Any, Any, str]] = [
    (Move(steps=-1), Move, "Move.steps=-1: must be a whole number from 0"),
    (Move(steps=True), Move, "Move.steps=True: must be a whole number from 0"),
    (Move(gave_up="yes"), Move, "Move.gave_up='yes': must be True or False"),  # type: ignore[arg-type]
    (Move(usage=Usage(cost_usd=float("nan"))), Move, "Move.usage.cost_usd=nan: must be a number from 0 or None"),
    (None, Move, "None: must be a pytest_recode.episode.Move"),
    (task(targets="a.py"), Task, "Task.targets='a.py': must be a tuple of str, such as ('a.py',)"),
    (task(targets=("a.py", 3)), Task, "Task.targets[1]=3: must be a str"),
    (task(load=lambda path: path), Task, "Task.load=<lambda>: must take 0 arguments, not (path)"),
    (task(oracle="shared"), Task, "Task.oracle='shared': must be a pytest_recode.task.Oracle"),
    (task(oracle=Oracle(isolation="full")), Task, "Task.oracle.isolation='full': must be 'separate' or 'shared' or 'verifier'"),  # type: ignore[arg-type]
    (task(facts={"x": {1}}), Task, "Task.facts={'x': {1}}: must be of plain JSON types (str, int, float, bool, None, list, dict)"),
    (task(environment=Environment(dockerfile="D")), Task, "Task.environment.dockerfile='D': must be a Path or None"),  # type: ignore[arg-type]
    (parts(repo={"a.py": "x"}), Parts, "Parts.repo['a.py']='x': must be bytes"),
    (parts(tests=["a.py"]), Parts, "Parts.tests=['a.py']: must be a mapping, such as a dict of str to bytes"),
    (Lazy(), Agent, "a Lazy: lacks act(brief, feedback, workspace)"),
    (Deaf(), Agent, "Deaf.act: must be a method that takes act(brief, feedback, workspace)"),
    (AgentKind(make=Lazy), AgentKind, "AgentKind.make=Lazy: must take 1 argument, not ()"),  # type: ignore[arg-type]
    (kind(reap=None), SandboxKind, "SandboxKind.reap=None: must be a function or class"),
    (kind(needs="gpu"), SandboxKind, "SandboxKind.needs='gpu': must be 'interpreter' or 'image' or ''"),
    (PolicyKind(make=3), PolicyKind, "PolicyKind.make=3: must be a function or class"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("value", "declared", "words"), WRONG, ids=[words for _, _, words in WRONG])
def test_the_first_wrong_field_is_named(value: Any, declared: Any, words: str) -> None:
    assert described(value, problem(value, declared)) == words


RIGHT = [Move(), Move(usage=Usage(cost_usd=None)), task(), parts(paper="p"), kind(missing_image=lambda *_: None)]


@pytest.mark.parametrize("value", RIGHT, ids=[type(value).__name__ for value in RIGHT])
def test_a_right_value_has_no_problem(value: Any) -> None:
    assert problem(value, type(value)) == ""
