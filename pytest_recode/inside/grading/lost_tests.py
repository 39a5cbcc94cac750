"""Finds hidden tests that pytest does not collect or cannot judge: classes with `__init__`, and tests that are no `def`.

Runs in the graders' processes, as a plugin of pytest. Must report before the code under test is asked anything, so that
what it answers cannot decide whether a grading ends with an error.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import inspect
import unittest
from collections.abc import Generator
from typing import Any

import pytest

from . import case_outcome


class LostTests:
    """A plugin. `problem`: the first lost test with what to do, or "", once pytest has collected."""

    def __init__(self) -> None:
        self.problem = ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: object) -> Generator[None, Any, None]:
        items = (yield).get_result()
        if self.problem:
            return
        where = f"{case_outcome.case_id(collector.nodeid)}::{name}"
        if isinstance(obj, type):
            if isinstance(items, pytest.Class):
                self.problem = _class_problem(where, obj)
        elif items is None and collector.istestfunction(obj, name) and getattr(obj, "__test__", True):
            self.problem = f"{where} is an object of type {type(obj).__name__}, which pytest does not collect: {_DEF}"
        else:
            self.problem = _function_problem(where, obj) if items else ""


_DEF = "write it as `def test_…` with `assert`, or rename it if it is no test"


def _class_problem(where: str, obj: type) -> str:
    if issubclass(obj, unittest.TestCase) or not getattr(obj, "__test__", True):
        return ""
    made_by = next((name for name in ("__init__", "__new__") if getattr(obj, name) is not getattr(object, name)), "")
    tests = [name for name in dir(obj) if name.startswith("test") and callable(getattr(obj, name, None))]
    if not made_by or not tests:
        return ""
    return (
        f"{where} has `{made_by}`, so pytest does not collect its test {tests[0]}: use a fixture or `setup_method` "
        "instead, or set `__test__ = False` if it contains no tests"
    )


def _function_problem(where: str, obj: object) -> str:
    function = case_outcome.innermost(obj)
    code = getattr(function, "__code__", None)
    if code is not None and code.co_name == "<lambda>":
        return f"{where} is a lambda, which returns a value: {_DEF}"
    for is_kind, kind in (
        (inspect.iscoroutinefunction, "`async def`"),
        (inspect.isasyncgenfunction, "`async def` with `yield`"),
        (inspect.isgeneratorfunction, "a generator (it contains `yield`)"),
    ):
        if is_kind(function):
            return f"{where} is {kind}, which pytest does not run: write it as plain `def` with `assert`"
    return ""
