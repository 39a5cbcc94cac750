"""The connection to a program that was forked from a warm parent: a socket pair, whose one end may be in another process than the parent's."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable, Sequence

from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import send_all, waiting

ENDING_SECONDS = 1.0  # between a program's end and the message about it
WITH_PARENT = "ended together with its warm parent"
"""How a launch ended whose warm parent was killed. In an isolated sandbox, no program inside can cause it; in another one, that of any worker."""


class LocalConnection:
    """A `Connection` over a socket pair.

    `end` ends the program and returns how it had ended before; its argument are the seconds in which a program that is ending may
    report how. `release` is called when the wire is closed: some programs end only then. `waited`: what the connection's returns.
    """

    def __init__(
        self,
        wire: socket.socket,
        end: Callable[[float], str],
        release: Callable[[], None] = lambda: None,
        waited: Callable[[], Sequence[Sample]] = tuple,
    ) -> None:
        wire.setblocking(False)
        self._wire = wire
        self._end = end
        self._release = release
        self._waited = waited
        self._how: str | None = None

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        send_all(self, data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        while True:
            try:
                return self._wire.send(data)
            except BlockingIOError:
                _await(self._wire, select.POLLOUT, deadline)
            except OSError as exc:
                if isinstance(exc, ConnectionError):
                    raise
                raise ConnectionError(f"the program is gone: {exc}") from exc

    def receive(self, size: int, deadline: float) -> bytes:
        while True:
            try:
                return self._wire.recv(size)
            except BlockingIOError:
                _await(self._wire, select.POLLIN, deadline)
            except OSError:  # reset, because it ended with unread bytes; or closed by `kill`
                return b""

    def waited(self) -> Sequence[Sample]:
        return self._waited() if self._how is None else ()

    def kill(self) -> str:
        if self._how is None:
            hung_up = select.poll()
            hung_up.register(self._wire, 0)
            try:
                self.end(ENDING_SECONDS if hung_up.poll(0) else 0.0)
            finally:
                self.release()
        return self._how or ""

    def end(self, grace: float) -> str:
        """The first half of `kill`, where another process has the wire: a program that is ending has `grace` seconds to report how."""
        self._how = self._end(grace)
        return self._how

    def release(self) -> None:
        """The second half of `kill`, after the other process has closed the wire."""
        self._wire.close()
        self._release()

    def hand_over(self, send: Callable[[int], object]) -> None:
        """Give the wire to another process; this one can only `end` and `release` the program then. `send` sends a descriptor."""
        send(self._wire.fileno())
        self._wire.close()


def _await(wire: socket.socket, event: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    if left <= 0 or not waiting.ready(wire, event, left):
        raise TimeoutError("the program did not answer in time")
