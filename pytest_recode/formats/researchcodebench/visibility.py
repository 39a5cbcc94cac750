"""Decide who may see each file of a paper's folder: the candidate, only the tests, or nobody.

Besides the annotated files, a folder contains the tests, copies of the solution that the tests compare with, and files of the
authors' repository, some of which repeat the solution.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_recode.formats.researchcodebench.tagged_blocks import code
from pytest_recode.program.imports import imported_from
from pytest_recode.program.source import tree_of
from pytest_recode.task import Files

SCRIPT = "paper2code_test.py"
PAPERS = ("paper2code_paper.tex", "paper2code_paper.md")
_OF_BENCHMARK = "paper2code"
"""Prefix of the benchmark's own files, which are not part of the authors' repository."""

_DISTINCTIVE_LENGTH = 20
"""Minimum length of a distinctive line of code, in characters. Shorter ones, such as `return x`, occur everywhere."""
_FEWEST = 3
_SHARE = 2 / 3
"""A file repeats a block if it contains this share of the block's distinctive lines, of which there are at least `_FEWEST`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """Paths by who may see them. A path that is in neither is hidden from everybody."""

    to_candidate: tuple[str, ...]
    only_to_tests: tuple[str, ...]


def visibility(
    files: Files, annotated: Sequence[str], context: Sequence[str], solutions: Iterable[Sequence[str]]
) -> Visibility:
    """Sort the files of a paper's folder; `solutions` are the lines of each block of the paper.

    Hidden from the candidate are tests, references (`*_ref.py`), files that repeat a block, and files that import a hidden file,
    because they would fail without it. Files that the annotated files import stay visible, and so do context files, which the
    prompt shows.
    """
    imports = {path: _imports(path, data, files) for path, data in files.items() if path.endswith(".py")}
    visible = {*context, *_reached(annotated, imports)} - {SCRIPT}
    distinctive = [lines for lines in map(_distinctive_lines, solutions) if len(lines) >= _FEWEST]
    hidden = {
        path
        for path, data in files.items()
        if path not in annotated
        and (_is_test(path) or (path not in visible and (_is_reference(path) or _repeats(data, distinctive))))
    }
    while more := {path for path in imports if path not in visible | hidden and imports[path] & hidden}:
        hidden |= more
    of_benchmark = {
        path for path in files if path.startswith(_OF_BENCHMARK) and path not in annotated and path not in context
    }
    return Visibility(
        to_candidate=tuple(sorted(set(files) - hidden - of_benchmark)),
        only_to_tests=tuple(sorted(path for path in hidden | of_benchmark if path.endswith(".py"))),
    )


def _is_test(path: str) -> bool:
    parts = PurePosixPath(path).parts
    name = parts[-1]
    named = name == "conftest.py" or (name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py")))
    return named or bool({"tests", "test"} & set(parts[:-1]))


def _is_reference(path: str) -> bool:
    return PurePosixPath(path).stem.lower().endswith(("_ref", "_reference"))


def _distinctive_lines(lines: Sequence[str]) -> set[str]:
    return {row.strip() for row in code(lines) if len(row.strip()) >= _DISTINCTIVE_LENGTH}


def _repeats(data: bytes, solutions: Sequence[set[str]]) -> bool:
    if b"\0" in data:
        return False
    text = data.decode("utf-8", "replace").replace('\\"', '"')  # a notebook stores code as JSON text
    return any(sum(line in text for line in lines) >= _SHARE * len(lines) for lines in solutions)


def _reached(start: Iterable[str], imports: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    pending = list(start)
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            pending.extend(imports.get(path, ()))
    return reached


def _imports(path: str, data: bytes, files: Files) -> set[str]:
    """The files of the folder that `path` imports when it is imported from the folder's root. Nothing is executed."""
    tree = tree_of(data)
    if tree is None:
        return set()
    package = PurePosixPath(path).parent.parts
    files_imported: set[str] = set()
    add: Callable[[Iterable[str]], None] = lambda name: files_imported.update(_files_of(tuple(name), files))  # noqa: E731
    add(package)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                add(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            origin = imported_from(node, ".".join(package))
            module = tuple(origin.split(".")) if origin else ()
            add(module)
            for alias in node.names:
                add((*module, alias.name))
    return files_imported - {path}


def _files_of(name: tuple[str, ...], files: Files) -> set[str]:
    """The existing files of a dotted name: for `a.b`, a/__init__.py and a/b.py or a/b/__init__.py."""
    parents = ["/".join(name[:length]) for length in range(1, len(name) + 1)]
    return {path for parent in parents for path in (f"{parent}.py", f"{parent}/__init__.py") if path in files}
