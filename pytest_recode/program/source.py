"""Compare the syntax trees of two versions of a file. Nothing is executed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

LARGEST = 1024 * 1024
"""Bytes; a larger file is not parsed."""
SMALL = 64 * 1024
"""Bytes; what was read of a larger file is not kept: trees take a hundred times the size of their text, and candidates choose it."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """One version of a file. If it cannot be parsed, `tree` is None, `problem` says why, and `remedy` what to do with the file."""

    text: str
    tree: ast.Module | None
    problem: str = ""
    remedy: str = ""


class Parameter(NamedTuple):
    name: str
    kind: str  # "positional only" "positional" "keyword" "*" "**"
    default: str | None  # as an expression without line breaks


SYNTAX = "correct the syntax of {file}: until then, nothing in it runs"
"""What to do with a file that the interpreter refuses to compile."""


def parse(data: bytes | None) -> FileVersion:
    """Parse a file of a candidate. Every kind of invalid Python becomes a `problem`. Callers must not change the tree."""
    return _parse_small(data) if data is None or len(data) <= SMALL else _parse(data)


def _parse(data: bytes | None) -> FileVersion:
    if data is None:
        return FileVersion(text="", tree=None, problem="is missing", remedy="write {file}, which is missing")
    if len(data) > LARGEST:
        return FileVersion(
            text="", tree=None, problem=f"is larger than {LARGEST // 1024} KiB", remedy="make {file} smaller"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return FileVersion(text="", tree=None, problem="is not UTF-8 text", remedy="write {file} as UTF-8 text")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return FileVersion(text=text, tree=ast.parse(text))
    except SyntaxError as error:
        return FileVersion(
            text=text, tree=None, problem=f"does not parse: {error.msg} (line {error.lineno or 1})", remedy=SYNTAX
        )
    except (ValueError, RecursionError, MemoryError) as error:
        return FileVersion(text=text, tree=None, problem=f"does not parse: {type(error).__name__}", remedy=SYNTAX)


_parse_small = lru_cache(maxsize=32)(_parse)


def tree_of(code: bytes | str) -> ast.Module | None:
    """The syntax tree of code; None if this Python cannot parse it. Warnings about the code are not shown."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def definition(source: FileVersion, path: Sequence[str]) -> Definition | None:
    """The function or class at `path` ("Class", "method"); the last one of that name wins, as in Python."""
    body: Sequence[ast.stmt] = source.tree.body if source.tree is not None else ()
    innermost: Definition | None = None
    for name in path:
        innermost = None
        for node in statements(body):
            if isinstance(node, Definition) and node.name == name:
                innermost = node
        if innermost is None:
            return None
        body = innermost.body
    return innermost


def parameters(node: Definition) -> tuple[Parameter, ...] | None:
    """The parameters of a function, or of a class's `__init__` without `self`; None if a decorator or a base may define that."""
    if isinstance(node, ast.ClassDef):
        inits = [method for method in node.body if isinstance(method, ast.FunctionDef) and method.name == "__init__"]
        if inits:
            return (parameters(inits[-1]) or ())[1:]
        return None if node.decorator_list or node.bases else ()
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [
        _text(argument) for argument in arguments.defaults
    ]
    kinds = ["positional only"] * len(arguments.posonlyargs) + ["positional"] * len(arguments.args)
    listed = [Parameter(arg.arg, kind, value) for arg, kind, value in zip(positional, kinds, defaults, strict=True)]
    if arguments.vararg:
        listed.append(Parameter(arguments.vararg.arg, "*", None))
    for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        listed.append(Parameter(arg.arg, "keyword", None if value is None else _text(value)))
    if arguments.kwarg:
        listed.append(Parameter(arguments.kwarg.arg, "**", None))
    return tuple(listed)


def borrowed(source: FileVersion, node: ast.AST) -> set[str]:
    """The names that `node` calls and `source` imports, by their original names: `from a import b as c; c()` borrows "b"."""
    imported: dict[str, str] = {}
    for inner in ast.walk(source.tree) if source.tree is not None else ():
        if isinstance(inner, ast.ImportFrom):
            imported.update({alias.asname or alias.name: alias.name for alias in inner.names})
        elif isinstance(inner, ast.Import):
            imported.update({alias.asname or alias.name.partition(".")[0]: "" for alias in inner.names})
    names = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
            names.add(imported.get(inner.func.id, ""))
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            root: ast.expr = inner.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in imported:
                names.add(inner.func.attr)
    return names - {""}


def same(one: ast.AST | None, other: ast.AST | None) -> bool:
    """Whether two pieces are the same program, ignoring comments, layout and docstrings."""
    return one is not None and other is not None and dumped(one) == dumped(other) != ""


def bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds or deletes."""
    if isinstance(node, Definition):
        return [node.name]
    names = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store | ast.Del):
            names.append(inner.id)
        elif isinstance(inner, Definition):
            names.append(inner.name)
        elif isinstance(inner, ast.alias):
            names.append(inner.asname or inner.name.partition(".")[0])
    return names


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """`body` with the statements in its conditions: `if x: def f()` also defines `f`."""
    for node in body:
        yield node
        for field in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                for each in getattr(node, field, ()):
                    yield from statements(each.body if isinstance(each, ast.ExceptHandler) else [each])


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
