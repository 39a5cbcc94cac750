"""Find tests that hand the expected value of one interface to another one, on constant input. Pure functions of source code.

A candidate that learns the value in the block of one interface could carry it into the block of the other: a constant is the same in both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pytest_recode.program.source import tree_of
from pytest_recode.task import Files

_KNOWN = frozenset({"candidate", "reference", "self"})
"""Parameters of a test that bring no random input. Any other fixture may draw from `rng`."""


def handed_on(tests: Files, interfaces: Sequence[str]) -> list[str]:
    """A line for each call of the candidate that gets the reference's result of another interface in a test without random input.

    Only what one test function says is followed: neither helpers and fixtures, nor values that a test works out itself.
    """
    names = {name.rpartition(".")[2]: name for name in interfaces}
    return [
        f"tests/{path}:{call.lineno}: {to} gets the expected value of {of} on constant input, which a candidate could keep for the tests of"
        f" {of}: draw the input from the fixture rng"
        for path, code in tests.items()
        if path.endswith(".py")
        for test in _constant_tests(code)
        for call, to, of in _handed(test, names)
    ]


def _constant_tests(code: bytes) -> Iterator[ast.FunctionDef]:
    tree = tree_of(code)
    if tree is None:  # the grading reports it
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            parameters = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            if parameters - _parametrized(node) <= _KNOWN and not _draws(node):
                yield node


def _draws(test: ast.FunctionDef) -> bool:
    """Whether it draws from the global generators, which each grading seeds; a generator that a test makes with a seed of its own gives constants."""
    used = {_last(node) for node in ast.walk(test)}
    return "random" in used and not used & {"default_rng", "RandomState"}


def _parametrized(test: ast.FunctionDef) -> set[str]:
    """The parameters that `pytest.mark.parametrize` of this test gives: constants."""
    calls = [each for each in test.decorator_list if isinstance(each, ast.Call) and _last(each.func) == "parametrize"]
    texts = [node.value for call in calls for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
    return {name.strip() for text in texts if isinstance(text, str) for name in text.split(",")}


def _handed(test: ast.FunctionDef, names: dict[str, str]) -> Iterator[tuple[ast.Call, str, str]]:
    """Calls of the candidate, with its interface and that of the expected value which it gets."""
    expected: dict[str, str] = {}  # variables that hold the reference's result of an interface
    for node in sorted(
        (node for node in ast.walk(test) if isinstance(node, ast.Assign | ast.Call)), key=lambda node: node.lineno
    ):
        if isinstance(node, ast.Assign):
            of = _interface(node.value, "reference", names)
            for target in node.targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        expected.pop(part.id, None)
                        expected |= {part.id: of} if of else {}
        elif to := _interface(node, "candidate", names):
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                of = _interface(value, "reference", names) or expected.get(getattr(value, "id", ""), "")
                if of and of != to:
                    yield node, to, of


def _interface(node: ast.AST, fixture: str, names: dict[str, str]) -> str:
    """The interface that this expression calls, by way of `fixture`; "" if it calls none."""
    if not isinstance(node, ast.Call):
        return ""
    base: ast.AST = node.func
    while isinstance(base, ast.Attribute | ast.Call):
        base = base.value if isinstance(base, ast.Attribute) else base.func
    return names.get(_last(node.func), "") if isinstance(base, ast.Name) and base.id == fixture else ""


def _last(function: ast.AST) -> str:
    return str(getattr(function, "attr", getattr(function, "id", "")))
