"""Formats the arguments in long tracebacks before the tests' sources become readable.

Runs in the shared judge, in one process with the candidate. Called after a case has failed. Must not call a
candidate's `__repr__` while the tests' sources can be read: pytest would do both at once, so the texts are made
first.

Stdlib and pytest, Python 3.9+.
"""

from __future__ import annotations

import re
from typing import Any, Optional

try:  # pytest has no public way to do this
    from _pytest._code import code as _private
    from _pytest._io.saferepr import saferepr as _saferepr

    _getargs = _private.Frame.getargs
except (ImportError, AttributeError):
    _private = None  # type: ignore[assignment]

STYLE = "short" if _private is None else "long"
"""The style of tracebacks. "short" has no arguments, for versions of pytest with other private parts."""
_ADDRESS = re.compile(r"0x[0-9a-f]{8,}", re.IGNORECASE)  # numpy writes capitals
"""Addresses differ in every grading."""
_MAX_FRAMES = 200
_texts: dict[int, list[tuple[str, Any]]] = {}


class _Text:
    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def prepare(error: Optional[BaseException]) -> None:
    """Format the arguments of every function in the tracebacks of the exception, its causes and contexts."""
    _texts.clear()
    if _private is None:
        return
    pending, seen = [error], set()
    while pending and len(_texts) < _MAX_FRAMES:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        pending += [current.__cause__, current.__context__]
        tb = current.__traceback__
        while tb is not None and len(_texts) < _MAX_FRAMES:
            frame = tb.tb_frame
            if id(frame) not in _texts:
                _texts[id(frame)] = [
                    (name, _Text(_text(value))) for name, value in _getargs(_private.Frame(frame), var=True)
                ]
            tb = tb.tb_next


def _text(value: Any) -> str:
    try:
        return _ADDRESS.sub("…", str.__str__(_saferepr(value)))
    except BaseException:  # noqa: BLE001  a candidate's class may raise anything here
        return "…"


def _prepared_arguments(self: Any, var: bool = False) -> list[tuple[str, Any]]:
    """Replaces `Frame.getargs` of pytest: no method of a value is called."""
    return _texts.get(id(self.raw), [])


if _private is not None:
    _private.Frame.getargs = _prepared_arguments  # type: ignore[method-assign]
