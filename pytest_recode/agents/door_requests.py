"""The host's side of the door: the requests of a program that plays inside the workspace's sandbox (`inside/workspace/door.py`)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pytest_recode.inside.wire import frames
from pytest_recode.sandboxes import Connection
from pytest_recode.task import Files

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
    into the home directory before, the path of the one that is its standard input, and its seconds.

    `stays`: "" for a program of one turn; else its standard input is the socket of `runtime/command_runner.StayingCommand`, and it stays
    stopped after the turn ("stays"), unless that is its last ("last"). Without `argv`, the program that stayed plays.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    files: Files = field(repr=False)
    entered: str
    seconds: float
    stays: Literal["", "stays", "last"] = ""


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

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun = True
        self._send({"status": status, "headers": dict(headers)})

    def send(self, data: bytes) -> None:
        self._send({"data": data})

    def end(self) -> None:
        self._send({"ended": True})

    def _send(self, part: Mapping[str, Any]) -> None:
        frames.send_message(self.connection, {"answers": self.number, **part}, time.monotonic() + MARGIN)


class PendingAnswer(Protocol):
    """A request whose answer takes time. A thread of its own iterates over `events`; the rest is called where the program is played."""

    @property
    def waits(self) -> bool:
        """Whether the program waits for what is not its own time."""

    def events(self) -> Iterator[object]:
        """What happens, to the end. Raises nothing."""

    def take(self, event: object) -> bool:
        """Answer what there is to answer; whether that was all. What it raises ends the program."""

    def leave(self) -> None:
        """Nobody waits for the answer any more."""


class DoorService(Protocol):
    """Answers the requests of a program."""

    @property
    def over(self) -> bool:
        """Whether the program must end, as if its time were up."""

    def serve(self, request: DoorRequest, answer: DoorAnswer) -> PendingAnswer | None:
        """Answer a request, or begin to. What it raises ends the program."""
