"""Lists the modules from outside a repository that a script will import, by its source.

Runs in the shared judge's warm parent and on the host. Called by the runners before `judge.prepare` imports those modules, and
by `oracle/shared.py`. Must not run any of the code that it reads.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache


def external_imports(script: str, files: Mapping[str, bytes]) -> list[str]:
    """Dotted names, in the order of import, of what the script and the files it reaches import at their top level."""
    names: dict[str, None] = {}
    seen: set[str] = set()
    queue = [script]
    while queue:
        path = queue.pop(0)
        if path in seen or path not in files:
            continue
        seen.add(path)
        for name in _imports(path, files[path]):
            local = [file for file in _files_of(name) if file in files]
            if local:
                queue += local
            elif not any(file.startswith(f"{name.split('.')[0]}/") for file in files):
                names[name] = None
    return list(names)


@lru_cache(maxsize=1024)  # tasks of one repository differ in one file
def _imports(path: str, source: bytes) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    package = path.rpartition("/")[0].replace("/", ".")
    names = [name.split(".") for node in tree.body for name in _imported_names(node, package)]
    return tuple(".".join(parts[:end]) for parts in names for end in range(1, len(parts) + 1))


def _imported_names(node: ast.stmt, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names if node.level or base == package)


def _files_of(name: str) -> tuple[str, str]:
    path = name.replace(".", "/")
    return f"{path}.py", f"{path}/__init__.py"
