"""Snapshots of libraries report what a candidate replaced, and not what changes by itself."""

from __future__ import annotations

import functools
import sys
import types
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


@pytest.mark.parametrize("change", ["base.times = lambda *given: 0", "base.Base.go = lambda self: 0"])
def test_what_a_file_of_the_repositorys_defines(library: types.ModuleType, change: str) -> None:
    paths = [str(library.__file__)]
    act("base.new = lambda: 0", library)
    assert list(changes_of_repository(paths, CANDIDATE.__eq__)) == []
    act(change, library)
    [finding] = changes_of_repository(paths, CANDIDATE.__eq__)
    assert finding.endswith("was replaced")
    assert list(changes_of_repository([], CANDIDATE.__eq__)) == []
