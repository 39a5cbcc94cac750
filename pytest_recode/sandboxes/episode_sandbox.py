"""The part of a sandbox that one of several episodes uses which share it: to end its programs ends no others'.

Its waits end every `SLICE` seconds to look whether the episode has to end, because no signal reaches the thread of such an episode.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import Connection, Program, Sandbox, send_all
from pytest_recode.task import Environment, Limits

SLICE = 0.25
"""Seconds after which a wait looks whether its episode has to end."""

_Result = TypeVar("_Result")


class EpisodeSandbox:
    """A `Sandbox`. `check` raises what ends the episode."""

    def __init__(self, shared: Sandbox, check: Callable[[], None]) -> None:
        self._shared = shared
        self._check = check
        self._connections: set[EpisodeConnection] = set()
        self.name = shared.name
        self.isolation = shared.isolation
        self.host = shared.host
        self.memory_limit = shared.memory_limit

    def ready(self, environment: Environment) -> None:
        self._check()
        self._shared.ready(environment)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        self._check()
        connection = EpisodeConnection(
            self._shared.launch(program, environment, limits), self._check, self._connections.discard
        )
        self._connections.add(connection)
        return connection

    def close(self) -> None:
        """End the programs of this episode. Warm parents belong to the sandbox that the episodes share."""
        for connection in list(self._connections):
            connection.kill()


class EpisodeConnection:
    """A `Connection` of one episode. `killed` is called with it when it has ended."""

    def __init__(
        self, shared: Connection, check: Callable[[], None], killed: Callable[[EpisodeConnection], None]
    ) -> None:
        self._shared = shared
        self._check = check
        self._killed = killed

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        send_all(self, data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        return self._sliced(lambda until: self._shared.write(data, until), deadline)

    def receive(self, size: int, deadline: float) -> bytes:
        return self._sliced(lambda until: self._shared.receive(size, until), deadline)

    def waited(self) -> Sequence[Sample]:
        return self._shared.waited()

    def kill(self) -> str:
        try:
            return self._shared.kill()
        finally:
            self._killed(self)

    def _sliced(self, wait: Callable[[float], _Result], deadline: float) -> _Result:
        while True:
            self._check()
            until = min(deadline, time.monotonic() + SLICE)
            try:
                return wait(until)
            except TimeoutError:
                if until >= deadline:
                    raise
