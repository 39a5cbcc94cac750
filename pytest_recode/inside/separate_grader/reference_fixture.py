"""The `reference` fixture: the authors' modules, accessed in the same way as the candidate's.

Runs in the grader process. Called by hidden tests and by `main.py`. Must not blame the candidate for a reference that
cannot be imported: that is a `TestFault`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any

from . import handles


class Reference:
    """The `reference` fixture: its attributes are the authors' own modules."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _reach_submodules(importlib.import_module(name))
        except Exception as error:  # whatever an import does, the candidate has no part in it
            raise handles.TestFault(
                f"the reference's module {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error


def reach_interface(name: str) -> None:
    """Import the module that an interface of the reference's is in, or is."""
    parts = name.split(".")
    if importlib.util.find_spec(parts[0]) is None:
        return  # none of the reference's: a test that needs it says so
    module = getattr(Reference(), parts[0])
    for part in parts[1:]:
        try:
            module = getattr(module, part, None)
        except Exception as error:  # as above
            raise handles.TestFault(
                f"the reference's {name} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(module, types.ModuleType):
            return


def lacking(error: BaseException | None) -> str:
    """The module that was not found, where that is what an import failed by; "" otherwise."""
    for _ in range(10):
        if isinstance(error, ModuleNotFoundError):
            return (error.name or "")[:100]
        error = error.__cause__ if error is not None else None
    return ""


def _reach_submodules(module: Any) -> Any:
    """Make `reference.package.module` work without an import in between, as it does for the candidate (PEP 562)."""

    def reach(name: str) -> Any:
        full = f"{module.__name__}.{name}"
        if not name.startswith("__") and importlib.util.find_spec(full) is not None:
            return _reach_submodules(importlib.import_module(full))
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    if hasattr(module, "__path__") and "__getattr__" not in vars(module):
        module.__getattr__ = reach
    for name, below in list(sys.modules.items()):
        if name.startswith(f"{module.__name__}.") and "__getattr__" not in vars(below) and hasattr(below, "__path__"):
            _reach_submodules(below)  # a package that this one imported by itself
    return module
