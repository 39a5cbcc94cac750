"""One Docker container: its creation, and the connection to the program in it. Runs on the host."""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.inside.runtime.monitor import ASKED
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import send_all, waiting
from pytest_recode.sandboxes.addresses import on
from pytest_recode.sandboxes.container_config import ContainerKind, config
from pytest_recode.sandboxes.daemon import API_SECONDS, answering, client, connected, now
from pytest_recode.sandboxes.shipping import boot_message, limits_message
from pytest_recode.sandboxes.warm import WAITED_SECONDS, WARM_SECONDS
from pytest_recode.task import Limits

_DRAIN_SECONDS = 0.5
_READ = 1 << 20
_LINE = 1 << 16  # longest line of the report
_EVENT_SECONDS = 5  # how long a daemon may take to notice the end of a container
_LOOK_SECONDS = 10  # between two checks whether a container is paused while it loads
_GLANCE = 0.1  # seconds; a shorter wait is only a poll
_KILLED = "137"  # the exit code after SIGKILL


class ContainerGone(Exception):
    """A container ended before its program started."""


class Container:
    """A `Connection` over the stream that Docker attaches: standard output carries the data, standard error the report."""

    def __init__(self, kind: ContainerKind, run: str, address: str = "") -> None:
        """Start the container without waiting for its imports. Raises `UserError` for an image without Python, and `SandboxError`."""
        import docker.errors

        self._address = address  # of the daemon
        self._image = kind.image_name
        self._how: str | None = None
        self._raw = b""  # received, not yet taken
        self._at = 0  # offset of the first byte not taken
        self._left = 0  # bytes left of the current frame
        self._wire = False  # whether the current frame is of standard output
        self._line = b""
        self._status: dict[str, Any] = {}
        self.id = ""
        self.then: Callable[[], None] | None = None  # called once, after the container's end
        self._started = False
        self._socket: socket.socket | None = None
        self._response: Any = None  # the HTTP response that owns the socket
        self._over = False  # whether the stream has ended
        # Otherwise the first process is the program, which may end without a report
        self._reports = not kind.key.persistent
        self._begun = False
        with answering(address):
            self._docker = client(address)
        try:
            with answering(address):
                self._create(kind, run)
        except BaseException as exc:
            with suppress(SandboxError):  # the original error is more useful
                self.kill()
            if not isinstance(exc, docker.errors.APIError | TimeoutError):
                raise
            reason = " ".join(str(getattr(exc, "explanation", None) or exc).split())
            if "python3" in reason and "not found" in reason:
                raise UserError(f"image {self._image} has no python3; name an image with Python 3.9 or newer") from exc
            raise SandboxError(
                f"docker{on(self._address)} could not start a container of {self._image}: {reason}"
            ) from exc

    def _create(self, kind: ContainerKind, run: str) -> None:
        self.id = self._docker.create_container_from_config(config(self._docker, kind, run))["Id"]
        # The SDK returns a reader; take the connection itself
        attached = self._docker.attach_socket(self.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._response = getattr(attached, "_response", None)
        self._socket = getattr(attached, "_sock", attached)
        self._socket.setblocking(False)
        self._docker.start(self.id)
        self._started = True
        limits = Limits(memory_mb=kind.memory_mb, disk_mb=kind.disk_mb, pids=kind.pids)
        setup = {"limits": limits_message(limits, persistent=kind.key.persistent), "work": kind.work}
        with suppress(ConnectionError):  # `begin` reports the error
            self.send(boot_message("container_init", kind.key, setup), time.monotonic() + API_SECONDS)

    def begin(self) -> None:
        """Wait for the imports, then start the program.

        Raises `UserError` if an import fails, `ContainerGone`, and `SandboxError`.
        """
        deadline = time.monotonic() + WARM_SECONDS
        while not self._status:
            try:
                with self._unless_paused():
                    more = self._more(min(deadline, time.monotonic() + _LOOK_SECONDS))
            except TimeoutError:
                if time.monotonic() < deadline:
                    continue
                raise SandboxError(
                    f"a container of {self._image}{on(self._address)} did not import the modules to preload within {WARM_SECONDS:.0f} s"
                ) from None
            if not more:
                raise ContainerGone(self._line.decode("utf-8", "replace") or "it wrote no message")
        if "fault" in self._status:
            raise UserError(
                f"image {self._image} cannot import {self._status['module']!r}, a module to preload "
                f"({self._status['fault']}): add it to the image, or to the requirements of the task's environment"
            )
        self._status.clear()
        try:
            self.send(b"G", time.monotonic() + API_SECONDS)
        except ConnectionError as exc:
            raise ContainerGone(str(exc)) from exc
        self._begun = True

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        send_all(self, data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        if self._socket is None:
            raise ConnectionError("the program is gone")
        while True:
            try:
                return self._socket.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                with self._unless_paused():
                    _await(self._socket, select.POLLOUT, deadline)
            except ConnectionError:
                raise
            except OSError as exc:
                raise ConnectionError(f"the program is gone: {exc}") from exc

    def receive(self, size: int, deadline: float) -> bytes:
        while True:
            if self._wire and self._left and self._at < len(self._raw):
                return self._take(size)
            with self._unless_paused():
                more = self._more(deadline)
            if not more:
                return b""

    def waited(self) -> Sequence[Sample]:
        import docker.errors

        self._status.pop("waited", None)
        asked = time.monotonic()
        deadline = asked + WAITED_SECONDS
        try:
            with answering(self._address):
                self._docker.kill(self.id, ASKED.name)
            while "waited" not in self._status and self._more(deadline):
                if self._wire:  # an answer of the program's, at last
                    return ()
        except (docker.errors.APIError, TimeoutError):
            return ()
        samples = [Sample(*values) for values in self._status.get("waited", ())]
        if not samples or asked <= samples[-1].at <= time.monotonic():
            return samples
        ahead = samples[-1].at - asked  # of the clock of another machine, at most
        return [sample._replace(at=sample.at - ahead) for sample in samples]

    @contextmanager
    def _unless_paused(self) -> Iterator[None]:
        """Raise `SandboxError` instead of `TimeoutError` if the container was paused, which is not the program's fault."""
        start = time.monotonic()
        try:
            yield
        except TimeoutError:
            if time.monotonic() - start > _GLANCE and self._paused():
                raise SandboxError(
                    f"docker container {self.id[:12]} of {self._image}{on(self._address)} was paused while its program ran:"
                    " find out what pauses containers there, then run this again"
                ) from None
            raise

    def _paused(self) -> bool:
        """Whether the container is paused, or was paused while its program ran."""
        import docker.errors

        filters = {"container": self.id, "event": "pause"}
        with answering(self._address):
            try:
                if self._docker.inspect_container(self.id)["State"]["Paused"]:
                    return True
            except docker.errors.NotFound:
                return False
            until = f"{now(self._docker):.6f}"  # without `until`, the daemon would wait for new events
            events = self._docker.events(since=1, until=until, filters=filters, decode=True)
            try:
                return next(iter(events), None) is not None
            finally:
                events.close()

    def kill(self) -> str:
        if self._how is None:
            limit = time.monotonic() + _DRAIN_SECONDS
            with suppress(TimeoutError):  # no more data: the program is running
                while "how" not in self._status and time.monotonic() < limit and self._more(time.monotonic()):
                    if self._wire:
                        self._take(_READ)
            self._how = str(self._status.get("how", ""))
            if self._socket is not None:
                if self._response is not None:
                    self._response.close()  # otherwise Python 3.13 warns when it is garbage-collected
                self._socket.close()
                self._socket = None
            try:
                if self._begun and self._over and self._reports and "how" not in self._status:
                    self._account()
            finally:
                self._finish()
        return self._how

    def _take(self, size: int) -> bytes:
        start = self._at
        self._at += min(size, self._left, len(self._raw) - start)
        self._left -= self._at - start
        return self._raw[start : self._at]

    def _more(self, deadline: float) -> bool:
        """Read until there is data of the program or another piece of the report. False at the end of the stream."""
        while True:
            here = len(self._raw) - self._at
            if self._left == 0 and here >= 8:
                self._wire = self._raw[self._at] == 1
                self._left = int.from_bytes(self._raw[self._at + 4 : self._at + 8], "big")
                self._at += 8
                continue
            if self._left and here:
                if not self._wire:
                    self._read_status(self._take(_READ))
                return True
            if self._socket is None:
                return False
            try:
                data = self._socket.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError):  # the latter from a daemon behind TLS
                _await(self._socket, select.POLLIN, deadline)
                continue
            except OSError:
                data = b""
            if not data:
                self._over = True
                return False
            self._raw, self._at = self._raw[self._at :] + data, 0

    def _read_status(self, data: bytes) -> None:
        *lines, self._line = (self._line + data)[-_LINE:].split(b"\n")
        for line in lines:
            with suppress(ValueError):  # output of the interpreter itself if it could not start
                self._status.update(json.loads(line))

    def _end(self) -> None:
        """Kill the container. No process of it runs when this returns; the daemon then removes it."""
        import docker.errors

        try:
            with answering(self._address):
                if self._started:
                    self._docker.kill(self.id)
                elif self.id:
                    self._docker.remove_container(self.id, force=True, v=True)
        except docker.errors.APIError as exc:
            if exc.status_code == 409 and "paused" in str(
                exc.explanation
            ):  # some daemons refuse to kill paused containers
                self._docker.remove_container(self.id, force=True, v=True)
            elif exc.status_code not in (404, 409):  # it has already ended
                raise SandboxError(
                    f"docker{on(self._address)} could not end container {self.id[:12]}: {exc.explanation}"
                ) from exc

    def _finish(self) -> None:
        try:
            self._end()
        finally:
            self._docker.close()
            if self.then is not None:
                self.then()

    def _account(self) -> None:
        """Raise `SandboxError` if the stream ended without the final report of the first process, unless that process was killed.

        The kernel kills it when memory is exhausted. A broken connection or a restarted daemon is not caused by the program.
        """
        wanted = {"container": self.id, "event": "die"}
        with connected(self._address) as daemon:
            events = daemon.events(since=1, until=int(now(daemon)) + _EVENT_SECONDS, filters=wanted, decode=True)
            end = next(iter(events), None)
            events.close()
        if end is None or end["Actor"]["Attributes"].get("exitCode") != _KILLED:
            raise SandboxError(
                f"docker{on(self._address)} lost container {self.id[:12]}: its stream ended without a report; was the daemon restarted?"
            )


def _await(wire: socket.socket, event: int, deadline: float) -> None:
    if not waiting.ready(wire, event, deadline - time.monotonic()):
        raise TimeoutError("the program did not answer in time")
