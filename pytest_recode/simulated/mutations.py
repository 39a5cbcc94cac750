"""Mutations of a syntax tree that imitate common mistakes in research code. Nothing is executed.

`while` loops are not changed, because a candidate that never ends uses a whole time limit for each case.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Statement = Definition | ast.Assign | ast.AnnAssign


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place for a mistake; `apply` makes it in place."""

    kind: str
    apply: Callable[[], None]


def mutated(node: Statement, random: Random, count: int = 1) -> Statement:
    """A copy of `node` with up to `count` mistakes. It differs from `node` and parses.

    If no mistake is possible, the body becomes `raise NotImplementedError`, or the value None.
    """
    mutant = copy.deepcopy(node)
    for _ in range(count):
        places = sites(mutant)
        if not places:
            break
        kinds = sorted({site.kind for site in places})
        kind = random.choice(kinds)  # choose the kind first, so that frequent kinds of places are not preferred
        random.choice([site for site in places if site.kind == kind]).apply()
        ast.fix_missing_locations(mutant)
    return mutant if _differs(node, mutant) else _left_out(node)


def sites(node: ast.AST) -> list[Site]:
    """Every place for a mistake in `node`, in source order."""
    return [Site(kind=kind, apply=partial(put, new)) for old, put in _slots(node) for kind, new in slips(old)]


def _differs(one: ast.AST, other: ast.AST) -> bool:
    """Whether the two differ as source, and `other` is valid Python; not every tree has a valid source."""
    try:
        ast.parse(text := ast.unparse(other))
    except (SyntaxError, ValueError):
        return False
    return text != ast.unparse(one)


def _left_out(node: Statement) -> Statement:
    stub = copy.deepcopy(node)
    if isinstance(stub, ast.Assign | ast.AnnAssign):
        stub.value = ast.Constant(None)
        if not _differs(node, stub):
            stub.value = ast.Constant(0)
    elif isinstance(stub, ast.ClassDef):
        stub.body = [ast.Pass()]
        if not _differs(node, stub):
            stub.body = [ast.parse("def __init__(self):\n    raise NotImplementedError").body[0]]
    else:
        stub.body = [ast.parse("raise NotImplementedError").body[0]]
        if not _differs(node, stub):
            stub.body = [ast.parse("return None").body[0]]
    return ast.fix_missing_locations(stub)


_SKIPPED = (ast.JoinedStr, ast.Raise, ast.While, ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Assert)
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_params", "bases"})


def _slots(node: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """Each node below `node`, with a function that replaces it."""
    for field, value in ast.iter_fields(node):
        if field in _SKIPPED_FIELDS:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, _SKIPPED) or _docstring(child):
                continue
            put = partial(value.__setitem__, number) if isinstance(value, list) else partial(setattr, node, field)
            yield child, put
            yield from _slots(child)


def _docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_OPERATORS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_COMPARISONS: dict[type, tuple[type, type]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.NotEq),
    ast.NotEq: (ast.Eq, ast.Eq),
    ast.Is: (ast.IsNot, ast.IsNot),
    ast.IsNot: (ast.Is, ast.Is),
}
_CONFUSED = {
    "sum": "mean",
    "mean": "sum",
    "max": "min",
    "min": "max",
    "argmax": "argmin",
    "argmin": "argmax",
    "maximum": "minimum",
    "minimum": "maximum",
    "zeros": "ones",
    "zeros_like": "ones_like",
    "ones": "zeros",
    "ones_like": "zeros_like",
    "floor": "ceil",
    "ceil": "floor",
    "any": "all",
    "all": "any",
    "cumsum": "cumprod",
    "var": "std",
    "std": "var",
    "log": "log1p",
    "log2": "log",
    "sin": "cos",
    "cos": "sin",
    "hstack": "vstack",
    "vstack": "hstack",
}


def slips(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The mistakes that can replace `node`: their kind and the new node."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if other := _OPERATORS.get(type(op)):
                yield "operator", ast.BinOp(left, other(), right)
            if isinstance(op, ast.Add | ast.Sub):
                yield "missing term", left
            if isinstance(op, ast.Div):
                yield "missing normalisation", left
        case ast.AugAssign(target=target, op=op, value=value):
            if other := _OPERATORS.get(type(op)):
                yield "operator", ast.AugAssign(target, other(), value)
            yield "missing step", ast.Pass()
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert(), operand=operand):
            yield "sign", operand
        case ast.BoolOp(op=ast.And(), values=values):
            yield "logic", ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield "logic", ast.BoolOp(ast.And(), values)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in dict.fromkeys(_COMPARISONS.get(type(op), ())):
                yield "comparison", ast.Compare(left, [other()], [right])
        case ast.keyword(arg="axis", value=value):
            yield "axis", ast.keyword("axis", _other_axis(value))
        case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
            yield "off by one", _call(node, [ast.BinOp(stop, ast.Sub(), ast.Constant(1))])
        case ast.Call():
            yield from _call_slips(node)
        case ast.Slice(lower=lower, upper=ast.expr() as upper, step=step):
            yield "off by one", ast.Slice(lower, ast.BinOp(upper, ast.Sub(), ast.Constant(1)), step)
        case ast.Constant(value=bool() as value):
            yield "constant", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "constant", ast.Constant(value - 1 if value > 1 else value + 1)
        case ast.Constant(value=float() as value) if value:
            yield "constant", ast.Constant(value * 2)
        case ast.Return(value=ast.Tuple(elts=[first, second, *rest])):
            yield "order of results", ast.Return(ast.Tuple([second, first, *rest], ast.Load()))
        case ast.If(orelse=[], test=test) if not isinstance(test, ast.Constant):
            yield "missing case", ast.Pass()


def _call_slips(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    match node.args:
        case [first, second, *rest] if ast.dump(first) != ast.dump(second) and not isinstance(first, ast.Starred):
            yield "order of arguments", _call(node, [second, first, *rest])
    name = node.func.attr if isinstance(node.func, ast.Attribute) else None
    if name in _CONFUSED and isinstance(node.func, ast.Attribute):
        confused = ast.Attribute(node.func.value, _CONFUSED[name], ast.Load())
        yield "confused function", ast.Call(confused, node.args, node.keywords)
    if name in {"sqrt", "exp", "log", "abs", "normalize", "softmax"} and len(node.args) == 1:
        yield "missing function", node.args[0]


def _call(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, args, node.keywords)


def _other_axis(value: ast.expr) -> ast.expr:
    return ast.Constant(1 if isinstance(value, ast.Constant) and value.value == 0 else 0)
