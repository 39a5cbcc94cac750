"""The outcome of a case: its id, its interface, and pytest's reports combined with the candidate's answers.

Runs in the graders' processes. Called by the pytest plugins of the graders. Must not count a case as passed without
positive evidence from every phase.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import ast
import difflib
import functools
import re
import sys
from typing import Any, Optional, Protocol

import pytest

from ..wire.messages import PASSED, CaseOutcome, ExceptionReport
from . import candidate_error, failure_symptom, interface_names

MAX_MESSAGE = 20_000  # characters of a case's message
_ADDRESS = re.compile(r"(?<=\bat )0x[0-9a-f]+", re.IGNORECASE)  # numpy writes capitals
"""The address of an object in a traceback. It differs in every grading, but a seed must repeat the whole message."""
_INTERNAL = re.compile(r"\b_recode(?:\.\w+)+\.(?=[A-Z]\w*\b)")
"""The module of an exception of this package, which pytest writes before its name."""


def case_id(nodeid: str) -> str:
    """The id of a case: the node id without `tests/`, as the task's author would write it."""
    return nodeid.removeprefix("tests/")


def interface_of(item: pytest.Item, interfaces: list[str]) -> tuple[str, str]:
    """The interface that a case tests, and ""; or "", and what is wrong, with the case and the choices."""
    mark = item.get_closest_marker("interface")
    if mark is not None:
        name = mark.args[0] if len(mark.args) == 1 and not mark.kwargs else None
        if name not in interfaces:
            return "", f"{case_id(item.nodeid)}: {interface_names.not_among(name, interfaces)}"
        return str(name), ""
    function = getattr(item, "originalname", None) or item.name
    name, wrong = interface_names.interface_named(function, item.path.stem, interfaces)
    return name, f"{case_id(item.nodeid)} {wrong}" if wrong else ""


def missing_fixture(items: list[pytest.Item], grader_fixtures: tuple[str, ...] = ()) -> str:
    """Name the first test that asks for a fixture that does not exist, and what to do; "" if no test does. `grader_fixtures`: the fixtures of the grader.

    Checked at collection, before an agent works on the task. pytest would notice it when the test runs.
    """
    for item in items:
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
        if known is None:
            continue  # not a test function
        arguments = {"request", *getattr(item, "funcargs", {})}
        for spec in ("params", "funcargs"):  # pytest 7 has values of `parametrize` in the second
            arguments.update(getattr(getattr(item, "callspec", None), spec, {}))
        for name in getattr(item, "fixturenames", ()):
            if name not in known and name not in arguments:
                return f"{case_id(item.nodeid)} asks for the fixture `{name}`, {_where_to_find(name, grader_fixtures)}"
    return ""


