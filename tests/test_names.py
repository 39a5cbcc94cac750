"""Names are nouns and verbs of the field: a pronoun or a participle names nothing that lives for more than two lines (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "pytest_recode"
WORDS = {"found", "each", "given", "said", "made", "told", "kept", "theirs", "ours", "wanted"}
MOST_LINES = 2
"""A local variable with such a name is last used at most this many lines below its first line."""
PARTS = sorted({path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def faults(source: str) -> list[str]:
    """The line, the kind and the name of each value with a name of `WORDS`."""
    tree = ast.parse(source)
    places = {*_module_names(tree), *_parameters(tree), *_attributes(tree), *_locals(tree)}
    return [f"line {line}: {kind} {name}" for line, kind, name in sorted(places)]


def _module_names(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for statement in tree.body:
        for target in _targets(statement):
            if isinstance(target, ast.Name) and target.id.lower().strip("_") in WORDS:
                yield statement.lineno, "module name", target.id


def _parameters(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg.strip("_") in WORDS:
            yield node.lineno, "parameter", node.arg


def _attributes(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr.strip("_") in WORDS:
            yield node.lineno, "attribute", node.attr
        if isinstance(node, ast.ClassDef):
            for statement in node.body:
                for target in _targets(statement):
                    if isinstance(target, ast.Name) and target.id.strip("_") in WORDS:
                        yield statement.lineno, "attribute", target.id


def _locals(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    for function in ast.walk(tree):
        if not isinstance(function, _FUNCTIONS):
            continue
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id in WORDS]
        for name in {node.id for node in names if isinstance(node.ctx, ast.Store)}:
            lines = [node.lineno for node in names if node.id == name]
            if max(lines) - min(lines) > MOST_LINES:
                yield min(lines), "long-lived local", name


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign) else []


def _faults_of(part: str) -> list[str]:
    paths = [PACKAGE / f"{part}.py"] if (PACKAGE / f"{part}.py").exists() else sorted((PACKAGE / part).rglob("*.py"))
    return [
        f"{path.relative_to(PACKAGE.parent)}, {fault}" for path in paths for fault in faults(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize("part", PARTS)
def test_names_are_nouns(part: str) -> None:
    listed = _faults_of(part)
    assert listed == [], "name what the value is:\n" + "\n".join(listed)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("_KEPT = 1", ["line 1: module name _KEPT"]),
        ("made: list[int] = []", ["line 1: module name made"]),
        ("def f(*, given=1): pass", ["line 1: parameter given"]),
        ("def f(*told, **said): pass", ["line 1: parameter said", "line 1: parameter told"]),
        ("key = lambda each: each[1]", ["line 1: parameter each"]),
        ("class A:\n    wanted: int", ["line 2: attribute wanted"]),
        ("class A:\n    def f(self):\n        self._theirs = 1", ["line 3: attribute _theirs"]),
        ("def f():\n    found = 1\n\n\n    return found", ["line 2: long-lived local found"]),
        ("def f():\n    for each in x:\n        a\n        b(each)", []),
        ("def f():\n    found = 1\n    return found", []),
        ("def f():\n    return found(1)\n\n\n    found(2)", []),
        ("class A:\n    def found(self): pass", []),
    ],
)
def test_the_rule(source: str, expected: list[str]) -> None:
    assert faults(source) == expected
