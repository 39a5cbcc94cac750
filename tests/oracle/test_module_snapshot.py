"""Snapshots of a repository's modules report what a candidate changed, and not what changes by itself."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.inside.shared_grader.tampering import class_versions, module_snapshot

SOURCE = """\
import numpy as np

TABLE = {"one": 1, "deep": {"list": [1, {2}]}}
WEIGHT = np.ones(2)
FACTOR = 1
OTHER = (1, 2)
_cache = None


def times(x, factor=1):
    return x * factor


class Base:
    UNIT = 1

    def go(self):
        return self.UNIT

    @property
    def one(self):
        return 1

    @staticmethod
    def two():
        return 2


class Model(Base):
    pass
"""
CANDIDATE = "/repository/candidate.py"


@pytest.fixture
def base() -> Iterator[types.ModuleType]:
    module = types.ModuleType("base_of_the_test")
    module.__file__ = "/repository/base.py"
    sys.modules[module.__name__] = module
    exec(compile(SOURCE, module.__file__, "exec"), module.__dict__)
    yield module
    del sys.modules[module.__name__]


def run(text: str, module: types.ModuleType, file: str) -> None:
    exec(compile(text, file, "exec"), {"base": module, "functools": functools})


def changes(
    module: types.ModuleType, change: Callable[[], Any], sources: tuple[str, ...] = (), file: str = CANDIDATE
) -> list[str]:
    snapshots = module_snapshot.ModuleSnapshots()
    snapshots.add(module)
    change()
    found = list(snapshots.changes(lambda path: path == file, sources))
    assert all(line.startswith("base_of_the_test.") for line in found)
    return [line.partition(".")[2] for line in found]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("base.TABLE['one'] = 2", "TABLE was changed"),
        ("del base.TABLE['one']", "TABLE was changed"),
        ("base.TABLE['deep']['list'][0] = 2", "TABLE was changed"),
        ("base.TABLE['deep']['list'][1].clear()", "TABLE was changed"),
        ("base.TABLE = dict(base.TABLE)", "TABLE was replaced"),
        ("base.WEIGHT *= 2", "WEIGHT was changed"),
        ("base.FACTOR = 2", "FACTOR was replaced"),
        ("base.FACTOR = True", "FACTOR was replaced"),
        ("base.OTHER = (1, 3)", "OTHER was replaced"),
        ("base.np = base", "np was replaced"),
        ("base.times = max", "times was replaced"),
        ("del base.times", "times was replaced"),
        ("base.times.__defaults__ = (0,)", "times was changed"),
        ("base.times = functools.wraps(base.times)(lambda x: 0)", "times was replaced"),
        ("base.len = lambda x: 0", "len was added"),
        ("base.Base.UNIT = 2", "Base.UNIT was replaced"),
        ("base.Base.go = lambda self: 0", "Base.go was replaced"),
        ("base.Base.one = property(lambda self: 0)", "Base.one was replaced"),
        ("base.Base.two = staticmethod(lambda: 0)", "Base.two was replaced"),
        ("base.Model.go = lambda self: 0", "Model.go was added"),
        ("base.Model.__eq__ = lambda self, other: True", "Model.__eq__ was added"),
        ("base.Model.__bases__ = (type('Other', (base.Base,), {}),)", "Model.__bases__ was replaced"),
        ("go = base.Base.go; base.Base.go = max; base.Base.go = go", "Base was changed and restored"),
    ],
)
def test_what_was_changed_is_changes(base: types.ModuleType, change: str, expected: str) -> None:
    if "restored" in expected and class_versions.version(base.Base) is None:
        pytest.skip("this interpreter keeps no count of changes")
    assert changes(base, lambda: run(change, base, CANDIDATE)) == [expected]


@pytest.mark.parametrize(
    "change",
    [
        "base.TABLE['two'] = 2; base.TABLE['deep']['list'].append(3)",
        "base.FACTOR = 1; base.OTHER = base.OTHER",
        "base._cache = [1]",
        "base.more = lambda: 0; base.Base.more = lambda self: 0",
        "base.Model().go(); base.Model.__annotations__; base.Model().own = 1",
        "type('Below', (base.Model,), {'go': lambda self: 0, 'UNIT': 2})().go()",
    ],
)
def test_what_a_solution_may_do_is_not(base: types.ModuleType, change: str) -> None:
    assert changes(base, lambda: run(change, base, CANDIDATE)) == []


def test_what_a_library_wraps_it_has_not_replaced(base: types.ModuleType) -> None:
    """As torch does with the class of an optimizer that is made."""
    wrap = "base.Base.go = functools.wraps(base.Base.go)(lambda self: 0)"
    assert changes(base, lambda: run(wrap, base, "/usr/lib/python3/library.py")) == []


@pytest.mark.parametrize(
    ("code", "change", "is_theirs"),
    [
        ("def faster():\n    global FACTOR\n    FACTOR = 2\n", "base.FACTOR = 2", True),
        ("def count():\n    TABLE['one'] += 1\n", "base.TABLE['one'] = 2", True),
        ("def tables():\n    return TABLE\n", "base.TABLE['one'] = 2", True),
        ("def fill():\n    other.fill(TABLE)\n    fill(TABLE)\n", "base.TABLE['one'] = 2", True),
        ("class Base:\n    def go(self):\n        type(self).UNIT += 1\n", "base.Base.UNIT = 2", True),
        ("def switch(name):\n    setattr(module, name, 2)\n", "base.FACTOR = 2", True),
        ("class Base:\n    def go(self):\n        self.UNIT = 3\n", "base.Base.UNIT = 2", False),
        ("def size():\n    return len(TABLE), TABLE['one'], TABLE.get('two')\n", "base.TABLE['one'] = 2", False),
        ("def factor():\n    return FACTOR\n", "base.FACTOR = 2", False),
        ("class Base:\n    def on(cls):\n        cls.x = 1\n", "x = base.Model.UNIT; base.Model.y = 1; del base.Model.y", True),
        ("class Other:\n    def on(cls):\n        cls.x = 1\n", "x = base.Model.UNIT; base.Model.y = 1; del base.Model.y", False),
        ("this is no Python\n", "base.FACTOR = 2", False),
    ],
)  # fmt: skip
def test_what_the_repositorys_own_code_changes_is_let_be(
    base: types.ModuleType, tmp_path: Path, code: str, change: str, is_theirs: bool
) -> None:
    if "del" in change and class_versions.version(base.Base) is None:
        pytest.skip("this interpreter keeps no count of changes")
    source = tmp_path / "more.py"
    source.write_text(code)
    found = changes(base, lambda: run(change, base, CANDIDATE), (str(source), str(tmp_path / "gone.py")))
    assert (found == []) is is_theirs


def test_of_a_library_only_what_is_the_candidates_is_told() -> None:
    module = types.ModuleType("library_of_the_test")
    exec(compile(SOURCE, "/usr/lib/python3/library.py", "exec"), module.__dict__)
    module.Base.__module__ = module.Model.__module__ = module.__name__
    snapshot = module_snapshot.LibrarySnapshot([module])
    run("base.times = max\nbase.Base.go = max\nbase.TABLE.clear()\nbase.Model.more = lambda self: 0", module, CANDIDATE)
    assert list(snapshot.changes(lambda path: path == CANDIDATE)) == []
    run("base.times = lambda x: 0\nbase.Base.go = base.Model.one = lambda self: 0", module, CANDIDATE)
    assert list(snapshot.changes(lambda path: path == CANDIDATE)) == [
        "library_of_the_test.times was replaced",
        "library_of_the_test.Base.go was replaced",
        "library_of_the_test.Model.one was replaced",
    ]
