"""Names in modules whose functions, classes and modules a test has received: it need not ask for them again until they change.

Runs in the candidate process. Called by `server.py`. Must not be trusted, as nothing in this process: a wrong answer here only
makes the test call what it has called before.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_NOTHING = object()


class ShownNames:
    """The names that the test of the running case has received, with what they were bound to."""

    def __init__(self) -> None:
        self._shown: list[tuple[str, ModuleType, str, Any]] = []

    def clear(self) -> None:
        self._shown.clear()

    def add(self, module_name: str, name: str, value: Any) -> bool:
        """Note that the test receives `value` for a name in a module. Returns whether it may keep it.

        It may not where asking again may give something else although no name was bound again: `__getattr__`, or a class of modules.
        """
        module = sys.modules.get(module_name)
        if type(module) is not ModuleType or not (callable(value) or isinstance(value, ModuleType)):
            return False
        if vars(module).get(name, _NOTHING) is not value:
            return False
        self._shown.append((module_name, module, name, value))
        return True

    def changed(self) -> bool:
        """Whether one of the names is bound to something else by now: then the test must ask for all of them again."""
        return any(
            sys.modules.get(module_name) is not module or vars(module).get(name, _NOTHING) is not value
            for module_name, module, name, value in self._shown
        )
