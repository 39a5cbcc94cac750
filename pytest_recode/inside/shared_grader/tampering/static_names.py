"""The names of a candidate's source, and what they were imported as.

Runs in the shared judge, in one process with the candidate. Called by `static_checks.py`. Must not run the code that
it parses.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from . import static_class_checks as classes


class SourceNames(NamedTuple):
    """The names of a source: what they were imported as, and which are bound otherwise."""

    hidden: frozenset[str]
    modules: dict[str, str]
    bound: frozenset[str]
    classes: frozenset[str] = frozenset()
    """Imported names that are spelled like classes, also from the repository."""
    functions: frozenset[str] = frozenset()
    """Functions that the source defines."""
    stars: tuple[str, ...] = ()
    """Modules from which it imports all names."""
    own_module: frozenset[int] = frozenset()
    """Ids of the nodes `sys.modules` in `sys.modules[__name__]`, which is the source's own module."""

    @classmethod
    def of(cls, nodes: Sequence[ast.AST], hidden: frozenset[str]) -> SourceNames:
        """The names of a source with these nodes. `hidden`: names of modules that only the tests may use."""
        functions = {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
        class_names = {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name[:1].isupper() and not alias.name.isupper()
        }
        stars = tuple(
            str(node.module)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and not node.level and any(alias.name == "*" for alias in node.names)
        )
        modules, bound = _modules(nodes), frozenset(_bound(nodes))
        own_module = frozenset() if "__name__" in {*modules, *bound} else frozenset(_own_module(nodes))
        return SourceNames(hidden, modules, bound, frozenset(class_names), frozenset(functions), stars, own_module)


def _modules(nodes: Sequence[ast.AST]) -> dict[str, str]:
    found = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def _own_module(nodes: Sequence[Any]) -> Iterator[int]:
    for node in nodes:
        is_lookup = (
            isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name)
        )
        if is_lookup and node.slice.id == "__name__" and classes.last(node.value) == "modules":
            yield id(node.value)


def _bound(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
