"""Separate import namespaces in one process: the code of each `World` imports that world's modules, from memory.

Runs in the shared judge, in one process with the candidate. Called by import statements of a world's code, and by
`pytest_runner.py`. Must not leave a world's modules in `sys.modules` after an import, nor change the shared builtins.

The code of a world has builtins of its own, whose `__import__` finds the world. Python's import system loads the
modules under their own names into a `sys.modules` that is in place for that import only. So the authors' `stats` and
the candidate's `stats` coexist, and the candidate cannot find the former on disk, in `sys.modules` or by importing.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec
from typing import Any, Optional

from . import memory_modules


class World:
    """`files`: contents by path; tracebacks show them as lying in `root`. `roots` as of `sys.path`."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        root: str,
        *,
        roots: Sequence[str] = (".",),
        package: str = "",
    ) -> None:
        """`package`: the name of the package that the root itself is, "" where it is none."""
        self.root = root
        self.modules: dict[str, Any] = {}
        self.sources: dict[str, tuple[str, bytes]] = {}
        for base in roots:
            prefix = "" if base == "." else f"{base}/"
            for path, data in files.items():
                if path.startswith(prefix) and path.endswith(".py"):
                    self.sources.setdefault(dotted(path[len(prefix) :], package), (path, data))
        self._spaces = {name.rpartition(".")[0] for name in self.sources}
        self._spaces |= {space[:end] for space in self._spaces for end, sign in enumerate(space) if sign == "."}
        self.tops = {name.partition(".")[0] for name in self.sources}
        self.builtins: dict[str, Any] = {}  # of its code

    def name_of(self, path: str) -> str:
        return next(name for name, (source, _) in self.sources.items() if source == path)

    def has(self, name: str, members: Sequence[str]) -> bool:
        """Whether `from name import members` is about this world. A folder alone is not: the repository may have one of that name."""
        return any(each in self.sources for each in (name, *(f"{name}.{member}" for member in members or ())))

    # what Python's machinery asks of a finder and a loader

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in self.sources:
            return ModuleSpec(name, None, is_package=True) if name in self._spaces else None
        file = f"{self.root}/{self.sources[name][0]}"
        package = file.endswith("/__init__.py")
        spec = ModuleSpec(name, self, origin=file, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [file.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: Any) -> None:
        file, data = module.__spec__.origin, self.sources[module.__name__][1]
        memory_modules.remember(file, data)
        module.__dict__["__builtins__"] = self.builtins
        exec(compile(data, file, "exec", dont_inherit=True), module.__dict__)


class Worlds:
    """Worlds that share a process, one of which at most is laid in."""

    def __init__(self, *worlds: World) -> None:
        self._now: Optional[World] = None
        self._outside: dict[str, Any] = {}  # of `sys.modules`, what the world that is laid in has other modules for
        self._import = builtins.__import__
        for world in worlds:
            world.builtins = {**vars(builtins), "__import__": partial(self._imported, world)}

    def load(self, world: World, name: str) -> Any:
        with self._in(world):
            return importlib.import_module(name)

    def _imported(
        self,
        world: World,
        name: str,
        globals: Optional[Mapping[str, Any]] = None,  # noqa: A002  the builtin's own names
        locals: Optional[Mapping[str, Any]] = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        full = memory_modules.absolute(name, globals, level)
        with self._in(world if world.has(full, fromlist) else None):
            return self._import(name, globals, locals, fromlist, level)

    @contextmanager
    def _in(self, world: Optional[World]) -> Iterator[None]:
        before = self._now
        self._lay_in(world)
        try:
            yield
        finally:
            self._lay_in(before)

    def _lay_in(self, world: Optional[World]) -> None:
        if world is self._now:
            return
        if self._now is not None:
            self._now.modules = _taken(self._now.tops)
            sys.meta_path.remove(self._now)
            sys.modules.update(self._outside)
        if world is not None:
            self._outside = _taken(world.tops)
            sys.modules.update(world.modules)
            sys.meta_path.insert(0, world)
        self._now = world


def dotted(path: str, package: str = "") -> str:
    """The name of the module in a file; `package` is that of the root."""
    parts = path[: -len(".py")].split("/")
    parts = ([package] if package else []) + parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _taken(tops: set[str]) -> dict[str, Any]:
    """What `sys.modules` has under these names and below, which it has no more."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops]
    return {name: sys.modules.pop(name) for name in names}
