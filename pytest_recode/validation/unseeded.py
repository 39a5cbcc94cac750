"""Find random generators without a seed in hidden tests, whose verdicts no seed repeats. Pure functions of source code."""

from __future__ import annotations

import ast

from pytest_recode.program.source import tree_of
from pytest_recode.task import Files

_WITHOUT_ARGUMENTS = frozenset({"default_rng", "RandomState"})
_ALWAYS = "SystemRandom"


def unseeded(tests: Files) -> list[str]:
    """A line for each call that creates a random generator without a seed, with its place. Files that do not parse have none."""
    return [
        f"tests/{path}:{call.lineno}: {ast.unparse(call)} has no seed, so that no seed repeats the verdict: draw from the fixture rng"
        for path, code in tests.items()
        if path.endswith(".py")
        for call in _calls(code)
        if _is_unseeded(call)
    ]


def _calls(code: bytes) -> list[ast.Call]:
    tree = tree_of(code)
    if tree is None:  # the grading reports it
        return []
    return sorted((node for node in ast.walk(tree) if isinstance(node, ast.Call)), key=lambda call: call.lineno)


def _is_unseeded(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    seeds = [value for value in given if not (isinstance(value, ast.Constant) and value.value is None)]
    return name == _ALWAYS or (name in _WITHOUT_ARGUMENTS and not seeds)
