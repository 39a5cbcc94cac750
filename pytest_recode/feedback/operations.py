"""Describe, by line, the arithmetic that differs between two versions of a function.

The versions are aligned statement by statement, ignoring the names of variables. A short differing section is described by its
operations, so that a reader can find the line; longer ones are not described.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from pytest_recode.feedback import source

MOST_NAMES = 5
MOST_OPERATIONS = 6
"""If the arithmetic of two versions differs by more operations, no difference is reported."""
MOST_STATEMENTS = 3
"""Maximum statements of a described section; a longer one is a different implementation."""
MOST_COMPARED = 2_000

OPERATIONS = {
    "Add": "addition",
    "Sub": "subtraction",
    "Mult": "multiplication",
    "Div": "division",
    "FloorDiv": "whole division",
    "Mod": "remainder",
    "Pow": "power",
    "MatMult": "matrix product",
    "USub": "change of sign",
    "Lt": "comparison by <",
    "LtE": "comparison by <=",
    "Gt": "comparison by >",
    "GtE": "comparison by >=",
    "Eq": "comparison by ==",
    "NotEq": "comparison by !=",
}

_NAME = re.compile(r"id='[^']*'")


def differing(theirs: ast.AST, authors: ast.AST) -> list[str]:
    """A phrase for each short section of `theirs` whose operations differ from those of `authors`; [] if too much differs."""
    one, other = source.operators(theirs), source.operators(authors)
    if (one - other).total() + (other - one).total() > MOST_OPERATIONS:
        return []
    ours, wanted = _steps(theirs), _steps(authors)
    if max(len(ours), len(wanted)) > MOST_COMPARED:
        return []
    phrases = []
    matcher = SequenceMatcher(None, [_shape(each) for each in ours], [_shape(each) for each in wanted], autojunk=False)
    for kind, start, end, at, until in matcher.get_opcodes():
        if kind != "equal" and max(end - start, until - at) <= MOST_STATEMENTS:
            here = sum((source.operators(each) for each in ours[start:end]), Counter[str]())
            there = sum((source.operators(each) for each in wanted[at:until]), Counter[str]())
            if phrase := _phrase(_place(ours, start, end), _listed(here - there), _listed(there - here)):
                phrases.append(phrase)
    return phrases


def _phrase(place: str, theirs: str, authors: str) -> str:
    if theirs and authors:
        return f"{place} has {theirs} where the authors have {authors}"
    if theirs:
        return f"{place} has {theirs} that the authors do not have there"
    return f"{place} lacks {authors} that the authors have there" if authors else ""


def _place(steps: Sequence[ast.AST], start: int, end: int) -> str:
    lines = [getattr(each, "lineno", 0) for each in steps[start:end]]
    if not lines:
        before = getattr(steps[start - 1], "end_lineno", 0) if start else 0
        return f"the place after line {before}" if before else "the beginning"
    last = max(getattr(each, "end_lineno", 0) or 0 for each in steps[start:end])
    return f"line {lines[0]}" if last <= lines[0] else f"the code of lines {lines[0]} to {last}"


def _steps(node: ast.AST) -> list[ast.AST]:
    """The simple statements of a function, and the heads of its compound ones, in order."""
    return list(_flat(getattr(node, "body", [])))


def _flat(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if not isinstance(getattr(node, "body", None), list):
            yield node
            continue
        yield from (each for _, each in ast.iter_fields(node) if isinstance(each, ast.expr))
        for field in ("body", "handlers", "orelse", "finalbody"):
            yield from _flat(getattr(node, field, []))


def _shape(node: ast.AST) -> str:
    """A statement as text, without the names of variables."""
    try:
        return _NAME.sub("id=_", ast.dump(node))
    except RecursionError:
        return ""


def _listed(counts: Counter[str]) -> str:
    """A list such as "1 x subtraction, 2 x division"."""
    known = [f"{count} x {OPERATIONS[name]}" for name, count in sorted(counts.items()) if name in OPERATIONS]
    return ", ".join(known[:MOST_NAMES])
