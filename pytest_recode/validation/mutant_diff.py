"""The unified diff of a mutant, as a change of the reference's own text. Pure functions; nothing is executed."""

from __future__ import annotations

import ast
import difflib

from pytest_recode.program.source import tree_of

CONTEXT = 2
"""Unchanged lines before and after the change."""


def unified_diff(path: str, reference: str, mutant: str, source: str = "reference") -> str:
    """The change from `reference` to `mutant`, the sources of `path`, without a trailing newline. `source`: the directory of the first.

    A mutant is printed from its syntax tree, without comments and layout. If the change fits into the reference's own text, the diff
    has that text and its line numbers; otherwise it compares both texts as printed from their trees.
    """
    old = reference.replace("\r\n", "\n").replace("\r", "\n")  # the lines that Python counts
    new = _in_its_place(old, mutant)
    name = f"{source}/{path}"
    if new is None:
        tree = tree_of(old)
        old, new = old if tree is None else ast.unparse(tree) + "\n", mutant
        name = f"{name} (without comments)"
    lines = difflib.unified_diff(
        old.split("\n"), new.split("\n"), fromfile=name, tofile=f"mutant/{path}", lineterm="", n=CONTEXT
    )
    return "\n".join(lines)


def _in_its_place(text: str, mutant: str) -> str | None:
    """`text` with only the code replaced in which the tree of `mutant` differs; None if no such text has that tree."""
    old, new = tree_of(text), tree_of(mutant)
    if old is None or new is None or (pair := _smallest_difference(old, new)) is None:
        return None
    new_tree = ast.dump(new)
    node, other = pair
    code = ast.unparse(other)
    for attempt in (code, f"({code})"):
        spliced = _spliced(text, node, attempt)
        tree = tree_of(spliced)
        if tree is not None and ast.dump(tree) == new_tree:
            return spliced
    return None


_Located = ast.stmt | ast.expr


def _smallest_difference(old: ast.AST, new: ast.AST) -> tuple[_Located, ast.AST] | None:
    """The smallest statement or expression of `old` that contains every difference, and what `new` has in its place."""
    smallest = None
    while type(old) is type(new):
        pairs = _differing(old, new)
        if pairs is None or len(pairs) != 1:
            break
        [(old, new)] = pairs
        if isinstance(old, ast.stmt | ast.expr):
            smallest = old, new
    return smallest


def _differing(old: ast.AST, new: ast.AST) -> list[tuple[ast.AST, ast.AST]] | None:
    """The children of two nodes of one type that differ; None if something other than a child differs."""
    pairs: list[tuple[ast.AST, ast.AST]] = []
    for name, value in ast.iter_fields(old):
        other = getattr(new, name)
        both = (value, other) if isinstance(value, list) and isinstance(other, list) else ([value], [other])
        if len(both[0]) != len(both[1]):
            return None
        for one, another in zip(*both, strict=True):
            if isinstance(one, ast.AST) and isinstance(another, ast.AST):
                if ast.dump(one) != ast.dump(another):
                    pairs.append((one, another))
            elif type(one) is not type(another) or one != another:
                return None
    return pairs


def _spliced(text: str, node: _Located, code: str) -> str:
    """`text` with the code of `node`, which is a node of its tree, replaced by `code`."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = [line.encode() for line in text.split("\n")]
    first, last = lines[node.lineno - 1], lines[node.end_lineno - 1]
    indent = first[: len(first) - len(first.lstrip())].decode()
    if isinstance(node, ast.stmt) and first[node.col_offset :].startswith(b"elif"):
        code = f"el{code}" if code.startswith("if ") else "else:\n    " + code.replace("\n", "\n    ")
    fitting = code.replace("\n", f"\n{indent}") if isinstance(node, ast.stmt) else code
    changed = first[: node.col_offset] + fitting.encode() + last[node.end_col_offset :]
    return b"\n".join([*lines[: node.lineno - 1], changed, *lines[node.end_lineno :]]).decode()
