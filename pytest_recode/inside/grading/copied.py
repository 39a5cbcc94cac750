"""A copy of plain data that is made as the way between two processes makes it: `copy_as_sent`.

Runs in the graders' processes. Called by hidden tests, by way of `pytest_recode.testing`. Must not call a method of a candidate's value.

Stdlib, and numpy for its arrays, Python 3.9+.
"""

from __future__ import annotations

from typing import Any

from ..wire import codec

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows


def copy_as_sent(value: Any) -> Any:
    """A copy of plain data, encoded and decoded as it is for another process, so that it takes the same share of time for each form of data.

    Raises TypeError for what is no plain data, such as an object or an iterator that stays with the candidate: no code of the candidate's runs when
    the copy is read.
    """
    try:
        header, body = codec.dump(value)
        return codec.parse(header, bytearray().join(body))
    except codec.WireError as error:
        raise TypeError(f"no plain data: {error}") from None
