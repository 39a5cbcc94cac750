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

ASKED = deny_rules.ANSWERS | deny_rules.OVERRIDES | deny_rules.DIFFERENCES | deny_rules.READS


def answering(node: ast.ClassDef) -> Iterator[Any]:
    """The functions and lambdas in its body that answer a comparison or stand in for a computation."""
    for name, function in _members(node, _methods(node)):
        if name in ASKED and function is not None:
            yield function


def answers(node: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """What its instances answer without looking, to whoever compares them or computes with them; and the method, or the class."""
    data = any(last(base) in deny_rules.DATA for base in node.bases)
    for name, function in _members(node, _methods(node)):
        method = node if function is None else function
        if name in deny_rules.OVERRIDES:
            yield f"{node.name}.{name} answers for itself what is computed of it", method
        elif name in deny_rules.COMPARISONS and data:
            yield f"{node.name}.{name} compares as it likes what is a plain value", method
        elif name in deny_rules.POINTERS:
            yield f"{node.name}.{name} {deny_rules.BELOW}", node
        elif name in deny_rules.DIFFERENCES and function is not None and _blind(function, True):
            yield f"{node.name}.{name} takes the same from everything", method
        elif name in deny_rules.ANSWERS and function is not None and _blind(function, name in deny_rules.COMPARISONS):
            yield f"{node.name}.{name} answers the same to everything", method
    if any(last(base) == "AssertionError" for base in node.bases) and not all(map(_says_nothing, node.body)):
        yield f"{node.name} stands in for the failure of a test", node


def _says_nothing(statement: ast.stmt) -> bool:
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or isinstance(statement, ast.Pass)


def declines(value: Any) -> bool:
    """Whether a class says by this value that it does not answer for itself: as numpy and torch have it."""
    return (isinstance(value, ast.Constant) and value.value is None) or last(value) == "_disabled_torch_function_impl"


def _methods(node: ast.ClassDef) -> dict[str, Any]:
    return {member.name: member for member in node.body if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))}


def _members(node: ast.ClassDef, methods: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Methods by each of their names: `__ne__ = yes` is one."""
    yield from methods.items()
    for member in node.body:
        targets = member.targets if isinstance(member, ast.Assign) else []
        for target in targets:
            value: Any = member.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and not (target.id in deny_rules.OVERRIDES and declines(value)):
                function = methods.get(value.id) if isinstance(value, ast.Name) else value
                yield target.id, function if isinstance(function, (ast.Lambda, ast.FunctionDef)) else None


def last(node: ast.AST) -> str:
    """The last name of a dotted one."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _blind(function: Any, compares: bool) -> bool:
    """Whether all that it returns are constants, or a comparison does not look at what it is compared with."""
    if isinstance(function, ast.Lambda):
        returned: list[Any] = [function.body]
    else:
        returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    if not returned:
        return False
    if all(isinstance(value, ast.Constant) and value.value is not NotImplemented for value in returned):
        return True
    given = function.args
    others = {each.arg for each in [*given.posonlyargs, *given.args][1:]}
    others |= {each.arg for each in (given.vararg, *given.kwonlyargs) if each is not None}
    body = function.body if isinstance(function.body, list) else [function.body]
    used = {each.id for part in body for each in ast.walk(part) if isinstance(each, ast.Name)}
    stays = all(isinstance(value, ast.Name) and value.id == "NotImplemented" for value in returned)
    return compares and not stays and not others & used
