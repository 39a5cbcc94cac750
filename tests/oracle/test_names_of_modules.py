"""What a test sees of a name in a module of the candidate's: always what the name is bound to now, whatever bound it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

CODE = """
import importlib
import sys
import types

calls = 0


def first():
    return "first"


def second():
    return "second"


current = first


def choose():
    global current
    current = second
    return "chosen"


def choose_and_call(function):
    choose()
    return function()


def fail():
    choose()
    raise ValueError("no")


class Chooses:
    def __init__(self):
        choose()


def batches():
    try:
        yield 1
        yield 2
    finally:
        choose()


def later():
    import threading
    threading.Timer(0.05, choose).start()


def array():
    import weakref

    import numpy as np

    made = np.ones(2)
    weakref.finalize(made, choose)
    return made


def reload():
    importlib.reload(sys.modules[__name__]).current = second


def replace():
    other = types.ModuleType(__name__)
    other.current = second
    sys.modules[__name__] = other


def remove():
    global current
    del current


def use_the_other():
    import package
    package.part = types.SimpleNamespace(value=lambda: "other")
    package.module = importlib.import_module("package.other")


def __getattr__(name):
    global calls
    if name != "counted":
        raise AttributeError(name)
    calls += 1
    now = calls
    return lambda: now
"""
PACKAGE = {
    "package/__init__.py": "from package import module\n",
    "package/part.py": "def value():\n    return 'part'\n",
    "package/other.py": "def value():\n    return 'other'\n",
    "package/module.py": "def value():\n    return 'module'\n",
    "own.py": """
import sys
import types


class Own(types.ModuleType):
    made = 0

    @property
    def counted(self):
        Own.made += 1
        now = Own.made
        return lambda: now


sys.modules[__name__].__class__ = Own
""",
}
FILES = {"m.py": CODE, **PACKAGE}

SEEN = {
    "a function binds it": "candidate.m.choose()\nassert candidate.m.current() == 'second'",
    "a function that raises binds it": """
        with pytest.raises(ValueError):
            candidate.m.fail()
        assert candidate.m.current() == 'second'
        """,
    "a class binds it": "candidate.m.Chooses()\nassert candidate.m.current() == 'second'",
    "while a function of the test is called": """
        assert candidate.m.choose_and_call(lambda: candidate.m.current()) == 'second'
        assert candidate.m.current() == 'second'
        """,
    "the test binds it": """
        candidate.m.current = candidate.m.second
        assert candidate.m.current() == 'second'
        """,
    "a generator binds it that the test leaves": """
        next(candidate.m.batches())
        assert candidate.m.current() == 'second'
        """,
    "the end of a result binds it": "candidate.m.array()\nassert candidate.m.current() == 'second'",
    "a thread binds it": """
        candidate.m.later()
        while candidate.m.current() != 'second':
            pass
        """,
    "the module is loaded again": "candidate.m.reload()\nassert candidate.m.current() == 'second'",
    "another module takes its place": "candidate.m.replace()\nassert candidate.m.current() == 'second'",
    "it is removed": "candidate.m.remove()\nassert not hasattr(candidate.m, 'current')",
    "another module binds it": """
        assert (candidate.package.part.value(), candidate.package.module.value()) == ('part', 'module')
        candidate.m.use_the_other()
        assert (candidate.package.part.value(), candidate.package.module.value()) == ('other', 'other')
        """,
    "the module makes it": "assert [candidate.m.counted(), candidate.m.counted()] == [1, 2]",
    "the class of the module makes it": "assert [candidate.own.counted(), candidate.own.counted()] == [1, 2]",
    "the object stays": """
        kept = candidate.m.current
        candidate.m.choose()
        assert (kept(), candidate.m.current()) == ('first', 'second')
        """,
}
"""What may happen to a name that the test has asked for, and what the test sees then."""

TEST = """
import pytest


def test_name(candidate):
    assert candidate.m.current() == 'first'
    assert (candidate.m.choose, candidate.m.second) is not None
"""


@pytest.mark.parametrize("case", SEEN)
def test_a_test_sees_what_a_name_is_bound_to(bare: Sandbox, case: str) -> None:
    found = only(grade(bare, TEST + indent(dedent(SEEN[case]), "    "), FILES, FILES, interfaces=("m",)))
    assert (found.outcome, found.message) == (Outcome.PASSED, "")


def test_a_case_asks_anew(bare: Sandbox) -> None:
    tests = """
        def test_1(candidate):
            assert candidate.m.current() == 'first'
            candidate.m.choose()

        def test_2(candidate):
            assert candidate.m.current() == 'second'
    """
    assert grade(bare, tests, FILES, FILES, interfaces=("m",)).solved
