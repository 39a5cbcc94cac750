"""Reports workers and the gateway while they are stopped (SIGSTOP, Ctrl-Z, a debugger), and continues them when the run stops.

Runs in the controlling process, in a thread of its own. A stopped process neither answers nor ends, and whoever waits for it cannot know why.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

INTERVAL = 2.0
"""Seconds between two looks."""


class StoppedProcesses:
    """`notify` shows a line to the user. Processes are watched from `add` until they end."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._watched: dict[str, Callable[[], int]] = {}  # the pid of each process, by what it is
        self._started: dict[int, str] = {}  # when each process started, because the system uses pids again
        self._seen: set[int] = (
            set()
        )  # stopped in the last look: a whole terminal that was stopped continues in any order
        self._reported: set[int] = set()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="recode-stopped", daemon=True)
        self._thread.start()

    def add(self, what: str, pid: Callable[[], int]) -> None:
        """Watch a process. `pid` may change: a gateway that dies is started again."""
        self._watched[what] = pid
        self._started.setdefault(pid(), _facts(pid())[1])

    def resume(self) -> None:
        """The run stops: let stopped processes end in order. Signal handlers may call it."""
        for pid in self._stopped().values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(INTERVAL):
            stopped = self._stopped()
            for what, pid in stopped.items():
                if pid in self._seen - self._reported:
                    self._reported.add(pid)
                    self._notify(f"{what} (process {pid}) is stopped: the run waits for it until `kill -CONT {pid}`")
            self._seen = set(stopped.values())
            self._reported &= self._seen

    def _stopped(self) -> dict[str, int]:
        pids = {what: pid() for what, pid in tuple(self._watched.items())}
        return {what: pid for what, pid in pids.items() if self._is_stopped(pid)}

    def _is_stopped(self, pid: int) -> bool:
        state, start = _facts(pid)
        return state in ("T", "t") and start == self._started.setdefault(pid, start)


def _facts(pid: int) -> tuple[str, str]:
    """The state of a process as in `ps`, and when it started; two empty texts if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return "", ""
    return fields[0], fields[19]
