"""Limits the time of one operation on the files of a workspace, and turns errors of the system into refusals.

Runs in the workspace process, in its main thread. Called by `workspace_server.py` and `played_program.py`.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import signal
from typing import Any

from .file_tree import Refusal

OP_SECONDS = 10.0  # of one operation: a pattern may never end, a directory may have a million entries


class OutOfTime(Exception):
    pass


def begin() -> None:
    """Before the first operation."""
    signal.signal(signal.SIGALRM, _too_long)


def _too_long(*_: object) -> None:
    raise OutOfTime


class Guard:
    """Limits the time of one operation on files, and turns errors of the system into refusals."""

    def __init__(self, path: str, seconds: float = OP_SECONDS) -> None:
        self.path, self.seconds = path, seconds

    def __enter__(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if isinstance(error, OutOfTime):
            raise Refusal(f"it took longer than {self.seconds:.0f} s") from None
        if isinstance(error, OSError):
            raise Refusal(f"{self.path}: {error.strerror or error}") from None
        if isinstance(error, UnicodeEncodeError):
            raise Refusal(f"{self.path!r} is no possible path") from None