def _where_to_find(fixture: str, grader_fixtures: tuple[str, ...]) -> str:
    if fixture == "subtests":
        return (
            f"which pytest has from version 9.0 on, and {sys.executable} has pytest {pytest.__version__}: install "
            "pytest 9 there, or use `pytest.mark.parametrize` or `unittest.TestCase.subTest`"
        )
    near = difflib.get_close_matches(fixture, grader_fixtures, 1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    choices = f" (there are {', '.join(grader_fixtures)}, and those of pytest)" if grader_fixtures else ""
    return f"which does not exist{meant}: correct the name{choices}, or define the fixture in the hidden tests"


def returned_value(items: list[pytest.Item]) -> str:
    """Name the first test whose code returns a value, and what to do; "" if no test does.

    Checked at collection. pytest would notice it when the test runs, where the candidate can decide whether the value
    is None, and so whether its episode ends with an error. Each file is parsed once, because every grading does this.
    """
    files: dict[str, dict[int, ast.AST]] = {}
    for item in items:
        test = getattr(item, "function", None)
        code = getattr(innermost(test), "__code__", None)
        if code is None:
            continue
        if code.co_filename not in files:
            files[code.co_filename] = _functions(code.co_filename)
        function = files[code.co_filename].pop(code.co_firstlineno, None)
        value = _value_returned(function) if function is not None else None
        if value is not None:
            text = f"return {ast.unparse(value)}"[:80]
            return f"{case_id(item.nodeid)}: `{text}`: a test must not return a value; use `assert`"
    return ""


def innermost(test: Any) -> Any:
    """The function below the decorators, partial objects and method objects of a test."""
    for _ in range(100):  # a mock has an endless chain
        if isinstance(test, (staticmethod, classmethod)):
            test = test.__func__
        elif isinstance(test, functools.partial):
            test = test.func
        elif hasattr(test, "__wrapped__"):
            test = test.__wrapped__
        else:
            break
    return test


def _functions(file: str) -> dict[int, ast.AST]:
    """The functions of a file, by the line in which each begins, its decorators included."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return {}  # generated code has no file
    found = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {min([node.lineno, *(each.lineno for each in node.decorator_list)]): node for node in found}


def _value_returned(function: ast.AST) -> ast.expr | None:
    inner = list(ast.iter_child_nodes(function))
    while inner:
        node = inner.pop()
        if isinstance(node, ast.Return):
            if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                return node.value
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            inner += ast.iter_child_nodes(node)
    return None


class CandidateUse(Protocol):
    """What the code under test contributed to one case (`separate_grader/candidate_link.py`)."""

    answered: bool  # whether any answer of the candidate's reached the case
    data_received: bool  # whether that was more than modules and functions to call
    failure: tuple[str, str] | None  # kind and text of what fails the case, whatever the test did
    test_fault: str  # what the test did that is not possible, whether or not it caught the exception


def combined(reports: list[tuple[Any, BaseException | None]], use: CandidateUse, *, xpass: bool = False) -> CaseOutcome:
    """The outcome of a case: passed if setup, call and teardown passed and the test hid no failure.

    `xpass`: whether a test that is marked as expected to fail, and ran to its end without a failure, has passed.
    """
    phases = [report.when for report, _ in reports]
    ran = phases[:1] == ["setup"] and set(phases[1:-1]) == {"call"} and phases[-1] == "teardown"  # subtests: more calls
    bad = [
        (report, error)
        for report, error in reports
        if report.outcome != "passed" or (hasattr(report, "wasxfail") and not xpass)
    ]
    texts, kind = [], ""
    exception: Optional[ExceptionReport] = None
    if ran and not bad and use.failure is None and not use.test_fault:
        if use.answered:
            return PASSED.copy()
        texts.append(
            "the test never uses the candidate, so it would pass for any candidate: use the `candidate` fixture (a test that"
            " imports the target needs `oracle: {isolation: shared}` in task.yaml)"
        )
    if use.failure is not None:
        kind = use.failure[0]
        texts.append(use.failure[1])
    if use.test_fault:
        texts.append(use.test_fault)
    for report, error in bad:
        texts.append(f"{report.when}: {text_of(report)}")
        if isinstance(error, pytest.PytestReturnNotNoneWarning):
            texts.append("a test must not return a value; use `assert`")
        if isinstance(error, candidate_error.CandidateError):
            exception = {"type": error.type, "message": str(error), "frames": error.frames}
            texts.append("\n".join([f"in the candidate's code: {error.type}: {error}", *error.frames]))
        kind = kind or _kind(error)
    if not texts:
        texts.append(f"the case ran only its {', '.join(phases) or 'nothing'}")
    # A failure after the candidate's data was received counts as caused by them, also a value that cannot be sent: the
    # reference has passed this test, and otherwise a candidate could turn failures into errors by what it returns.
    # Modules and functions to call are not the cause of a value that cannot be sent.
    answered = use.data_received if use.test_fault and use.failure is None else use.answered
    outcome = "failed" if answered or use.failure is not None else "error"
    message = shortened("\n\n".join(texts))
    return {"outcome": outcome, "kind": kind, "message": message, "exception": exception, "junit": _junit(reports)}


def _junit(reports: list[tuple[Any, BaseException | None]]) -> str:
    """The category in pytest's JUnit report: a failure outside of the call is an error, an expected one is skipped."""
    if any(report.failed and report.when != "call" for report, _ in reports):
        return "error"
    if any(report.failed for report, _ in reports):
        return "failure"
    return "skipped" if any(report.skipped for report, _ in reports) else "passed"


def shortened(text: str) -> str:
    """At most MAX_MESSAGE characters: the beginning, which shows the test, and the end, which shows the failure."""
    half = MAX_MESSAGE // 2 - 10
    return text if len(text) <= MAX_MESSAGE else f"{text[:half]}\n[…]\n{text[-half:]}"


def text_of(report: Any) -> str:
    """Why a report of pytest's is not a pass."""
    if hasattr(report, "wasxfail"):
        return f"expected to fail ({report.wasxfail}), which does not count as a pass"
    if report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        return f"skipped ({reason}), which does not count as a pass"
    return _INTERNAL.sub("", _ADDRESS.sub("…", str(report.longreprtext)))


def _kind(error: BaseException | None) -> str:
    if isinstance(error, candidate_error.CandidateError):
        return "undefined" if error.undefined else failure_symptom.of_raised(error)
    return "assertion" if error is None else failure_symptom.symptom(error)
