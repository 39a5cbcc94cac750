"""A static read of a candidate's classes: those whose instances answer for themselves what a test asks of them.

Part of the shared judge (`screening.py` reads the rest). Self-contained: stdlib and its neighbours, Python 3.9+.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "_recode_classes":  # the tests read with it, too
    from pytest_recode.inside import forbidden
else:
    import _recode_forbidden as forbidden


def answers(node: ast.ClassDef) -> Iterator[str]:
    """What its instances answer without looking, to whoever compares them or computes with them."""
    data = any(last(base) in forbidden.DATA for base in node.bases)
    methods = {
        member.name: member for member in node.body if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    for name, function in _members(node, methods):
        if name in forbidden.OVERRIDES:
            yield f"{node.name}.{name} answers for itself what is computed of it"
        elif name in forbidden.COMPARISONS and data:
            yield f"{node.name}.{name} compares as it likes what is a plain value"
        elif name in forbidden.POINTERS:
            yield f"{node.name}.{name} {forbidden.BELOW}"
        elif name in forbidden.DIFFERENCES and function is not None and _blind(function, True):
            yield f"{node.name}.{name} takes the same from everything"
        elif name in forbidden.ANSWERS and function is not None and _blind(function, name in forbidden.COMPARISONS):
            yield f"{node.name}.{name} answers the same to everything"
    if any(last(base) == "AssertionError" for base in node.bases):
        yield f"{node.name} stands in for the failure of a test"


def _members(node: ast.ClassDef, methods: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Methods by each of their names: `__ne__ = yes` is one."""
    yield from methods.items()
    for member in node.body:
        targets = member.targets if isinstance(member, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                value: Any = member.value  # type: ignore[attr-defined]
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
