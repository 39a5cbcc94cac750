"""Replacements for `importlib`, `inspect` and `unittest.mock` that also find hidden modules.

Runs in the shared judge, in one process with the candidate. Called by hidden test code, which imports the
replacements by the usual names. Must not be given to candidate code.

A test may call `importlib.import_module("canonical")`, load that module from the file beside its own, patch
"canonical.helper", or read the source of a function.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import secrets
import types
import unittest
import unittest.mock
from typing import Any, Optional

from . import memory_modules


class _Loader:
    """Loads a hidden source under the name that the tests give it."""

    def __init__(self, hidden: memory_modules.HiddenModules, full: str) -> None:
        self._hidden, self._full = hidden, full

    def create_module(self, spec: Any) -> None: ...

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source. Meanwhile the module has an unpredictable name, because its imports may run candidate code."""
        name = module.__name__
        module.__name__ = f"{name}_{secrets.token_hex(8)}"
        try:
            self._hidden.fill(module, self._full)
        finally:
            module.__name__ = name


def overrides(hidden: memory_modules.HiddenModules, directory: str) -> dict[str, types.ModuleType]:
    """The replacements by name. `directory`: the absolute path in which the hidden files appear to be."""
    files = {os.path.normpath(f"{directory}/{path}"): full for full, (path, _) in hidden.sources.items()}

    def import_module(name: str, package: Optional[str] = None) -> Any:
        full = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        return hidden.load(full) if hidden.has(full) else importlib.import_module(name, package)

    def spec_from_file_location(name: str, location: Any = None, *rest: Any, **more: Any) -> Any:
        full = files.get(os.path.abspath(location)) if isinstance(location, (str, os.PathLike)) else None
        if full is None:
            return importlib.util.spec_from_file_location(name, location, *rest, **more)
        return importlib.util.spec_from_loader(name, _Loader(hidden, full), origin=str(location))  # type: ignore[arg-type]

    def patch(target: Any, *rest: Any, **more: Any) -> Any:
        attribute = hidden_attribute(hidden, target)
        if attribute is None:
            return unittest.mock.patch(target, *rest, **more)
        return unittest.mock.patch.object(*attribute, *rest, **more)

    def getsourcelines(thing: Any) -> Any:
        """The lines of a hidden function. Sources are not put where candidate code could read them, so for a hidden
        class there are none."""
        code = inspect.unwrap(thing).__code__ if type(thing) is types.FunctionType else None
        lines = memory_modules.lines(code.co_filename) if type(code) is types.CodeType else []
        if code is None or not lines:
            return inspect.getsourcelines(thing)
        return inspect.getblock(lines[code.co_firstlineno - 1 :]), code.co_firstlineno

    def getsource(thing: Any) -> str:
        return "".join(getsourcelines(thing)[0])

    vars(patch).update(vars(unittest.mock.patch))
    util = memory_modules.Overlay(importlib.util, {"spec_from_file_location": spec_from_file_location})
    mock = memory_modules.Overlay(unittest.mock, {"patch": patch})
    return {
        "importlib": memory_modules.Overlay(importlib, {"import_module": import_module, "util": util}),
        "importlib.util": util,
        "inspect": memory_modules.Overlay(inspect, {"getsource": getsource, "getsourcelines": getsourcelines}),
        "unittest": memory_modules.Overlay(unittest, {"mock": mock}),
        "unittest.mock": mock,
    }


def hidden_attribute(hidden: memory_modules.HiddenModules, target: Any) -> Optional[tuple[Any, str]]:
    """The object and the attribute name for a dotted name like "module.Class.name"; None where no hidden module is
    meant."""
    parts = target.split(".") if isinstance(target, str) else []
    for end in range(len(parts) - 1, 0, -1):
        if hidden.has(".".join(parts[:end])):
            holder: Any = hidden.load(".".join(parts[:end]))
            for part in parts[end:-1]:
                holder = getattr(holder, part)
            return holder, parts[-1]
    return None
