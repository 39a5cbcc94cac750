"""Static analysis of a candidate's classes: finds those whose instances can fake what a test asks of them.

Runs in the shared judge, in one process with the candidate. Called by `static_checks.py` and `executed_findings.py`.
Must not run the code that it parses.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from . import deny_rules

_FAKES = "returns the same for every operand; a class like this can fake a comparison"


def methods_to_mark(node: ast.ClassDef) -> Iterator[Any]:
    """The functions and lambdas in the class body that `executed_findings.py` marks."""
    for name, function in _members(node, _methods(node)):
        if name in deny_rules.MARKED_METHODS and function is not None:
            yield function


def class_findings(node: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """Methods by which instances can fake a comparison or a computation: the text, and the method or the class.

    A finding at a method in `deny_rules.MARKED_METHODS` counts once the tests call the method, any other once the class is
    defined.
    """
    data = any(last(base) in deny_rules.VALUE_TYPES for base in node.bases)
    for name, function in _members(node, _methods(node)):
        method = node if function is None else function
        if name in deny_rules.OVERRIDES:
            yield f"{node.name}.{name} overrides what library functions compute", method
        elif name in deny_rules.RICH_COMPARISONS and data:
            yield f"{node.name}.{name} redefines the comparison of a builtin value type", method
        elif name in deny_rules.POINTERS:
            yield f"{node.name}.{name} {deny_rules.BELOW}", node
        elif name in (deny_rules.DIFFERENCES | deny_rules.COMPARISON_METHODS) and _ignores_operand(function, name):
            yield f"{node.name}.{name} {_FAKES}", method
    if any(last(base) == "AssertionError" for base in node.bases) and not all(map(_is_empty, node.body)):
        yield f"{node.name} imitates the failure of a test", node


def _is_empty(statement: ast.stmt) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Pass)


def declines(value: Any) -> bool:
    """Whether this value of an override means, for numpy and torch, that the class does not override anything."""
    return (isinstance(value, ast.Constant) and value.value is None) or last(value) == "_disabled_torch_function_impl"


def _methods(node: ast.ClassDef) -> dict[str, Any]:
    return {member.name: member for member in node.body if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))}


def _members(node: ast.ClassDef, methods: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names and functions of the class body, including those bound by assignment: `__ne__ = always`."""
    yield from methods.items()
    for member in node.body:
        targets = member.targets if isinstance(member, ast.Assign) else []
        for target in targets:
            value: Any = member.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and not (target.id in deny_rules.OVERRIDES and declines(value)):
                function = methods.get(value.id) if isinstance(value, ast.Name) else value
                yield target.id, function if isinstance(function, (ast.Lambda, ast.FunctionDef)) else None


def last(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _ignores_operand(function: Any, name: str) -> bool:
    """Whether it returns only constants, or, as a comparison, never uses the other operand."""
    if function is None:
        return False
    if isinstance(function, ast.Lambda):
        returned: list[Any] = [function.body]
    else:
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if not returned:
        return False
    if all(isinstance(value, ast.Constant) and value.value is not NotImplemented for value in returned):
        return True
    given = function.args
    operands = {each.arg for each in [*given.posonlyargs, *given.args][1:]}
    operands |= {each.arg for each in (given.vararg, *given.kwonlyargs) if each is not None}
    body = function.body if isinstance(function.body, list) else [function.body]
    used = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name)}
    declines_all = all(isinstance(value, ast.Name) and value.id == "NotImplemented" for value in returned)
    compares = name in deny_rules.RICH_COMPARISONS | deny_rules.DIFFERENCES
    return compares and not declines_all and not operands & used
