"""Compare the syntax trees of two versions of a file. Nothing is executed."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

LARGEST = 1024 * 1024
"""Bytes; a larger file is not parsed."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One version of a file. If it cannot be parsed, `tree` is None and `problem` says why."""

    text: str
    tree: ast.Module | None
    problem: str = ""


class Parameter(NamedTuple):
    name: str
    kind: str  # "positional" "keyword" "*" "**"
    default: str | None  # as an expression without line breaks


def parse(data: bytes | None) -> Source:
    """Parse a file of a candidate. Every kind of invalid Python becomes a `problem`."""
    if data is None:
        return Source(text="", tree=None, problem="is missing")
    if len(data) > LARGEST:
        return Source(text="", tree=None, problem=f"is larger than {LARGEST // 1024} KiB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Source(text="", tree=None, problem="is not UTF-8 text")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Source(text=text, tree=ast.parse(text))
    except SyntaxError as error:
        return Source(text=text, tree=None, problem=f"does not parse: {error.msg} (line {error.lineno or 1})")
    except (ValueError, RecursionError, MemoryError) as error:
        return Source(text=text, tree=None, problem=f"does not parse: {type(error).__name__}")


def definition(source: Source, path: Sequence[str]) -> Definition | None:
    """The function or class at `path` ("Class", "method"); the last one of that name wins, as in Python."""
    body: Sequence[ast.stmt] = source.tree.body if source.tree is not None else ()
    found: Definition | None = None
    for name in path:
        found = None
        for node in statements(body):
            if isinstance(node, Definition) and node.name == name:
                found = node
        if found is None:
            return None
        body = found.body
    return found


def parameters(node: Definition) -> tuple[Parameter, ...]:
    """The parameters of a function, or of a class's `__init__` without `self`."""
    if isinstance(node, ast.ClassDef):
        inits = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
        return parameters(inits[-1])[1:] if inits else ()
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [_text(each) for each in arguments.defaults]
    found = [Parameter(arg.arg, "positional", value) for arg, value in zip(positional, defaults, strict=True)]
    if arguments.vararg:
        found.append(Parameter(arguments.vararg.arg, "*", None))
    for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(Parameter(arg.arg, "keyword", None if value is None else _text(value)))
    if arguments.kwarg:
        found.append(Parameter(arguments.kwarg.arg, "**", None))
    return tuple(found)


def called(node: ast.AST) -> Counter[str]:
    """The last name of each called function: "norm" for `np.linalg.norm(x)`."""
    names = (_last_name(each.func) for each in ast.walk(node) if isinstance(each, ast.Call))
    return Counter(name for name in names if name)


def borrowed(source: Source, node: ast.AST) -> set[str]:
    """The names that `node` calls and `source` imports, by their original names: `from a import b as c; c()` borrows "b"."""
    imported: dict[str, str] = {}
    for each in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(each, ast.ImportFrom):
            imported.update({alias.asname or alias.name: alias.name for alias in each.names})
        elif isinstance(each, ast.Import):
            imported.update({alias.asname or alias.name.partition(".")[0]: "" for alias in each.names})
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            found.add(imported.get(each.func.id, ""))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute):
            root: ast.expr = each.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in imported:
                found.add(each.func.attr)
    return found - {""}


def operators(node: ast.AST) -> Counter[str]:
    """The arithmetic of a piece of code by the kind of operation ("Add", "Lt", "USub")."""
    found: Counter[str] = Counter()
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp | ast.AugAssign | ast.UnaryOp):
            found[type(each.op).__name__] += 1
        elif isinstance(each, ast.Compare):
            found.update(type(op).__name__ for op in each.ops)
    return found


def same(one: ast.AST | None, other: ast.AST | None) -> bool:
    """Whether two pieces are the same program, ignoring comments, layout and docstrings."""
    return one is not None and other is not None and dumped(one) == dumped(other) != ""


def pieces(reference: Source, candidate: Source, path: Sequence[str], without: Set[str] = frozenset()) -> str:
    """The reference's source of the definition at `path`, with the code of its file that it uses and in which the candidate differs.

    Returns whole top-level statements, in file order, without those of the names in `without`; or the whole file,
    if `path` is empty or the candidate has no syntax tree.
    """
    if reference.tree is None or candidate.tree is None or not path:
        return reference.text
    wanted = {id(node) for node in _needed(reference.tree, path[0])}
    theirs = {name: node for node in candidate.tree.body for name in bound(node)}
    needed = []
    for node in reference.tree.body:
        names = bound(node)
        differs = not all(same(node, theirs.get(name)) or _imported(node, theirs.get(name), name) for name in names)
        if path[0] in names or (id(node) in wanted and differs and without.isdisjoint(names)):
            needed.append(node)
    return "\n\n\n".join(_groups(reference.text, needed)) if needed else reference.text


def _groups(text: str, nodes: Sequence[ast.stmt]) -> Iterator[str]:
    """Source of each definition, and of each run of simple statements between them."""
    lines = re.split(r"\r\n|\r|\n", text)
    run: list[str] = []
    for node in nodes:
        start = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        source = "\n".join(lines[start - 1 : node.end_lineno])
        if isinstance(node, Definition):
            if run:
                yield "\n".join(run)
            run = []
            yield source
        elif source not in run:
            run.append(source)
    if run:
        yield "\n".join(run)


def _needed(tree: ast.Module, name: str) -> list[ast.stmt]:
    """The top-level statements that `name` needs, directly or indirectly, including its own."""
    binding: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for each in bound(node):
            binding.setdefault(each, []).append(node)
    pending, done, found = [name], set(), []
    while pending:
        current = pending.pop()
        if current in done:
            continue
        done.add(current)
        for node in binding.get(current, ()):
            found.append(node)
            pending += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return found


def bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(node, Definition):
        return [node.name]
    names = []
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            names.append(each.id)
        elif isinstance(each, Definition):
            names.append(each.name)
        elif isinstance(each, ast.alias):
            names.append(each.asname or each.name.partition(".")[0])
    return names


def _imported(one: ast.stmt, other: ast.stmt | None, name: str) -> bool:
    """Whether both import `name` from the same place: `from a import b, c` has all of `from a import b`."""
    return other is not None and _origin(one, name) is not None and _origin(one, name) == _origin(other, name)


def _origin(node: ast.stmt, name: str) -> str | None:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return None
    base = f"{'.' * node.level}{node.module or ''}:" if isinstance(node, ast.ImportFrom) else ""
    for each in node.names:
        if (each.asname or each.name.partition(".")[0]) == name:
            return base + each.name
    return None


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """`body` with the statements in its conditions: `if x: def f()` also defines `f`."""
    for node in body:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                for each in getattr(node, field, ()):
                    yield from statements(each.body if isinstance(each, ast.ExceptHandler) else [each])


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str:
    try:
        return " ".join(ast.unparse(node).split())
    except RecursionError:
        return "…"


def dumped(node: ast.AST) -> str:
    """The tree as text; "" if it is too deep to compare, so that it equals no valid one."""
    try:
        text = ast.dump(node)
        for each in ast.walk(node):
            if isinstance(each, Definition) and (doc := ast.get_docstring(each, clean=False)):
                node_of = f"Expr(value=Constant(value={doc!r}))"
                text = text.replace(f"{node_of}, ", "").replace(node_of, "")
    except RecursionError:
        return ""
    return text
