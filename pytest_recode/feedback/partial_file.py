"""Facts for derived feedback on tasks that ask for a part of a file. Their interfaces are their test cases."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pytest_recode.program.source import Definition, FileVersion, statements
from pytest_recode.slots import original
from pytest_recode.task import Parts


def places(parts: Parts, reference: FileVersion) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The path of the innermost definition of `reference` that contains the slot, and the paths of those that the authors' version of it has."""
    lines = original(parts)
    if parts.slot is None or lines is None or reference.tree is None:
        return (), ()
    first = parts.slot.start + 1
    last = first + lines.count("\n")
    path: tuple[str, ...] = ()
    body: Sequence[ast.stmt] = reference.tree.body
    while True:
        nodes = [node for node in statements(body) if isinstance(node, Definition)]
        ends = {node.name: node.end_lineno or node.lineno for node in nodes}
        holding = [node for node in nodes if node.lineno < first and last <= ends[node.name]]
        if not holding:
            inside = [node.name for node in nodes if first <= node.lineno and ends[node.name] <= last]
            return path, tuple((*path, name) for name in inside)
        path, body = (*path, holding[-1].name), holding[-1].body
