"""Snapshots of libraries report what a candidate replaced, and not what changes by itself."""

from __future__ import annotations

import functools
import sys
import types
import unittest
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recode.inside.shared_grader.tampering.code_snapshot import CodeSnapshot, changes_of_repository

SOURCE = """\
import functools

FACTOR = 1.5
_calls = 0

def times(x, factor=1):
    return x * factor

class Base:
    def go(self):
        return 1

class Model(Base):
    pass

def wrapped(function):
    @functools.wraps(function)
    def inner(*given):
        return function(*given)
    return inner
"""
CANDIDATE = "/repository/candidate.py"
NAME = "library_of_the_test"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[types.ModuleType]:
    module = types.ModuleType(NAME)
    module.__file__ = str(tmp_path / "base.py")
    Path(module.__file__).write_text(SOURCE)
    sys.modules[NAME] = module
    exec(compile(SOURCE, module.__file__, "exec"), module.__dict__)
    yield module
    sys.modules.pop(NAME, None)


def act(change: str, module: types.ModuleType) -> None:
    exec(compile(change, CANDIDATE, "exec"), {"base": module, "functools": functools, "sys": sys, "types": types})


CHANGES = {
    "base.times = lambda *given: 0": "times",
    "base.FACTOR = 0.0": "FACTOR",
    "base.Base.go = lambda self: 0": "Base.go",
    "base.Model.go = lambda self: 0": "Model.go",
    "base.Model.go = property(lambda self: 0)": "Model.go",
    "base.times = functools.partial(lambda *given: 0)": "times",
    "base.times = base.wrapped(lambda *given: 0)": "times",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_the_candidates_now(library: types.ModuleType, change: str) -> None:
    snapshot = CodeSnapshot([NAME], b"Base Model")
    act(change, library)
    assert list(snapshot.changes(CANDIDATE.__eq__)) == [f"{NAME}.{CHANGES[change]} was replaced"]


@pytest.mark.parametrize(
    "change",
    [
        "base.times = base.wrapped(base.times)",
        "base.new = lambda: 0",
        "base._calls += 1",
        "base.Model.more = base.wrapped(base.times)",
    ],
)
def test_what_a_library_may_do_to_itself(library: types.ModuleType, change: str) -> None:
    snapshot = CodeSnapshot([NAME], b"Base Model")
    act(change, library)
    assert list(snapshot.changes(CANDIDATE.__eq__)) == []


def test_a_module_in_the_place_of_another(library: types.ModuleType) -> None:
    snapshot = CodeSnapshot([NAME])
    act(f"sys.modules[{NAME!r}] = types.ModuleType({NAME!r})", library)
    assert list(snapshot.changes(CANDIDATE.__eq__)) == [f"sys.modules[{NAME!r}] was replaced"]


def test_of_what_judges_every_other_function_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = CodeSnapshot()
    assert list(snapshot.changes_of_judge()) == []
    monkeypatch.setattr(pytest, "approx", float)
    assert list(snapshot.changes_of_judge()) == ["pytest.approx was replaced"]


CODE = "{}.__code__ = (lambda *given: 0).__code__"


@pytest.mark.parametrize("function", ["base.times", "base.Base.go"])
def test_a_function_that_keeps_its_identity_and_gets_other_code(library: types.ModuleType, function: str) -> None:
    snapshot = CodeSnapshot([NAME], b"Base Model")
    act(CODE.format(function), library)
    name = function.removeprefix("base.")
    assert set(snapshot.changes(CANDIDATE.__eq__)) == {f"{NAME}.{name} has other code"}


def test_a_class_of_the_judge_gets_a_new_method(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = CodeSnapshot()
    monkeypatch.setattr(unittest.TestResult, "__getattribute__", lambda _, name: name, raising=False)
    assert set(snapshot.changes_of_judge()) == {"unittest.result.TestResult.__getattribute__ was added"}


@pytest.mark.parametrize("change", ["base.times = lambda *given: 0", "base.Base.go = lambda self: 0"])
def test_what_a_file_of_the_repositorys_defines(library: types.ModuleType, change: str) -> None:
    paths = [str(library.__file__)]
    act("base.new = lambda: 0", library)
    assert list(changes_of_repository(paths, CANDIDATE.__eq__)) == []
    act(change, library)
    [finding] = changes_of_repository(paths, CANDIDATE.__eq__)
    assert finding.endswith("was replaced")
    assert list(changes_of_repository([], CANDIDATE.__eq__)) == []
