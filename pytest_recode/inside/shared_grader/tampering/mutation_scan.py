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

_MUTATING_METHODS = {
    *("append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "sort", "reverse"),
    *("add", "discard", "difference_update", "intersection_update", "__setitem__", "fill", "put", "resize", "itemset"),
}
_READ_ONLY = {
    *("len", "sorted", "list", "tuple", "set", "frozenset", "dict", "sum", "min", "max", "any", "all", "print"),
    *("map", "filter", "range", "reversed", "iter", "enumerate", "zip", "isinstance", "type"),
    *("str", "repr", "float", "int", "abs"),
}
"""Functions that do not modify their argument."""


class MutationScan:
    """The sources in `paths` are read at the first query."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = paths
        self._read = False
        self._assigned: set[str] = set()
        self._mutated: set[str] = set()
        self._classes: set[str] = set()

    def may_change(self, name: str, in_place: bool) -> bool:
        """Whether a source assigns to an attribute of this name; or, with `in_place`, modifies its value or passes it on."""
        self._scan()
        return name in self._assigned or "*" in self._assigned or (in_place and name in self._mutated)

    def may_change_class(self, names: Iterable[str]) -> bool:
        """Whether a source sets attributes of a class. `names`: the class's own and those of its bases."""
        self._scan()
        return not self._classes.isdisjoint((*names, ""))

    def _scan(self) -> None:
        for path in () if self._read else self._paths:
            if path.endswith(".py"):
                for node, inside in _nodes(path):
                    self._assigned.update(_assigned_names(node))
                    self._mutated.update(_mutated_names(node))
                    self._classes.update(_attribute_owners(node, inside))
        self._read = True


def _nodes(path: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of a source, each with the name of the class that contains it."""
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


def _assigned_names(node: ast.AST) -> Iterator[str]:
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


def _mutated_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield _last(node.value)
    elif isinstance(node, ast.AugAssign):
        yield _last(node.target)
    elif isinstance(node, (ast.Return, ast.Assign, ast.AnnAssign)) and node.value is not None:
        yield _plain_name(node.value)
    elif isinstance(node, ast.Call):
        yield from _mutated_by_call(node)


def _mutated_by_call(node: ast.Call) -> Iterator[str]:
    name = _last(node.func)
    if isinstance(node.func, ast.Attribute) and name in _MUTATING_METHODS:
        yield _last(node.func.value)
    elif isinstance(node.func, ast.Name) and name not in _READ_ONLY:
        yield from (_plain_name(each) for each in [*node.args, *(keyword.value for keyword in node.keywords)])


def _attribute_owners(node: ast.AST, inside: str) -> Iterator[str]:
    """The last name of the object on which an attribute is set; for `cls` and the like, the name of the containing class."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        holder: ast.AST = node.value
    elif isinstance(node, ast.Call) and _last(node.func) in ("setattr", "delattr") and node.args:
        holder = node.args[0]
    else:
        return
    is_type_call = isinstance(holder, ast.Call) and _last(holder.func) == "type"
    yield inside if is_type_call or _last(holder) in ("cls", "klass", "__class__") else _last(holder)


def _plain_name(node: ast.AST) -> str:
    """The name of an expression that is only a name or an attribute, "" for any other."""
    return _last(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _last(node: Any) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
