"""A definition that several corrections of one feedback text need is printed once, with the first of them. The items stay complete."""

from __future__ import annotations

import ast

from pytest_recode.program import source
from pytest_recode.program.differences import TargetDifference
from pytest_recode.program.statements import postpones_annotations, statements_of

Printed = dict[tuple[str, str], str]
"""By file and program of a definition: the interface with whose correction it is printed."""


def new(code: str, file: str, interface: str, printed: Printed) -> tuple[str, dict[str, list[str]]]:
    """What a text has not printed yet of whole `code` for `file`, and by interface, the names of what is printed with its correction.

    Adds to `printed`.
    """
    fresh, above = [], dict[str, list[str]]()
    parsed = source.parse(code.encode(errors="replace"))
    for statement in statements_of(parsed):
        place = (file, statement.program)
        if not statement.binds or isinstance(statement.node, ast.Import | ast.ImportFrom):
            fresh.append(statement)
        elif place in printed:
            above.setdefault(printed[place], []).extend(sorted(statement.binds))
        else:
            fresh.append(statement)
            printed[place] = interface
    if not above:
        return code, above
    imports = all(isinstance(each.node, ast.Import | ast.ImportFrom) for each in fresh)
    rest = TargetDifference(file=file, shown=tuple(fresh), postponed=postpones_annotations(parsed))
    return "" if imports else rest.code(), above
