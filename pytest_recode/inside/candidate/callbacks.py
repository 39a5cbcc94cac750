"""Functions of the test as the code under test sees them, and the exceptions that they raise.

Runs in the candidate process. Made by `candidate_server.py`, called by the code under test. Must not tell more of the test than
the name of a function and the type of an exception.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
from typing import Any, Protocol


class Server(Protocol):
    """The part of `candidate_server.py` that calls the test."""

    def callback(self, number: int, args: Any, kwargs: Any) -> Any: ...


class Callback:
    """A function of the test, as the code under test sees it."""

    def __init__(self, server: Server, number: int, name: str | None) -> None:
        self._server = server
        self._number = number
        if name is not None:
            self.__name__ = self.__qualname__ = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._server.callback(self._number, args, kwargs)

    def __copy__(self) -> Callback:
        return self  # as for every function

    def __deepcopy__(self, _: Any) -> Callback:
        return self


def error(request: dict[str, Any]) -> Any:
    """An exception of the same builtin types as the test's function raised. The message stays with the test."""
    bases = tuple(getattr(builtins, name) for name in request["bases"])
    kind: Any = type(request["type"], bases, {"__str__": lambda _: "raised by a function of the test"})
    try:
        instance = kind.__new__(kind)
    except TypeError:  # a group: its exceptions stay with the test, as its message
        instance = kind.__new__(kind, "", [Exception("raised by a function of the test")])
    instance._recode_callback = request["number"]
    return instance
