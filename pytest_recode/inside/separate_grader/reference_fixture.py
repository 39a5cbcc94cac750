"""The `reference` fixture: the authors' modules, accessed in the same way as the candidate's.

Runs in the grader process. Called by hidden tests and by `main.py`. Must not blame the candidate for a reference that
cannot be imported: that is a `TestFault`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
import types
from collections.abc import Iterable
from typing import Any

from . import handles


class ReferenceModules:
    """The `reference` fixture: its attributes are the authors' own modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _import_submodules_on_access(importlib.import_module(name))
        except Exception as error:  # the candidate is never the cause of what this import raises
            raise handles.TestFault(
                f"the reference's module {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error


def import_interface(name: str) -> None:
    """Import the module of the reference that contains an interface, or is one."""
    parts = name.split(".")
    if importlib.util.find_spec(parts[0]) is None:
        return  # not a module of the reference: a test that needs it will fail
    module = getattr(ReferenceModules(), parts[0])
    for part in parts[1:]:
        try:
            module = getattr(module, part, None)
        except Exception as error:  # as in `ReferenceModules`
            raise handles.TestFault(
                f"the reference's {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(module, types.ModuleType):
            return


def import_problem(interfaces: Iterable[str]) -> str:
    """Import the modules of the interfaces. Returns why one cannot be imported, with the lines of its files that lead there, or ""."""
    try:
        for interface in interfaces:
            import_interface(interface)
    except handles.TestFault as fault:
        if fault.__cause__ is None:
            return str(fault)
        cause = traceback.TracebackException.from_exception(fault.__cause__)
        own = [frame for frame in cause.stack if frame.filename.startswith(os.getcwd() + os.sep)]
        cause.stack = traceback.StackSummary.from_list(own)
        return "\n".join([str(fault), "".join(cause.format(chain=False)).rstrip()])
    return ""


def missing_module(error: BaseException | None) -> str:
    """The module that was not found, if an import failed for that reason; "" otherwise."""
    for _ in range(10):
        if isinstance(error, ModuleNotFoundError):
            return (error.name or "")[:100]
        error = error.__cause__ if error is not None else None
    return ""


def _import_submodules_on_access(module: Any) -> Any:
    """Make `reference.package.module` work without an import in between, as it does for the candidate (PEP 562)."""

    def import_submodule(name: str) -> Any:
        full = f"{module.__name__}.{name}"
        if not name.startswith("__") and importlib.util.find_spec(full) is not None:
            return _import_submodules_on_access(importlib.import_module(full))
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    if hasattr(module, "__path__") and "__getattr__" not in vars(module):
        module.__getattr__ = import_submodule
    for name, below in list(sys.modules.items()):
        if name.startswith(f"{module.__name__}.") and "__getattr__" not in vars(below) and hasattr(below, "__path__"):
            _import_submodules_on_access(below)  # a package that this one has imported
    return module
