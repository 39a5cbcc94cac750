"""Separate import namespaces in one process: the code of each `Namespace` imports its own modules, from memory.

Runs in the shared judge, in one process with the candidate. Called by import statements of a namespace's code, and by
`pytest_runner.py`. Must not leave a namespace's modules in `sys.modules` after an import, nor change the shared
builtins.

The code of a namespace has builtins of its own, whose `__import__` activates the namespace. Python's import system
loads the modules under their own names into a `sys.modules` that is in place for that import only. So the authors' `stats` and
the candidate's `stats` coexist, and the candidate cannot find the former on disk, in `sys.modules` or by importing.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec
from typing import Any, Optional

from . import memory_modules


class Namespace:
    """The modules of one party. It is a finder and a loader of Python's import system."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        directory: str,
        *,
        roots: Sequence[str] = (".",),
        package: str = "",
        displayed: str = "",
        shared: Iterable[str] = (),
    ) -> None:
        """`files`: contents by path; `directory`: where they appear to be; `displayed`: where tracebacks show them. `roots`:
        entries of `sys.path`; `package`: the name of the package that the root itself is, "" where it is none. `shared`:
        paths of files whose modules are those of all code outside, not the namespace's own."""
        self.directory, self._displayed = directory, displayed or directory
        self.modules: dict[str, Any] = {}
        self.sources = memory_modules.sources_below(files, roots, package)
        paths = set(shared)
        self._shared = {name for name, (path, _) in self.sources.items() if path in paths}
        self.import_outside: Callable[[str], Any] = importlib.import_module
        self._packages = {name.rpartition(".")[0] for name in self.sources}
        self._packages |= {name[:end] for name in self._packages for end, sign in enumerate(name) if sign == "."}
        self.top_level_names = {name.partition(".")[0] for name in self.sources}
        self.builtins: dict[str, Any] = {}  # of the namespace's code
        self.builtins_of: dict[str, dict[str, Any]] = {}  # of particular files, by path
        self.compilers: dict[str, memory_modules.Compiler] = {}  # as well

    def name_of(self, path: str) -> str:
        return next(name for name, (source, _) in self.sources.items() if source == path)

    def has(self, name: str, members: Sequence[str]) -> bool:
        """Whether `from name import members` means this namespace. A directory without a module does not count, because
        the repository may have one of that name."""
        return any(each in self.sources for each in (name, *(f"{name}.{member}" for member in members or ())))

    # the interface of a finder and a loader

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in self.sources:
            return ModuleSpec(name, None, is_package=True) if name in self._packages else None
        file = f"{self.directory}/{self.sources[name][0]}"
        package = file.endswith("/__init__.py")
        if name in self._shared:
            if package:  # its attributes would be modules of both
                raise ImportError(f"{name} cannot be shared", name=name)
            return ModuleSpec(name, _SharedModule(self.import_outside), origin=file)  # type: ignore[arg-type]
        spec = ModuleSpec(name, self, origin=file, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [file.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> None: ...

    def exec_module(self, module: Any) -> None:
        path, data = self.sources[module.__name__]
        compiler = self.compilers.get(path, memory_modules.compiled)
        builtins_ = self.builtins_of.get(path, self.builtins)
        memory_modules.run_source(module.__dict__, data, f"{self._displayed}/{path}", builtins_, compiler)


class _SharedModule:
    """A loader that takes the module that code outside of the namespace imports."""

    def __init__(self, load: Callable[[str], Any]) -> None:
        self._load = load

    def create_module(self, spec: ModuleSpec) -> Any:
        module = self._load(spec.name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        module.__spec__ = self._spec


class Namespaces:
    """Namespaces that share a process. At most one is active: its modules are in `sys.modules`."""

    def __init__(self, *namespaces: Namespace) -> None:
        self._active: Optional[Namespace] = None
        self._replaced: dict[str, Any] = {}  # entries of `sys.modules` that the active namespace's modules replace
        self._import = builtins.__import__
        for namespace in namespaces:
            namespace.builtins = self.builtins_for(namespace)
            namespace.import_outside = partial(self.load, None)

    def load(self, namespace: Optional[Namespace], name: str) -> Any:
        with self._activated(namespace):
            return importlib.import_module(name)

    def builtins_for(self, *namespaces: Namespace) -> dict[str, Any]:
        """Builtins of code that imports from these namespaces, the first one first."""
        return {**vars(builtins), "__import__": partial(self._import_in, namespaces)}

    def _import_in(
        self,
        namespaces: Sequence[Namespace],
        name: str,
        globals: Optional[Mapping[str, Any]] = None,  # noqa: A002  the names of the builtin
        locals: Optional[Mapping[str, Any]] = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        full = memory_modules.absolute_name(name, globals, level)
        with self._activated(next((each for each in namespaces if each.has(full, fromlist)), None)):
            return self._import(name, globals, locals, fromlist, level)

    @contextmanager
    def _activated(self, namespace: Optional[Namespace]) -> Iterator[None]:
        before = self._active
        self._activate(namespace)
        try:
            yield
        finally:
            self._activate(before)

    def _activate(self, namespace: Optional[Namespace]) -> None:
        if namespace is self._active:
            return
        if self._active is not None:
            loaded = _pop_modules(self._active.top_level_names)
            self._active.modules.clear()  # others hold it
            self._active.modules.update(loaded)
            sys.meta_path.remove(self._active)
            sys.modules.update(self._replaced)
        if namespace is not None:
            self._replaced = _pop_modules(namespace.top_level_names)
            sys.modules.update(namespace.modules)
            sys.meta_path.insert(0, namespace)
        self._active = namespace


def _pop_modules(top_level_names: set[str]) -> dict[str, Any]:
    """Remove the modules with these names, and those below them, from `sys.modules`, and return them."""
    names = [name for name in sys.modules if name.partition(".")[0] in top_level_names]
    return {name: sys.modules.pop(name) for name in names}
