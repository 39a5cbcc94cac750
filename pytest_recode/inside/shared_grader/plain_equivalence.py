"""`assert_equivalent` for an actual value that is an object in the same process.

Runs in the shared judge, in one process with the candidate. Called by hidden tests. Must not let a method of
the candidate's value decide a comparison: the value is encoded to plain data first.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

from typing import Any

from ..grading import equivalence
from ..wire import codec


def assert_equivalent(actual: Any, expected: Any, **how: Any) -> None:
    """As in separate judging. `actual` is encoded and decoded as plain data, so that none of its own methods is called."""
    __tracebackhide__ = True
    try:
        header, buffers = codec.dump(actual, lambda value: [f"{type(value).__module__}.{type(value).__qualname__}"])
        plain = codec.parse(header, b"".join(buffers), lambda names: _OpaquePart(names[0]))
    except codec.WireError as error:
        raise equivalence.Mismatch("protocol", f"result cannot be compared: {error}") from None
    equivalence.assert_equivalent(plain, expected, **how)


class _OpaquePart:
    _recode_opaque = True

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"an object of {self._name}"
