"""Static analysis of assignments in a candidate's source: finds those that change code that the judge relies on.

Runs in the shared judge, in one process with the candidate. Called by `static_checks.py`. Must not run the code that
it parses.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from . import deny_rules
from . import static_class_checks as classes
from .static_names import SourceNames


def assignment_findings(node: Any) -> Iterator[str]:
    targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else [getattr(node, "target", None)]
    for target in targets:
        for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if isinstance(part, ast.Attribute) and _changes_judge(part):
                yield f"{source_of(part)} = … {deny_rules.CHANGES}"
            elif isinstance(part, ast.Subscript) and is_judging_namespace(part.value):
                yield f"{source_of(part.value)}[…] = … {deny_rules.CHANGES}"


def replacement_findings(node: Any, names: SourceNames) -> Iterator[str]:
    """Assignments of the candidate's functions to attributes of imported modules and classes, which the reference may use."""
    value = getattr(node, "value", None)
    own = isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in names.functions)
    for part in node.targets if isinstance(node, ast.Assign) and own else ():
        if not isinstance(part, ast.Attribute) or _changes_judge(part):
            continue
        root = _first_name(part)
        module = names.modules.get(root, "").partition(".")[0]
        if root in names.classes or (module and module not in deny_rules.HOOKS and root not in names.bound):
            yield f"assigning to {part.attr} of an imported module or class {deny_rules.CHANGES}"


def is_judging_namespace(node: ast.AST) -> bool:
    """Whether it is the namespace of a judging module: `np.__dict__`, `vars(np)`."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return is_judging(node.value)
    return (
        isinstance(node, ast.Call)
        and classes.last(node.func) == "vars"
        and bool(node.args)
        and is_judging(node.args[0])
    )


def _changes_judge(part: ast.Attribute) -> bool:
    if part.attr in deny_rules.COMPARISON_METHODS or part.attr in ("__code__", "__defaults__", "__kwdefaults__"):
        return True
    return is_judging(part.value) and (
        part.attr in deny_rules.COMPARING_FUNCTIONS or _first_name(part) in ("unittest", "builtins", "math")
    )


def is_judging(node: ast.AST) -> bool:
    return _first_name(node) in deny_rules.JUDGING_MODULES


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def source_of(node: ast.AST) -> str:
    """The source of an expression, or a placeholder where it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "an expression"
