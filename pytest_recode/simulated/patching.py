"""Find, extract and replace definitions in the text of a Python file, without changing the text around them."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from pytest_recode.program.source import tree_of
from pytest_recode.simulated.mutations import Definition, Statement


def find(tree: ast.Module, path: Sequence[str]) -> Statement | None:
    """The statement that defines `path` ("Class", "method"): the last one of that name, as in Python."""
    body: Sequence[ast.stmt] = tree.body
    statement: Statement | None = None
    for depth, name in enumerate(path):
        if depth:
            if not isinstance(statement, ast.ClassDef):
                return None
            body = statement.body
        statement = next((node for node in reversed(body) if name in bound(node)), None)  # type: ignore[assignment]
        if statement is None:
            return None
    return statement


def bound(node: ast.stmt) -> tuple[str, ...]:
    """The names that a definition or a plain assignment binds."""
    if isinstance(node, Definition):
        return (node.name,)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return tuple(target.id for target in targets if isinstance(target, ast.Name))


def source_of(text: str, node: ast.stmt) -> str:
    """The whole lines of `node` in `text`, including decorators."""
    first, last = _span(node)
    return "\n".join(text.split("\n")[first:last])


def replaced(text: str, node: ast.stmt, code: str) -> str:
    """`text` with the lines of `node`, a statement of it, replaced by `code`, which is indented to fit."""
    first, last = _span(node)
    lines = text.split("\n")
    fitting = textwrap.indent(textwrap.dedent(code).strip("\n"), " " * node.col_offset)
    return "\n".join([*lines[:first], *fitting.split("\n"), *lines[last:]])


def lay_in(text: str, code: str, path: Sequence[str]) -> str | None:
    """`text` with `code`, a correction of the interface at `path`, applied; None if nothing changes.

    Definitions and assignments of `code` replace those of the same name, or are appended; missing imports are added at the top. A
    single method replaces the method in its class.
    """
    correction = tree_of(textwrap.dedent(code))
    tree = tree_of(text)
    if correction is None or not correction.body:
        return None
    code = textwrap.dedent(code)
    if tree is None or not path:
        return code.strip("\n") + "\n"
    only = correction.body[0] if len(correction.body) == 1 else None
    if len(path) > 1 and isinstance(only, Definition) and only.name == path[-1]:
        method = find(tree, path)
        new_text = replaced(text, method, code) if method is not None else text
        return new_text if method is not None and tree_of(new_text) is not None else None
    new_text = text
    for node in correction.body:
        new_text = _put(new_text, code, node)
    return new_text if new_text != text and tree_of(new_text) is not None else None


def _put(text: str, code: str, node: ast.stmt) -> str:
    tree = tree_of(text)
    if tree is None:
        return text
    source = source_of(code, node)
    if isinstance(node, ast.Import | ast.ImportFrom):
        if any(ast.dump(node) == ast.dump(other) for other in tree.body):
            return text
        lines = text.split("\n")
        at = _after_imports(tree)
        return "\n".join([*lines[:at], source, *lines[at:]])
    names = bound(node)
    old = find(tree, names[:1]) if names else None
    if old is not None:
        return replaced(text, old, source)
    return text if isinstance(node, ast.Expr) else f"{text.rstrip()}\n\n\n{source}\n"


def _after_imports(tree: ast.Module) -> int:
    """The line after the last import of the top, or after the module's docstring."""
    at = 0
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            break
        at = node.end_lineno or at
    return at


def _span(node: ast.stmt) -> tuple[int, int]:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(each.lineno for each in decorators)])
    return first - 1, node.end_lineno or node.lineno
