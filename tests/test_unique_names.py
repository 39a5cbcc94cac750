"""Within the package, one name stands for one thing: a reader who searches for a class or a module finds one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "pytest_recode"
OF_PYTHON = {"__init__", "__main__"}
"""Names of modules that Python gives."""


def classes(path: Path) -> Iterator[str]:
    """The classes that a module defines, also in functions and classes."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            yield node.name


def modules(path: Path) -> Iterator[str]:
    if path.stem not in OF_PYTHON:
        yield path.stem


def shared(names: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that several places have, with these places."""
    places: dict[str, list[str]] = {}
    for name, path in names:
        places.setdefault(name, []).append(path.as_posix())
    return {name: paths for name, paths in places.items() if len(paths) > 1}


@pytest.mark.parametrize("names_in", [classes, modules])
def test_a_name_stands_for_one_thing(names_in: Callable[[Path], Iterator[str]]) -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert not shared((name, path.relative_to(PACKAGE)) for path in paths for name in names_in(path))


def test_shared_names_are_found(tmp_path: Path) -> None:
    for place, source in {"a/__init__": "class A: ...", "a/same": "class B:\n    class A: ...", "b/same": ""}.items():
        path = tmp_path / f"{place}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    paths = sorted(tmp_path.rglob("*.py"))
    named = [
        {name: len(found) for name, found in shared((name, path) for path in paths for name in of(path)).items()}
        for of in (classes, modules)
    ]
    assert named == [{"A": 2}, {"same": 2}]
