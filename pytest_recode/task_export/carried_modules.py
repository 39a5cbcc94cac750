"""The modules of this package that the verifier of an exported task needs, so that they travel with it: no more, and no other package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_recode.sandboxes.shipping import PACKAGE_OF_PROGRAMS

_PACKAGE = Path(__file__).parent.parent
_ENTRIES = (
    "verifier.__main__",
    *(
        f"{PACKAGE_OF_PROGRAMS}.{entry}"
        for entry in (
            "runtime.bootstrap",
            "runtime.fork_server",
            "candidate.candidate_server",
            "separate_grader.main",
        )
    ),
)
"""What runs: the verifier, and the modules that it sends to sandboxes without importing them."""


@cache
def carried_modules() -> dict[str, bytes]:
    """The sources of these modules, by their paths in a directory of Python packages."""
    paths: set[Path] = set()
    for entry in _ENTRIES:
        _collect(entry, paths)
    return {path.relative_to(_PACKAGE.parent).as_posix(): path.read_bytes() for path in sorted(paths)}


def _collect(module: str, paths: set[Path]) -> None:
    """Add the file of a module, and of all that it imports, also in functions. Modules are named relative to the package."""
    path = _file(module)
    if path is None or path in paths:
        return
    paths.add(path)
    if module:
        _collect(module.rpartition(".")[0], paths)
    for name in _imports(path):
        _collect(name, paths)


def _file(module: str) -> Path | None:
    place = _PACKAGE.joinpath(*module.split(".")) if module else _PACKAGE
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def _imports(path: Path) -> Iterator[str]:
    """What a file imports from this package: a name that is imported may be a module, too. Imports for type checkers do not count."""
    tree = ast.parse(path.read_bytes())
    unused = {below for node in ast.walk(tree) if _is_for_type_checkers(node) for below in ast.walk(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom) or node in unused:
            continue
        if isinstance(node, ast.Import):
            bases, names = [alias.name for alias in node.names], [""]
        else:
            above = [_PACKAGE.name, *path.relative_to(_PACKAGE).parts][: -node.level] if node.level else []
            bases, names = [".".join([*above, *filter(None, [node.module])])], [alias.name for alias in node.names]
        for base in bases:
            package, _, module = base.partition(".")
            if package == _PACKAGE.name:
                yield module
                yield from (f"{module}.{name}".strip(".") for name in names)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
