"""Mutants: every copy of a reference with one small mistake in it, in source order. Nothing is executed.

The operators are those of mutation testing (Jia and Harman 2011, section 2) and the mistakes that programmers of research
code make (`simulated/mutations.py`): operators, comparisons, constants, conditions, missing statements, swapped arguments.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from pytest_recode.faults import UserError
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.program.source import tree_of
from pytest_recode.simulated.mutations import slips
from pytest_recode.task import Files

Put = Callable[[ast.AST], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One target with one mistake.

    `line` counts from 1 in the reference. `definition` is the dotted name of the innermost function or class around it, or "".
    `interface` is the one whose code it is, or "" for code that interfaces share. `name` identifies the mutant in
    `equivalent.txt`: target, definition and the changed statement before and after.
    """

    name: str
    path: str
    line: int
    definition: str
    interface: str
    before: str
    after: str
    source: bytes

    @property
    def place(self) -> str:
        """Where the mistake is, for people: target, line and definition."""
        return f"{self.path}:{self.line}" + (f" in {self.definition}" if self.definition else "")


def mutants(reference: Files, interfaces: Sequence[str]) -> list[Mutant]:
    """The mutants of all Python targets; no two have the same source."""
    return list(_mutants(tuple(reference.items()), tuple(interfaces)))


@lru_cache(maxsize=2)  # each interface of a task asks for the mutants of all of them
def _mutants(reference: tuple[tuple[str, bytes], ...], interfaces: tuple[str, ...]) -> tuple[Mutant, ...]:
    listed: list[Mutant] = []
    names: Counter[str] = Counter()
    targets = [path for path, _ in reference]
    for path, data in reference:
        tree = tree_of(data.decode("utf-8", "replace")) if path.endswith(".py") else None
        if tree is None:
            continue
        owners = _owners(path, interfaces, targets)
        seen = {ast.unparse(tree)}
        for place in _places(tree, tree, ()):
            old = _statement_text(place.statement)
            for new in _mistakes(place.node):
                place.put(new)
                source = ast.unparse(ast.fix_missing_locations(tree))
                after = _statement_text(place.statement) if place.node is not place.statement else ast.unparse(new)
                place.put(place.node)
                if source in seen or tree_of(source) is None:
                    continue
                seen.add(source)
                before, after = _first_difference(old, after)
                definition = ".".join(place.definition)
                name = f"{path} {definition}: {before} -> {after}" if definition else f"{path}: {before} -> {after}"
                names[name] += 1
                listed.append(
                    Mutant(
                        name=name if names[name] == 1 else f"{name} ({names[name]})",
                        path=path,
                        line=getattr(place.node, "lineno", place.statement.lineno),
                        definition=definition,
                        interface=_owner(place.definition, owners),
                        before=before,
                        after=after,
                        source=source.encode() + b"\n",
                    )
                )
    return tuple(listed)


def chosen(every_mutant: Sequence[Mutant], choice: str) -> tuple[int, Mutant]:
    """The mutant with the number `choice` (from 1, in the order of `every_mutant`) or of this name, with its number. Raises `UserError`."""
    names = {mutant.name: number for number, mutant in enumerate(every_mutant, 1)}
    name = choice.strip()
    number = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else names.get(name, 0)
    if 1 <= number <= len(every_mutant):
        return number, every_mutant[number - 1]
    if not every_mutant:
        raise UserError(
            f"mutant {choice!r}: the reference has no mutants: none of its targets is Python code to change"
        )
    guess = nearest(name, names)
    near = f" (the nearest is {guess!r})" if guess else ""
    raise UserError(
        f"mutant {choice!r}: the reference has no such mutant{near}: give a number from 1 to {len(every_mutant)}, or the name in the"
        " last lines of a survivor in the report of --recode-validate; --mutants lists all of them"
    )


