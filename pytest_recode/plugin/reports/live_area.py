"""Lines below pytest's output that are drawn again and again, and never get in its way.

The lines are drawn below the cursor, which then returns to where pytest left it. pytest writes through `SharedOutput`, which first
erases everything below the cursor. So no text of pytest is moved or overwritten, also in the middle of a line.

Used in the process that has the terminal; its thread draws, and pytest's own thread writes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, TextIO

_ERASE_BELOW = "\x1b[J"
_DOWN_AND_SCROLL = "\x1bD"
_SAVE, _RESTORE = "\x1b7", "\x1b8"


class LiveArea:
    """The terminal of `stream`. It keeps a descriptor of its own, because pytest captures what is written to the stream's while a test runs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = os.dup(stream.fileno())
        self._lock = threading.RLock()  # a signal handler may write while its thread does
        self._drawn = False
        self._closed = False

    @property
    def size(self) -> os.terminal_size:
        return os.get_terminal_size(self._terminal)

    def draw(self, lines: Sequence[str]) -> None:
        """Show `lines`, which must fit the terminal: each on one row, and fewer than its rows."""
        with self._lock:
            if self._closed:
                return
            below = "".join(f"\r\n{line}" for line in lines)
            room = _DOWN_AND_SCROLL * len(lines) + f"\x1b[{len(lines)}A"
            self._put(f"{_ERASE_BELOW}{room}{_SAVE}{below}{_RESTORE}")
            self._drawn = True

    def erase(self) -> None:
        with self._lock:
            if self._drawn:
                self._put(_ERASE_BELOW)
                self._drawn = False

    def close(self) -> None:
        """Erase the lines; draw nothing any more."""
        with self._lock:
            if not self._closed:
                self.erase()
                self._closed = True
                os.close(self._terminal)

    def write(self, text: str) -> int:
        """Write pytest's text in the place of the lines."""
        with self._lock:
            self.erase()
            written = self._stream.write(text)
            self._stream.flush()  # or the text would come behind the next lines
            return written

    def _put(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self._terminal, data) :]


class SharedOutput:
    """The stream of a `LiveArea`, for everybody else who writes to the terminal."""

    def __init__(self, stream: TextIO, area: LiveArea) -> None:
        self._stream = stream
        self._area = area

    def write(self, text: str) -> int:
        return self._area.write(text)

    def writelines(self, lines: Sequence[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
