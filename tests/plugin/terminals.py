"""A session of pytest or of a shell in a pseudo-terminal, for tests of what a person reads and types there."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


class Terminal:
    """A command in a terminal, and the person in front of it. `piped`: standard output goes nowhere, and only errors are seen.

    `variables`: of its environment, in addition.
    """

    def __init__(
        self,
        cwd: Path,
        *args: str,
        command: Sequence[str] = PYTEST,
        width: int = 120,
        piped: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._end, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, width))
        self.process = subprocess.Popen(
            [*command, *args],
            cwd=cwd,
            env={key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
            | {"PYTHONPATH": str(cwd), "TERM": "dumb", **(variables or {})},
            stdin=theirs,
            stdout=subprocess.DEVNULL if piped else theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: _control(theirs),
        )
        os.close(theirs)
        self.seen = ""
        self._read = 0

    def until(self, text: str) -> str:
        """What came up to and with `text`."""
        while text not in self.seen[self._read :]:
            assert self._more(), self.seen
        start, self._read = self._read, self.seen.index(text, self._read) + len(text)
        return self.seen[start : self._read]

    def type(self, text: str) -> None:
        os.write(self._end, text.encode())

    def ctrl_c(self) -> None:
        """And a key behind it: a signal that comes just before the line editor waits is seen after the next line only."""
        self.type("\x03\n")

    def end(self) -> int:
        while self._more():
            pass
        os.close(self._end)
        return self.process.wait(60)

    def _more(self) -> bool:
        ready, _, _ = select.select([self._end], [], [], 60)
        assert ready, self.seen
        try:
            data = os.read(self._end, 4096)
        except OSError:  # the other side is closed
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


def _control(theirs: int) -> None:
    """Make it the session's terminal, so that Ctrl-C typed there is a signal."""
    import fcntl

    fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)


@contextmanager
def terminal(cwd: Path, *args: str, **more: Any) -> Iterator[Terminal]:
    """`more`: for `Terminal`."""
    started = Terminal(cwd, *args, **more)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            os.killpg(started.process.pid, signal.SIGKILL)
            started.process.wait()
