"""The outcome of a case: its id, its interface, and pytest's reports combined with the candidate's answers.

Runs in the graders' processes. Called by the pytest plugins of the graders. Must not count a case as passed without
positive evidence from every phase.

Stdlib, pytest and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

import pytest

from . import candidate_error, interface_names, symptoms

MAX_MESSAGE = 20_000  # characters of a case's account
_ADDRESS = re.compile(r"(?<=\bat )0x[0-9a-f]+", re.IGNORECASE)  # numpy writes capitals
"""Of an object that a traceback shows. It differs in every grading, and a seed must repeat the whole message."""


def case_id(nodeid: str) -> str:
    """A case's id, as the task's author would write it: below tests/."""
    return nodeid.removeprefix("tests/")


def interface_of(item: pytest.Item, interfaces: list[str]) -> tuple[str, str]:
    """Which interface a case tests; or what is wrong, naming the case and the choices."""
    mark = item.get_closest_marker("interface")
    if mark is not None:
        name = mark.args[0] if len(mark.args) == 1 and not mark.kwargs else None
        if name not in interfaces:
            return "", f"{case_id(item.nodeid)}: {interface_names.not_among(name, interfaces)}"
        return str(name), ""
    function = getattr(item, "originalname", None) or item.name
    name, wrong = interface_names.interface_named(function, item.path.stem, interfaces)
    return name, f"{case_id(item.nodeid)} {wrong}" if wrong else ""


def returned(items: list[pytest.Item]) -> str:
    """What is wrong with the first test whose code returns a value; "" if none does.

    Read at collection: pytest notices it when the test runs, and then the candidate decides whether the value is None. An error by
    its choice would take the episode out of every share. Each file is parsed once and each function read once: this is part of
    every grading.
    """
    files: dict[str, dict[int, ast.AST]] = {}
    for item in items:
        test = getattr(item, "function", None)
        code = getattr(inspect.unwrap(test), "__code__", None) if test is not None else None
        if code is None:
            continue
        if code.co_filename not in files:
            files[code.co_filename] = _functions(code.co_filename)
        function = files[code.co_filename].pop(code.co_firstlineno, None)
        value = _value_returned(function) if function is not None else None
        if value is not None:
            text = f"return {ast.unparse(value)}"[:80]
            return f"{case_id(item.nodeid)}: `{text}`: a test is to assert, not to return something"
    return ""


def _functions(file: str) -> dict[int, ast.AST]:
    """By the line in which each begins, its decorators included."""
    try:
        with open(file, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return {}  # code that was made has no file
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


def account(reports: list[tuple[Any, BaseException | None]], link: Any, *, xpass: bool = False) -> dict[str, Any]:
    """What a case comes to: passed, if setup, call and teardown passed and nothing went wrong that the test hid.

    `xpass`: whether a test that is marked as expected to fail, and ran to its end without a failure, has passed.
    """
    phases = [report.when for report, _ in reports]
    ran = phases[:1] == ["setup"] and set(phases[1:-1]) == {"call"} and phases[-1] == "teardown"  # subtests: more calls
    bad = [
        (report, error)
        for report, error in reports
        if report.outcome != "passed" or (hasattr(report, "wasxfail") and not xpass)
    ]
    texts, kind, exception, wrong = [], "", None, False
    if ran and not bad and link.failed is None and not link.fault:
        if link.heard:
            return {"outcome": "passed", "kind": "", "message": "", "exception": None, "junit": "passed"}
        texts.append(
            "it asks nothing of the candidate, so that it passes whatever the candidate is (a test that imports the target needs"
            " `oracle: {isolation: shared}` in task.yaml)"
        )
    if link.failed is not None:
        kind = link.failed[0]
        texts.append(link.failed[1])
    if link.fault:
        texts.append(link.fault)
    for report, error in bad:
        texts.append(f"{report.when}: {words(report)}")
        if isinstance(error, pytest.PytestReturnNotNoneWarning):
            wrong = True
            texts.append("a test is to assert, not to return something")
        if isinstance(error, candidate_error.CandidateError):
            exception = {"type": error.type, "message": error.message, "frames": error.frames}
            texts.append("\n".join([f"in the candidate's code: {error.type}: {error.message}", *error.frames]))
        kind = kind or _kind(error)
    if not texts:
        texts.append(f"the case ran only its {', '.join(phases) or 'nothing'}")
    # What goes wrong after the candidate's data came in is laid to them, a value that cannot travel too: the reference
    # has passed this very test, and otherwise a candidate could turn its failures into errors by what it returns.
    # Of a value that cannot travel modules and functions to call are not the cause.
    heard = link.told if link.fault and link.failed is None else link.heard
    outcome = "failed" if (heard and not wrong) or link.failed is not None else "error"
    message = shortened("\n\n".join(texts))
    return {"outcome": outcome, "kind": kind, "message": message, "exception": exception, "junit": _junit(reports)}


def _junit(reports: list[tuple[Any, BaseException | None]]) -> str:
    """What pytest's JUnit report counts: a failure outside of the call is an error, an expected one is skipped."""
    if any(report.failed and report.when != "call" for report, _ in reports):
        return "error"
    if any(report.failed for report, _ in reports):
        return "failure"
    return "skipped" if any(report.skipped for report, _ in reports) else "passed"


def shortened(text: str) -> str:
    """At most MAX_MESSAGE characters: where a test begins, and where it fails."""
    half = MAX_MESSAGE // 2 - 10
    return text if len(text) <= MAX_MESSAGE else f"{text[:half]}\n[…]\n{text[-half:]}"


def words(report: Any) -> str:
    if hasattr(report, "wasxfail"):
        return f"expected to fail ({report.wasxfail}), which is no pass"
    if report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        return f"skipped ({reason}), which is no pass"
    return _ADDRESS.sub("…", str(report.longreprtext))


def _kind(error: BaseException | None) -> str:
    if isinstance(error, candidate_error.CandidateError):
        return "exception"
    return "assertion" if error is None else symptoms.symptom(error)
