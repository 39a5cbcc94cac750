"""Answers the requests of a program that plays, as many as it has at the same time, and notices its end meanwhile.

One thread reads what comes from the workspace, and each answer that takes time has one that waits for it. They only report: everything
else happens in the thread that plays the episode.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pytest_recode.agents.door_requests import MARGIN, DoorAnswer, DoorRequest, DoorService, PendingAnswer
from pytest_recode.faults import Interrupt, SandboxError, Stopped
from pytest_recode.inside.wire import frames
from pytest_recode.sandboxes import Connection

NO_TIME = 1e9  # seconds
SLICE = 0.25
"""Seconds between two looks at the time that the program has."""
READ_SLICE = 1.0
"""Seconds between two looks at whether the workspace is still to be read from. After each, docker is asked whether it paused the container."""
_NOTHING = 0.01  # seconds
_FRAME = 64 << 20
_WORKSPACE = 0
"""The number of what the workspace reports; requests have those from 1 on."""


class DoorCalls:
    """What goes over the wire of a workspace while a program plays there. `margin`: seconds beyond its limit in which it must have ended."""

    def __init__(self, connection: Connection, service: DoorService, seconds: float, margin: float = MARGIN) -> None:
        self._connection = connection
        self._service = service
        self._margin = margin
        self._ends = time.monotonic() + seconds
        self._waiting_since: float | None = None  # since when all that the program waits for is not its own time
        self._reported: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._pending: dict[int, tuple[PendingAnswer, DoorAnswer]] = {}
        self._reader = _Reader(connection)
        self._stopped = False
        self._over = False  # nothing more may be sent: the workspace would take it for a request

    def played(self) -> Mapping[str, Any]:
        """Serve until the program has ended; returns what the workspace says of it.

        Raises what the service raises, `TimeoutError` and `EOFError` if the workspace is broken. Then its connection is to be closed.
        """
        reading = threading.Thread(target=self._read, daemon=True)
        reading.start()
        try:
            while True:
                self._keep_time()
                try:
                    number, report = self._reported.get(timeout=SLICE)
                except queue.Empty:
                    continue
                if number != _WORKSPACE:
                    self._go_on(number, report)
                elif isinstance(report, BaseException):
                    raise report
                elif "asks" in report:
                    self._ask(report)
                elif "left" in report:
                    self._leave(_number(report["left"]))
                elif "over" in report:
                    self._leave_all()
                    self._send({"over": True})
                    self._over = True
                else:
                    return report  # type: ignore[no-any-return]
        finally:
            self._reader.left = True
            try:
                self._leave_all()
            finally:
                reading.join()

    def _ask(self, report: Mapping[str, Any]) -> None:
        number = _number(report["asks"])
        answer = DoorAnswer(connection=self._connection, number=number)
        try:
            pending = self._service.serve(_request(report), answer)
        except Stopped:
            if not self._pending:
                raise
            return  # answers that are paid for are awaited first; the last of them raises it
        if pending is None:
            answer.end()
            return
        self._pending[number] = pending, answer
        threading.Thread(target=self._hear, args=[number, pending], daemon=True).start()

    def _go_on(self, number: int, event: object) -> None:
        if number not in self._pending:
            return  # nobody waits for it any more
        pending, answer = self._pending[number]
        try:
            complete = pending.take(event)
        except BaseException:
            del self._pending[number]
            raise
        if complete:
            del self._pending[number]
            answer.end()

    def _leave(self, number: int) -> None:
        if number in self._pending:
            pending, _ = self._pending.pop(number)
            pending.leave()

    def _leave_all(self) -> None:
        """Raises what ends the episode or the run: that has ended the calls, too."""
        cause: BaseException | None = None
        for each in tuple(self._pending):
            try:
                self._leave(each)
            except (Stopped, Interrupt) as error:
                cause = error
        if cause is not None:
            raise cause

    def _keep_time(self) -> None:
        """Give the program the time that it waits for what is not its own; end it if the service says so."""
        now = time.monotonic()
        if self._waiting_since is not None:
            self._grant(now - self._waiting_since)
        waits = bool(self._pending) and all(pending.waits for pending, _ in self._pending.values())
        self._waiting_since = now if waits else None
        if self._service.over and not self._stopped:
            self._stopped = True
            self._grant(-NO_TIME)
            self._ends = now
        if now > self._ends + self._margin:
            raise TimeoutError

    def _grant(self, seconds: float) -> None:
        if abs(seconds) > _NOTHING and not self._over:
            self._ends += seconds
            self._send({"seconds": seconds})

    def _send(self, message: Mapping[str, Any]) -> None:
        frames.send_message(self._connection, dict(message), time.monotonic() + MARGIN)

    def _read(self) -> None:
        try:
            while True:
                message = frames.receive_message(self._reader, _FRAME, 0.0)
                self._reported.put((_WORKSPACE, message))
                if not message.keys() & {"asks", "left", "over"}:
                    return
        except BaseException as error:  # noqa: BLE001  raised in the thread that plays
            self._reported.put((_WORKSPACE, error))

    def _hear(self, number: int, pending: PendingAnswer) -> None:
        for event in pending.events():
            self._reported.put((number, event))


class _Reader:
    """Reads from a connection until it is `left`: nothing may read there when it is closed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.send = connection.send
        self.left = False

    def receive(self, size: int, _: float) -> bytes:
        while not self.left:
            with suppress(TimeoutError):
                return self._connection.receive(size, time.monotonic() + READ_SLICE)
        return b""


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise SandboxError(f"the workspace answered with {type(value).__name__} where int was due")
    return value


def _request(frame: Mapping[str, Any]) -> DoorRequest:
    headers, method, path, body = (frame.get(name) for name in ("headers", "method", "path", "body"))
    if not (
        isinstance(headers, dict) and isinstance(method, str) and isinstance(path, str) and isinstance(body, bytes)
    ):
        raise SandboxError("the workspace sent a request of an unknown form")
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    return DoorRequest(method=method, path=path, headers=lower, body=body)
