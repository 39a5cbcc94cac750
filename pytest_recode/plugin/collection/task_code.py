"""Keeps pytest from running a task's Python files in its own process, outside of any sandbox.

pytest imports each conftest.py in directories that it collects, and those in directories `test*` of its arguments.
In a task's directory, such a file belongs to the hidden tests, and runs with them in the grader.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.plugin.collection.offers import manifests

if TYPE_CHECKING:
    from pytest_recode.formats import Format
    from pytest_recode.plugin.collection.registry import Registry


def directories(config: pytest.Config, paths: Collection[Path]) -> frozenset[Path]:
    """The resolved directories of tasks from which pytest may load a conftest.py for the arguments `paths`.

    Imports nothing if there is no manifest nearby.
    """
    names = manifests(config.pluginmanager)
    claimed: set[Path] = set()
    for path in {path.resolve() for path in paths}:
        near = [path, *path.parents, *(path.glob("test*") if path.is_dir() else ())]
        for directory in near:
            for name in names:
                if (directory / name).is_file() and claimed_in(config, directory / name):
                    claimed.update(_of(config, directory / name, near))
    return frozenset(claimed)


def _of(config: pytest.Config, manifest: Path, near: Sequence[Path]) -> Iterator[Path]:
    """The directories of one manifest. Other projects may have a file of that name, so the format decides which directories are its own.

    Raises `pytest.UsageError` if a plugin registers a format that cannot be imported.
    """
    task_format = _format(config, manifest.name)
    if task_format is None or task_format.owns is None:
        yield manifest.parent
        return
    below = (each for each in manifest.parent.iterdir() if each.is_dir())
    if any(task_format.owns(manifest, each) for each in below):
        yield manifest.parent
        return
    for directory in near:
        if manifest.parent in directory.parents and directory.is_dir() and task_format.owns(manifest, directory):
            yield directory


def claimed_in(config: pytest.Config, manifest: Path) -> bool:
    """Whether a format claims this file, which has the name of a manifest. One that cannot be imported does: the run that opens then says why."""
    try:
        task_format = _format(config, manifest.name)
    except pytest.UsageError:
        return True
    if task_format is None:
        return False
    from pytest_recode.formats import claimed

    return claimed(task_format, manifest)


def _format(config: pytest.Config, name: str) -> Format | None:
    from pytest_recode.plugin.collection.registry import collect
    from pytest_recode.plugin.run.usage_errors import usage_errors  # not imported in a session without tasks

    with usage_errors():
        plugins = config.pluginmanager.get_plugins()  # each conftest.py on the way may register a format
        collected = config.stash.get(_COLLECTED, None)
        if collected is None or collected[0] != plugins:
            collected = config.stash[_COLLECTED] = plugins, collect(config.pluginmanager)
        return collected[1].format(name)


_COLLECTED: pytest.StashKey[tuple[set[Any], Registry]] = pytest.StashKey()
"""The registry that `_format` used last, and the plugins from which it was collected."""


@contextmanager
def not_run(tasks: Collection[Path]) -> Iterator[None]:
    """Within the block, a conftest.py or a package in `tasks` is imported as an empty module, and other modules are not
    searched for there. Afterwards, additions to `sys.path` and `sys.modules` are removed."""
    if not tasks:
        yield
        return
    before = list(sys.path)
    finder = _Finder(tasks)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        sys.path[:] = [path for path in sys.path if path in before or not finder.within(path)]
        for name in finder.empty_modules:
            sys.modules.pop(name, None)


class _Finder:
    def __init__(self, tasks: Collection[Path]) -> None:
        self._tasks = tuple(tasks)
        self.empty_modules: list[str] = []

    def within(self, path: str) -> bool:
        resolved = Path(path).resolve()
        return any(resolved.is_relative_to(task) for task in self._tasks)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) or _package_at(name, path) or _file_at(name, path)
        if spec is None or spec.origin is None or not self.within(spec.origin):
            return None
        file = Path(spec.origin).name
        if file in ("conftest.py", "__init__.py"):
            self.empty_modules.append(name)
            return spec_from_file_location(
                name, spec.origin, loader=_Empty(), submodule_search_locations=spec.submodule_search_locations
            )
        elsewhere = [each for each in (sys.path if path is None else path) if not self.within(each)]
        spec = PathFinder.find_spec(name, elsewhere, target)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return spec


def _package_at(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find a package. With --import-mode=importlib, pytest passes the package's directory instead of its parent."""
    for place in map(Path, path or ()):
        if place.name == name.rpartition(".")[2] and (place / "__init__.py").is_file():
            return spec_from_file_location(name, place / "__init__.py", submodule_search_locations=[str(place)])
    return None


def _file_at(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find a module below a directory by its dotted name: as pytest 8.3 passes it with --import-mode=importlib."""
    for place in map(Path, path or ()):
        file = place.joinpath(*name.split(".")).with_suffix(".py")
        if file.is_file():
            return spec_from_file_location(name, file)
    return None


class _Empty(Loader):
    """A loader that runs nothing."""

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: ModuleType) -> None: ...