def nearest(name: str, known: Mapping[str, object]) -> str:
    """The known mutant whose name is most like `name`, or ""."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.3)), "")


# places of mistakes


@dataclass(frozen=True, slots=True, kw_only=True)
class _MutantPlace:
    node: ast.AST
    put: Put
    statement: ast.stmt
    definition: tuple[str, ...]


_UNCHANGED = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.JoinedStr)
_UNCHANGED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "type_params", "bases", "ctx"})


def _places(node: ast.AST, statement: ast.AST, definition: tuple[str, ...]) -> Iterator[_MutantPlace]:
    for name, value in ast.iter_fields(node):
        if name in _UNCHANGED_FIELDS:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, _UNCHANGED) or _is_docstring(child):
                continue
            put: Put = partial(value.__setitem__, number) if isinstance(value, list) else partial(setattr, node, name)
            around = child if isinstance(child, ast.stmt) else statement
            inner = (*definition, child.name) if isinstance(child, _DEFINITION) else definition
            if isinstance(around, ast.stmt):
                yield _MutantPlace(node=child, put=put, statement=around, definition=definition)
            yield from _places(child, around, inner)


_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _owners(path: str, interfaces: Sequence[str], targets: Sequence[str]) -> dict[tuple[str, ...], str]:
    return {path_within(name, path): name for name in interfaces if file_of(name, targets) == path}


def _owner(definition: tuple[str, ...], owners: Mapping[tuple[str, ...], str]) -> str:
    """The interface that is, contains, or (for a class) is partly defined by `definition`."""
    for length in range(len(definition), -1, -1):
        if definition[:length] in owners:
            return owners[definition[:length]]
    return ""


# display


def _statement_text(statement: ast.stmt) -> str:
    """The text of a statement; for a compound statement, only its header."""
    text = ast.unparse(statement)
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return text[: text.index("\n")] if "\n" in text else text
    return text


def _first_difference(before: str, after: str) -> tuple[str, str]:
    """The first line in which the texts differ; if one is the beginning of the other, the first line."""
    old, new = before.split("\n"), after.split("\n")
    for one, other in zip(old, new, strict=False):
        if one != other:
            return one.strip(), other.strip()
    return old[0].strip(), new[0].strip()


# mistakes

_COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_EXCEPTIONS = {"ValueError": "TypeError", "TypeError": "ValueError", "KeyError": "IndexError", "IndexError": "KeyError"}


def _mistakes(node: ast.AST) -> Iterator[ast.AST]:
    """Mistakes that can replace `node`. Two may have the same text; the caller drops duplicates."""
    for _, slip in slips(node):
        yield slip
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            if isinstance(op, ast.Sub | ast.Div | ast.MatMult | ast.Pow):
                yield ast.BinOp(right, op, left)
            yield left
            yield right
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in _COMPARISONS.get(type(op), ()):
                yield ast.Compare(left, [other()], [right])
        case ast.Compare(left=left, ops=ops, comparators=rights):
            for number, op in enumerate(ops):
                for other in _COMPARISONS.get(type(op), ()):
                    yield ast.Compare(left, [*ops[:number], other(), *ops[number + 1 :]], rights)
        case ast.BoolOp(values=values):
            yield from values
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.If(test=test, body=body, orelse=orelse) if not isinstance(test, ast.Constant):
            yield ast.If(ast.Constant(True), body, orelse)
            yield ast.If(ast.Constant(False), body, orelse)
        case ast.comprehension(target=target, iter=source, ifs=[_, *_], is_async=is_async):
            yield ast.comprehension(target, source, [], is_async)
        case ast.Constant(value=bool()):
            pass  # `slips` has the other mistake
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
            if value:
                yield ast.Constant(value - 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(value * 2 if value else 1.0)
        case ast.Slice(lower=lower, upper=upper, step=step):
            if lower is not None:
                yield ast.Slice(ast.BinOp(lower, ast.Add(), ast.Constant(1)), upper, step)
                yield ast.Slice(None, upper, step)
            if upper is not None:
                yield ast.Slice(lower, None, step)
            if step is not None:
                yield ast.Slice(lower, upper, None)
        case ast.Call():
            yield from _other_calls(node)
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=args)) if name in _EXCEPTIONS:
            yield ast.Raise(ast.Call(ast.Name(_EXCEPTIONS[name], ast.Load()), args, []))
            yield ast.Pass()
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Assert() | ast.Delete() | ast.AugAssign():
            yield ast.Pass()
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Return(value=ast.expr()):
            yield ast.Return(None)


def _other_calls(node: ast.Call) -> Iterator[ast.AST]:
    for number in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, [*node.keywords[:number], *node.keywords[number + 1 :]])
    if isinstance(node.func, ast.Attribute) and node.func.attr in {
        "copy",
        "astype",
        "reshape",
        "ravel",
        "item",
        "clip",
    }:
        yield node.func.value
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]
