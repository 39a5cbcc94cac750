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
    """Loads a hidden source under whatever name the tests give it."""

    def __init__(self, known: memory_modules.Hidden, full: str) -> None:
        self._secrets, self._full = known, full

    def create_module(self, spec: Any) -> None: ...

    def exec_module(self, module: types.ModuleType) -> None:
        """While it runs, under a name that nobody guesses: what it imports may import the candidate."""
        name = module.__name__
        module.__name__ = f"{name}_{secrets.token_hex(8)}"
        try:
            self._secrets.fill(module, self._full)
        finally:
            module.__name__ = name


def stand_ins(known: memory_modules.Hidden, place: str) -> dict[str, types.ModuleType]:
    """By name. `place`: the absolute path of the directory that the hidden files seem to lie in."""
    files = {os.path.normpath(f"{place}/{path}"): full for full, (path, _) in known.sources.items()}

    def import_module(name: str, package: Optional[str] = None) -> Any:
        full = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        return known.load(full) if known.has(full) else importlib.import_module(name, package)

    def spec_from_file_location(name: str, location: Any = None, *rest: Any, **more: Any) -> Any:
        full = files.get(os.path.abspath(location)) if isinstance(location, (str, os.PathLike)) else None
        if full is None:
            return importlib.util.spec_from_file_location(name, location, *rest, **more)
        return importlib.util.spec_from_loader(name, _Loader(known, full), origin=str(location))  # type: ignore[arg-type]

    def patch(target: Any, *rest: Any, **more: Any) -> Any:
        found = holder(known, target)
        if found is None:
            return unittest.mock.patch(target, *rest, **more)
        return unittest.mock.patch.object(*found, *rest, **more)

    def getsourcelines(thing: Any) -> Any:
        """Where anybody could read meanwhile, nothing is laid for it: of a class there is none."""
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


def holder(known: memory_modules.Hidden, target: Any) -> Optional[tuple[Any, str]]:
    """What holds the attribute that a dotted name ends in, and its name; None where it begins with no hidden module."""
    parts = target.split(".") if isinstance(target, str) else []
    for end in range(len(parts) - 1, 0, -1):
        if known.has(".".join(parts[:end])):
            held: Any = known.load(".".join(parts[:end]))
            for part in parts[end:-1]:
                held = getattr(held, part)
            return held, parts[-1]
    return None
