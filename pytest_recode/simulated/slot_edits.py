"""Break and correct a part of a file, for tasks with a slot. Used by the simulated models."""

from __future__ import annotations

import ast
import textwrap
from random import Random

from pytest_recode.program.source import tree_of
from pytest_recode.simulated.mutations import Definition, mutated
from pytest_recode.slots import laid, original, reindented
from pytest_recode.task import Parts


def broken(parts: Parts, random: Random, slips: int) -> str | None:
    """The target of the slot of `parts` with `slips` mistakes in the authors' lines; None if they are unknown.

    Lines that are not statements by themselves (an `else`, the middle of a call) are omitted.
    """
    lines, slot = original(parts), parts.slot
    if slot is None or lines is None:
        return None
    untouched = parts.repo[slot.path].decode("utf-8", "replace")
    tree = tree_of("def part():\n" + textwrap.indent(textwrap.dedent(lines), "    "))
    if tree is None or len(tree.body) != 1:
        return untouched
    wrong = mutated(_definition(tree), random, slips)
    body = wrong.body if isinstance(wrong, Definition) else []
    code = "\n".join(ast.unparse(statement) for statement in body)
    return laid(untouched, slot, textwrap.indent(code, slot.indent))


def corrected(parts: Parts, code: str) -> str | None:
    """The target of the slot of `parts` with `code`, a correction of the part, in its place; None if the result is not valid Python."""
    slot = parts.slot
    assert slot is not None
    first = next((row for row in code.split("\n") if row.strip()), "")
    stands = first.startswith(slot.indent) and not first[len(slot.indent) :].startswith((" ", "\t"))
    untouched = parts.repo[slot.path].decode("utf-8", "replace")
    made = laid(untouched, slot, code if stands else reindented(code, slot.indent))
    return made if tree_of(made) is not None else None


def _definition(tree: ast.Module) -> Definition:
    [node] = tree.body
    assert isinstance(node, Definition)
    return node
