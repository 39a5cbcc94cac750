"""A definition that several corrections of one feedback text need is printed once, with the first of them. The items stay complete."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

from pytest_recode.program import source
from pytest_recode.program.source import Definition

Printed = dict[tuple[str, str], str]
"""By file and program of a definition: the interface with whose correction it is printed."""

_BINDING = Definition | ast.Assign | ast.AnnAssign
_IMPORT = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """`code` is what a text has not printed yet; "" for nothing. `above`: by interface, the names of what is printed with its correction."""

    code: str
    above: dict[str, list[str]] = field(default_factory=dict)


def new(code: str, file: str, interface: str, printed: Printed) -> New:
    """The definitions of whole `code` for `file` that are not in `printed`, and its imports. Adds them to `printed`.

    Of a name that the code binds more than once, each binding may need the one before, so they all stay.
    """
    parsed = source.parse(code.encode(errors="replace"))
    body = parsed.tree.body if parsed.tree is not None and "\r" not in code else []
    times = Counter(name for node in body for name in source.bound(node))
    above: dict[str, list[str]] = {}
    left = list[str | None](code.split("\n"))
    ends = [0, *(node.end_lineno or node.lineno for node in body)]
    remaining = 0
    for node, end in zip(body, ends, strict=False):
        names = source.bound(node)
        program = source.dumped(node)
        alone = program and isinstance(node, _BINDING) and names and all(times[name] == 1 for name in names)
        if not alone or _first_line(node) <= end or (file, program) not in printed:
            remaining += not isinstance(node, _IMPORT)
            if alone:
                printed[file, program] = interface
            continue
        above.setdefault(printed[file, program], []).extend(names)
        first = _first_line(node) - 1
        while first and (left[first - 1] or "").startswith("#"):  # comments on it
            first -= 1
        last = node.end_lineno or node.lineno
        while last < len(left) and left[last] == "":
            last += 1
        left[first:last] = [None] * (last - first)
    kept = "\n".join(line for line in left if line is not None)
    return New(code=kept if remaining or not above else "", above=above)


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(each.lineno for each in decorators)])
