"""Resolve imports: the module that a `from` import takes names from, as the standard library resolves it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from importlib.util import resolve_name

from pytest_recode.program.interfaces import module_of

_ROOT = "root"


def absolute_imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The dotted names of the modules that these nodes import, in their order, without relative imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def package_of(file: str) -> str:
    """The package that relative imports of `file` start from: "pkg" for `pkg/mod.py` and `pkg/__init__.py`, "" at the root."""
    return module_of(file) if file.endswith("__init__.py") else module_of(file).rpartition(".")[0]


def imported_from(node: ast.ImportFrom, package: str) -> str | None:
    """The dotted name of the module that a file of `package` imports from; "" is the root, None is above it.

    The root may be a package itself, so a file in it may have relative imports.
    """
    if not node.level:
        return node.module or ""
    dots = "." * node.level
    try:
        name = resolve_name(f"{dots}{node.module or ''}", f"{_ROOT}.{package}".rstrip("."))
    except ImportError:
        return None
    return name.removeprefix(_ROOT).removeprefix(".")
