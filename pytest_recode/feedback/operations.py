"""Describe, by line, the arithmetic that differs between two versions of a function.

The versions are aligned statement by statement, ignoring the names of variables. A program can be written in many ways, so a difference is
described only if

- it is in short sections of the same statements, functions and numbers, or in statements for which the other version has none in their place;
- the operation is in no other place instead, neither in the function nor in the code that it uses;
- no other place has other operations of its kind, which may replace a missing or an additional one;
- no other place calls other functions: the two versions are then different implementations, which may compute the same.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TypeVar

from pytest_recode.program import source

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
    "Sqrt": "square root",
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
_FLIPPED = {"Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}
CONVERSIONS = frozenset({"float", "int", "bool", "complex", "list", "tuple", "array", "asarray", "astype", "copy"})
"""Functions that change the type of a value and compute nothing, so that one version of a statement may lack them."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Step:
    """A simple statement, or the head of a compound one. `kind`: its class, or that of the compound statement with the field."""

    kind: str
    node: ast.AST


@dataclass(frozen=True, slots=True)
class _Section:
    """Neighbouring statements that differ. `more` and `less`: operations that only the candidate's, or only the authors', have.

    `place`: the candidate's lines; "" if the section must not be described. `rewritten`: the versions call other functions in it.
    """

    place: str
    more: Counter[str]
    less: Counter[str]
    rewritten: bool = False


def differing(
    theirs: ast.AST, authors: ast.AST, used: tuple[Sequence[ast.AST], Sequence[ast.AST]] = ((), ())
) -> list[str]:
    """A phrase for each short section of `theirs` whose operations differ from those of `authors`; [] if too much differs.

    `used`: the other code that each version uses.
    """
    ours, wanted = list(_flat(getattr(theirs, "body", []))), list(_flat(getattr(authors, "body", [])))
    if max(len(ours), len(wanted)) > MOST_COMPARED:
        return []
    here, there = (_total(_operations, nodes) for nodes in used)
    rooted = [any(map(has_root, (node, *beside))) for node, beside in zip((theirs, authors), used, strict=True)]
    sections = [*_sections(ours, wanted), _Section("", here - there, there - here)]
    if sum((each.more + each.less).total() for each in sections) > MOST_OPERATIONS:
        return []
    phrases = (
        _phrase(each.place, _listed(each.more), _listed(each.less))
        for each in sections
        if _is_sure(each, sections) and not (all(rooted) and "Sqrt" in each.more + each.less)
    )
    return [phrase for phrase in phrases if phrase]


def _sections(ours: Sequence[_Step], wanted: Sequence[_Step]) -> Iterator[_Section]:
    matcher = SequenceMatcher(None, [_shape(each) for each in ours], [_shape(each) for each in wanted], autojunk=False)
    for kind, start, end, at, until in matcher.get_opcodes():
        if kind == "equal":
            continue
        one, other = ours[start:end], wanted[at:until]
        here, there = (_total(_operations, (each.node for each in steps)) for steps in (one, other))
        more, less = here - there, there - here
        short = max(len(one), len(other)) <= MOST_STATEMENTS
        described = short and (not one or not other or _same_ingredients(one, other, more, less))
        called, wanted_calls = (_total(_functions, (each.node for each in steps)) for steps in (one, other))
        place = _place(ours, start, end) if described else ""
        yield _Section(place, more, less, rewritten=called != wanted_calls)


def _same_ingredients(one: Sequence[_Step], other: Sequence[_Step], more: Counter[str], less: Counter[str]) -> bool:
    """Whether two sections differ by operations only, and by the numbers that additional operations need.

    A comparison may be the conversion to bool for which the other version names the type: `x != 0` for `dtype=bool`.
    """
    if [each.kind for each in one] != [each.kind for each in other]:
        return False
    ours, wanted = [each.node for each in one], [each.node for each in other]
    for count in (_functions, _numbers, _conversions_to_bool):
        here, there = _total(count, ours), _total(count, wanted)
        if (here - there and less) or (there - here and more):
            return False
    flipped = any(_FLIPPED.get(name) in less for name in more)
    return not flipped or _total(_oriented, ours) != _total(_oriented, wanted)


def _is_sure(section: _Section, sections: Sequence[_Section]) -> bool:
    """Whether no other section can make up for the difference of this one."""
    others = [each for each in sections if each is not section]
    if not section.place or any(each.rewritten for each in others):
        return False
    for side in ("more", "less"):
        for name in getattr(section, side):
            opposite = "less" if side == "more" else "more"
            undescribed = any(name in getattr(each, side) and not each.place for each in others)
            if name not in OPERATIONS or undescribed or any(name in getattr(each, opposite) for each in others):
                return False
    if section.more and section.less:
        return True
    kinds = {_is_comparison(name) for name in section.more + section.less}
    replaced = [name for each in others for name in (each.less if section.more else each.more)]
    return not any(_is_comparison(name) in kinds for name in replaced)


def _is_comparison(name: str) -> bool:
    return OPERATIONS.get(name, "comparison").startswith("comparison")


def _operations(node: ast.AST) -> Counter[str]:
    """The arithmetic of a piece of code by the kind of operation: "Add", "Lt", "USub"."""
    found: Counter[str] = Counter()
    for each in _arithmetic(node):
        if isinstance(each, ast.Compare):
            found.update(type(op).__name__ for op in each.ops)
        elif _is_root(each):
            found["Sqrt"] += 1
        elif isinstance(each, ast.BinOp | ast.AugAssign | ast.UnaryOp) and not _is_text_or_number(each):
            found[type(each.op).__name__] += 1
    return found


