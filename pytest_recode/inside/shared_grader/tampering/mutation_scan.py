"""Scans a repository's sources for code that may change what its modules hold; in doubt it may.

Runs in the shared judge, in one process with the candidate. Called by `module_snapshot.py` after the tests, where
something has changed. Must not run the sources that it parses, nor read those of the candidate.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

_MUTATES = {
    *("append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "sort", "reverse"),
    *("add", "discard", "difference_update", "intersection_update", "__setitem__", "fill", "put", "resize", "itemset"),
}
_LOOKS = {
    *("len", "sorted", "list", "tuple", "set", "frozenset", "dict", "sum", "min", "max", "any", "all", "print"),
    *("map", "filter", "range", "reversed", "iter", "enumerate", "zip", "isinstance", "type"),
    *("str", "repr", "float", "int", "abs"),
}
"""What is called with a table and leaves it as it is."""


class Sources:
    """`paths` are read when first asked about."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths
        self._read = False
        self._set: set[str] = set()
        self._handed: set[str] = set()
        self._classes: set[str] = set()

    def rewrite(self, name: str, in_place: bool) -> bool:
        """Whether something of this name is set; or, `in_place`, is changed or handed about."""
        self._look()
        return name in self._set or "*" in self._set or (in_place and name in self._handed)

    def store_on(self, names: Iterable[str]) -> bool:
        """Whether attributes of a class are set: `names` are its own and those of the classes that it derives from."""
        self._look()
        return not self._classes.isdisjoint((*names, ""))

    def _look(self) -> None:
        for path in () if self._read else self._paths:
            if path.endswith(".py"):
                for node, inside in _nodes(path):
                    self._set.update(_stored(node))
                    self._handed.update(_handed(node))
                    self._classes.update(_held(node, inside))
        self._read = True


def _nodes(path: str) -> Iterator[tuple[ast.AST, str]]:
    """Each with the name of the class that it is in."""
    try:
        with open(path, "rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    queue: list[tuple[ast.AST, str]] = [(tree, "")]
    for node, inside in queue:
        yield node, inside
        below = node.name if isinstance(node, ast.ClassDef) else inside
        queue += [(child, below) for child in ast.iter_child_nodes(node)]


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Global):
        yield from node.names
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        if _last(node.value) != "self":
            yield node.attr
    elif isinstance(node, ast.Call) and _last(node.func) in ("setattr", "delattr") and len(node.args) > 1:
        named = node.args[1]
        if _last(node.args[0]) != "self":
            yield named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else "*"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "vars"):
        yield "*"


def _handed(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield _last(node.value)
    elif isinstance(node, ast.AugAssign):
        yield _last(node.target)
    elif isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign)) and node.value is not None:
        yield _whole(node.value)
    elif isinstance(node, ast.Call):
        yield from _called(node)


def _called(node: ast.Call) -> Iterator[str]:
    name = _last(node.func)
    if isinstance(node.func, ast.Attribute) and name in _MUTATES:
        yield _last(node.func.value)
    elif isinstance(node.func, ast.Name) and name not in _LOOKS:
        yield from (_whole(each) for each in [*node.args, *(keyword.value for keyword in node.keywords)])


def _held(node: ast.AST, inside: str) -> Iterator[str]:
    """What attributes are set on, by its last name; where that is a class that the code is given, by the name of the one it is in."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        holder: ast.AST = node.value
    elif isinstance(node, ast.Call) and _last(node.func) in ("setattr", "delattr") and node.args:
        holder = node.args[0]
    else:
        return
    asked = isinstance(holder, ast.Call) and _last(holder.func) == "type"
    yield inside if asked or _last(holder) in ("cls", "klass", "__class__") else _last(holder)


def _whole(node: ast.AST) -> str:
    """The name that is handed on as it is, "" where it is not a name alone."""
    return _last(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _last(node: Any) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
