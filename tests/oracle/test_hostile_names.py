"""Attacks reach into the judge by name, in strings: each name has to exist, or its attack attacks nothing.

`_recode…` modules and private names are found in the strings. Public names of the judge's look like any other word:
`NAMES` lists them with what they name.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
INSIDE = TESTS.parent / "pytest_recode/inside"
HOSTILE = sorted(path for part in ("oracle", "recode_h", "sandboxes") for path in (TESTS / part).glob("*.py"))

MODULE = re.compile(r"\b_recode((?:\.\w+)+)(?: import (\w+))?")
PRIVATE = re.compile(r"(?<=\.)_(?!_)\w+|(?<=[\"'])_(?!_)\w+(?=[\"'])")

OTHERS = {
    *("_exit", "_getframe", "_private", "_ShouldStop", "_core", "_GeneratorContextManager", "_deepcopy_dispatch"),
    *("_AssertRaisesContext", "_Outcome"),
    *("_asdict", "_replace"),
    *("_HookCaller", "_hooks", "_config", "_pluginmanager", "_pytest"),
    *("_C", "_disabled_torch_function_impl", "_dynamo", "_disable_dynamo"),
}
"""Private names of Python, numpy, pytest, pluggy and torch."""
OWN = {"_compiled", "_compiler", "_share", "_2", "_as_canonical", "_ex", "_get", "_py", "_recode"}
"""Names that the tests' own files have, and parts of names."""

NAMES = {
    "put_frame": "wire/frames.py put_frame",
    "put": "candidate/candidate_server.py _Server.put",
    "send": "candidate/candidate_server.py _Server.send",
    "turns": "candidate/candidate_server.py _Server.turns",
    "_open": "candidate/candidate_turns.py CandidateTurns._open",
    "sequence": "candidate/candidate_server.py _Server.sequence",
    "exception_report": "candidate/candidate_server.py _Server.exception_report",
    "_Comparison": "grading/equivalence.py _Comparison",
    "compare": "grading/equivalence.py _Comparison.compare",
    "Mismatch": "grading/equivalence.py Mismatch",
    "assert_equivalent": "grading/equivalence.py assert_equivalent",
    "combined": "grading/case_outcome.py combined",
    "equivalence": "grading/equivalence.py",
    "load": "shared_grader/concealment/memory_modules.py HiddenModules.load",
    "hidden": "shared_grader/in_repo_runner.py _InRepoPlugin.hidden",
    "_monitor": "shared_grader/tampering_check.py TamperingCheck._monitor",
    "end": "shared_grader/tampering/audit_monitor.py AuditMonitor.end",
    "_failed": "shared_grader/unittest_runner.py _Result._failed",
    "AuditMonitor": "shared_grader/tampering/audit_monitor.py AuditMonitor",
    "active": "shared_grader/tampering/audit_monitor.py AuditMonitor.active",
    "TamperingCheck": "shared_grader/tampering_check.py TamperingCheck",
    "_report": "shared_grader/tampering_check.py TamperingCheck._report",
    "close": "shared_grader/tampering_check.py TamperingCheck.close",
    "CodeSnapshot": "shared_grader/tampering/code_snapshot.py CodeSnapshot",
    "changes": "shared_grader/tampering/code_snapshot.py CodeSnapshot.changes",
    "_Result": "shared_grader/unittest_runner.py _Result",
    "_add": "shared_grader/unittest_runner.py _Result._add",
    "Runner": "shared_grader/runner.py Runner",
    "run": "shared_grader/runner.py Runner.run",
    "HiddenModules": "shared_grader/concealment/memory_modules.py HiddenModules",
    "finished": "wire/messages.py finished",
    "write_files": "setup/task_files.py write_files",
    "token": "wire/messages.py JudgeStart.token",
    "names": "wire/messages.py JudgeStart.names",
}


@functools.cache
def strings() -> list[tuple[str, str]]:
    """Each string of the tests, with its file. Docstrings are among them: a name in one should exist, too."""
    return [
        (path.name, node.value)
        for path in HOSTILE
        if path.name != Path(__file__).name
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def bound(tree: ast.AST) -> Iterator[str]:
    """The names that a module or a class defines: functions, classes, fields, attributes that methods set."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def exists(place: str) -> bool:
    """Whether inside/ has what stands at a place of `NAMES`: "file", "file name" or "file class.name"."""
    file, _, name = place.partition(" ")
    if not (INSIDE / file).is_file():
        return False
    tree: ast.AST = parsed(INSIDE / file)
    holder, _, last = name.rpartition(".")
    if holder:
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == holder]
        return bool(classes) and last in bound(classes[0])
    return not last or last in bound(tree)


@pytest.mark.parametrize("name", NAMES)
def test_what_an_attack_names_exists(name: str) -> None:
    place = NAMES[name]
    assert exists(place), f"rename {name} in the attacks as {place} was renamed"
    assert not exists(f"{place}_of_no_such_name")
    assert any(re.search(rf"\b{name}\b", text) for _, text in strings()), f"no attack names {name}: drop it from NAMES"


def test_modules_of_the_judge_exist() -> None:
    modules = {}
    for file, text in strings():
        for dotted, imported in MODULE.findall(text):
            path = INSIDE.joinpath(*dotted[1:].split("."))
            module = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
            is_module = module.is_file() and (
                not imported or (path / f"{imported}.py").is_file() or imported in bound(parsed(module))
            )
            modules[file, f"_recode{dotted} {imported}".strip()] = is_module
    assert len(modules) > 4
    absent = {name for (_, name), there in modules.items() if not there}
    assert absent == {"_recode.wire.nowhere"}  # of test_shipping.py, which means it


def test_private_names_in_attacks_exist() -> None:
    defined = {name for path in INSIDE.rglob("*.py") for name in bound(parsed(path))}
    used = {(name, file) for file, text in strings() for name in PRIVATE.findall(text)}
    unknown = {(name, file) for name, file in used if name not in defined | OTHERS | OWN}
    assert not unknown, "rename these as what they named in inside/ was renamed; what is another's goes into OTHERS"
    assert {name for name, _ in used} >= OTHERS | OWN, "drop what no attack names any more"
    assert {"_Server", "_Comparison", "_monitor", "_failed"} <= defined & {name for name, _ in used}