def _functions(node: ast.AST) -> Counter[complex | str]:
    """The called functions that compute something."""
    found = Counter[complex | str](
        {name: times for name, times in source.called(node).items() if name not in CONVERSIONS}
    )
    found["sqrt"] = sum(_is_root(each) for each in ast.walk(node))
    return +found


def _numbers(node: ast.AST) -> Counter[complex | str]:
    return Counter(value for value in map(_number, _arithmetic(node)) if value is not None)


def _conversions_to_bool(node: ast.AST) -> Counter[complex | str]:
    return Counter(each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == "bool")


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a piece of code, without those of annotations and messages, and without the parts of numbers."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ast.JoinedStr | ast.Raise):
            continue
        yield each
        hidden = {"annotation", "returns"} | ({"msg"} if isinstance(each, ast.Assert) else set())
        if _is_root(each) and isinstance(each, ast.BinOp | ast.AugAssign):
            hidden |= {"right"} if isinstance(each, ast.BinOp) else {"value"}
        for name, value in ast.iter_fields(each) if _number(each) is None else ():
            parts = value if isinstance(value, list) else [value]
            pending += [part for part in parts if isinstance(part, ast.AST) and name not in hidden]


def _number(node: ast.AST) -> complex | None:
    """The value of a number, which may be negative or infinite: its sign is not an operation. None for anything else."""
    sign = 1
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign, node = -sign if isinstance(node.op, ast.USub) else sign, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, int | float | complex) and not isinstance(value, bool):
        return sign * value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return sign * float("inf") if name == "inf" else None


def has_root(node: ast.AST) -> bool:
    """Whether a piece of code takes a square root."""
    return any(map(_is_root, ast.walk(node)))


def _is_root(node: ast.AST) -> bool:
    """Whether a node is a square root: `x ** 0.5`, `x ** (1 / 2)`, or a call of a function of that name."""
    if isinstance(node, ast.Call):
        return source.name_called(node) == "sqrt"
    if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Pow):
        return False
    exponent = node.right if isinstance(node, ast.BinOp) else node.value
    if isinstance(exponent, ast.BinOp) and isinstance(exponent.op, ast.Div):
        return (_number(exponent.left), _number(exponent.right)) == (1, 2)
    return _number(exponent) == 0.5


def _is_text_or_number(node: ast.AST) -> bool:
    """Whether an operation is none of arithmetic: the sign of a number; an addition to a text or list, or its repetition."""
    if not isinstance(node, ast.BinOp):
        return _number(node) is not None
    sides = (node.left, node.right)
    texts = (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes) for each in sides)
    return any(texts) or any(isinstance(each, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp) for each in sides)


def _oriented(node: ast.AST) -> Counter[str]:
    """The comparisons, read from the operand that sorts first: `0 > x` is `x < 0`. Between two names, both directions count as one."""
    found: Counter[str] = Counter()
    for each in ast.walk(node):
        if isinstance(each, ast.Compare):
            operands = [_shape(_Step("", operand)) for operand in (each.left, *each.comparators)]
            for op, left, right in zip(each.ops, operands, operands[1:], strict=False):
                name = type(op).__name__
                both = (name, _FLIPPED.get(name, name))
                found[min(both) if left == right else both[left > right]] += 1
    return found


def _total(count: Callable[[ast.AST], Counter[_T]], nodes: Iterable[ast.AST]) -> Counter[_T]:
    found: Counter[_T] = Counter()
    for node in nodes:
        found.update(count(node))
    return found


def _phrase(place: str, theirs: str, authors: str) -> str:
    if theirs and authors:
        return f"{place} has {theirs} where the authors have {authors}"
    if theirs:
        return f"{place} has {theirs} that the authors do not have there"
    return f"{place} lacks {authors} that the authors have there" if authors else ""


def _place(steps: Sequence[_Step], start: int, end: int) -> str:
    lines = [getattr(each.node, "lineno", 0) for each in steps[start:end]]
    if not lines:
        before = getattr(steps[start - 1].node, "end_lineno", 0) if start else 0
        return f"the place after line {before}" if before else "the beginning"
    last = max(getattr(each.node, "end_lineno", 0) or 0 for each in steps[start:end])
    return f"line {lines[0]}" if last <= lines[0] else f"the code of lines {lines[0]} to {last}"


def _flat(body: Sequence[ast.AST]) -> Iterator[_Step]:
    """The simple statements of a function, and the heads of its compound ones, in order."""
    for node in body:
        kind = type(node).__name__
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if not isinstance(getattr(node, "body", None), list):
            assigns = isinstance(node, ast.AnnAssign | ast.AugAssign)
            yield _Step("Assign" if assigns else kind, node)
            continue
        yield from (_Step(f"{kind}.{name}", each) for name, each in ast.iter_fields(node) if isinstance(each, ast.expr))
        for field in ("body", "handlers", "orelse", "finalbody"):
            yield from _flat(getattr(node, field, []))


def _shape(step: _Step) -> str:
    """A statement as text, without the names of variables."""
    if isinstance(step.node, ast.Raise):
        return "Raise"
    try:
        return _NAME.sub("id=_", ast.dump(step.node))
    except RecursionError:
        return ""


def _listed(counts: Counter[str]) -> str:
    """A list such as "1 x subtraction, 2 x division"."""
    known = [f"{count} x {OPERATIONS[name]}" for name, count in sorted(counts.items())]
    return ", ".join(known[:MOST_NAMES])
