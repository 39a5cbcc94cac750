"""The host's side of the door: the requests of a program that plays inside the workspace's sandbox (`inside/workspace/door.py`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.inside.wire import frames
from pytest_recode.sandboxes import Connection
from pytest_recode.task import Files

NO_TIME = 1e9  # seconds
MARGIN = 60.0
"""Seconds beyond its own limits that a workspace may take to answer; it bounds itself, so past this it is broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPlace:
    """Absolute paths in the sandbox of the workspace's root, of the home directory and of what the sandbox shows of this machine; and the port
    of the door on 127.0.0.1."""

    work: str
    home: str
    port: int
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """A program that plays one turn: its command line, what its environment has beside the sandbox's own, the files that are written
    into the home directory before, the path of the one that is its standard input, and its seconds."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    files: Files = field(repr=False)
    entered: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorRequest:
    """An HTTP request of the program. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(slots=True, kw_only=True)
class DoorAnswer:
    """The HTTP answer to one request, sent part by part."""

    connection: Connection
    number: int
    begun: bool = False
    granted: float = 0.0

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        self._send({"status": status, "headers": dict(headers)})

    def send(self, data: bytes) -> None:
        self._send({"data": data})

    def grant(self, seconds: float) -> None:
        """Give the program so many seconds more: it has waited for what is not its own time."""
        self.granted += seconds
        frames.send_message(self.connection, {"seconds": seconds}, time.monotonic() + MARGIN)

    def stop(self) -> None:
        """End the program, as if its time were up."""
        self.grant(-NO_TIME)

    def end(self) -> float:
        """End the answer; returns the seconds that were granted."""
        self._send({"ended": True})
        return max(self.granted, 0.0)

    def _send(self, part: Mapping[str, Any]) -> None:
        frames.send_message(self.connection, {"answers": self.number, **part}, time.monotonic() + MARGIN)


Serve = Callable[[DoorRequest, DoorAnswer], None]
"""Answers one request. What it raises ends the program."""
