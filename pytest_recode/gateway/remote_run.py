"""A worker's side of the run's directory if it is on another host: files and ledger, by requests to the gateway (`run_service.py`)."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_recode.episode_stops import CallStops
from pytest_recode.faults import GatewayError, ModelError, RecordsError
from pytest_recode.gateway import worker_token
from pytest_recode.gateway.connection import PAUSE, STARTING, connected, response_of
from pytest_recode.gateway.events import dump_error, error_of
from pytest_recode.models import GatewayAddress, Reach, Usage
from pytest_recode.records import record


class RemoteRun:
    """The directory `out` on the controlling process's host, which `worker` reads and writes through the gateway at `address`."""

    def __init__(self, out: Path, address: GatewayAddress, worker: str) -> None:
        self.out = out
        self._address = address
        self._token = worker_token(address.secret, worker)

    # RunFiles

    def read(self, path: Path) -> bytes:
        status, data = self._answer("GET", self._url(path))
        if status == http.HTTPStatus.NOT_FOUND:
            raise FileNotFoundError(f"{path} does not exist")
        return data

    def lines(self, path: Path) -> RemoteLines:
        return RemoteLines(self, path)

    def replace(self, path: Path, text: str) -> None:
        self._answer("PUT", self._url(path), text.encode())

    def remove(self, path: Path) -> None:
        self._answer("DELETE", self._url(path))

    @contextmanager
    def locked(self, path: Path, waiting: AbstractContextManager[object]) -> Iterator[None]:
        """If the gateway ends, the lock does, too: then a first turn may be played twice, which costs money but no record."""
        with ExitStack() as held:
            try:
                connection = connected(self._address.socket)
                url = self._url(path, "locks")
                response = held.enter_context(response_of(connection, "GET", url, self._token, {}, None))
                with waiting:
                    line = response.readline()
            except (OSError, http.client.HTTPException):
                raise RecordsError(_LOST.format(self.out)) from None
            _check_status("GET", url, response.status, line)
            if line != b"locked\n":
                raise RecordsError(_LOST.format(self.out))
            yield

    # the run

    def check(self) -> None:
        """Check before a request that records can be written. Raises `RecordsError`."""
        self._answer("GET", "/v1/run/check")

    def wait_for_stop(self) -> None:
        """Wait until the run stops, or the connection to the controlling process's host is lost."""
        try:
            stopped = False
            while not stopped:
                stopped = json.loads(self._answer("GET", "/v1/run/stop")[1])
        except RecordsError:
            return

    def append(self, path: Path, offset: int, data: bytes) -> None:
        self._answer("PATCH", f"{self._url(path)}?offset={offset}", data)

    def open(self, path: Path) -> int:
        """Open a file to append to; returns its size in bytes."""
        size: int = json.loads(self._answer("POST", self._url(path))[1])
        return size

    def ledger(self, method: str, **arguments: Any) -> Any:
        """Not repeated if the connection is lost, because the gateway may have written the line."""
        _, data = self._answer("POST", f"/v1/run/ledger/{method}", json.dumps(arguments).encode(), again=False)
        return json.loads(data)

    def _url(self, path: Path, kind: str = "files") -> str:
        return f"/v1/run/{kind}/{quote(path.relative_to(self.out).as_posix())}"

    def _answer(self, method: str, url: str, body: bytes | None = None, *, again: bool = True) -> tuple[int, bytes]:
        """Status and body. Waits for a gateway that is started again. Raises what the gateway raised, and `RecordsError` if it is lost."""
        deadline = time.monotonic() + STARTING
        while True:
            try:
                connection = connected(self._address.socket)
            except OSError:
                raise RecordsError(_LOST.format(self.out)) from None
            try:
                with response_of(connection, method, url, self._token, {}, body) as response:
                    status, data = response.status, response.read()
            except (OSError, http.client.HTTPException):
                if not again or time.monotonic() >= deadline:
                    raise RecordsError(_LOST.format(self.out)) from None
                time.sleep(PAUSE)
                continue
            if status != http.HTTPStatus.NOT_FOUND:
                _check_status(method, url, status, data)
            return status, data


def _check_status(method: str, url: str, status: int, data: bytes) -> None:
    """Raises what the gateway raised."""
    if status == http.HTTPStatus.CONFLICT:
        raise error_of(json.loads(data))
    if status != http.HTTPStatus.OK:
        raise GatewayError(f"{method} {url}: {status} {data.decode('utf-8', 'replace')}")


_LOST = "{} cannot be written from this host (the connection to the controlling process is lost): resume the run"


class RemoteLines:
    """An append-only file of JSON lines. What an interrupted call may have written is completed by the next one."""

    def __init__(self, run: RemoteRun, path: Path) -> None:
        self._run = run
        self._path = path
        self._size = run.open(path)
        self._unconfirmed = b""

    def append(self, line: Mapping[str, Any]) -> None:
        self._unconfirmed += (json.dumps(line, ensure_ascii=True) + "\n").encode()
        try:
            self._run.append(self._path, self._size, self._unconfirmed)
        except RecordsError:
            self._unconfirmed = b""
            raise
        self._size += len(self._unconfirmed)
        self._unconfirmed = b""

    def close(self) -> None: ...


class RemoteLedger:
    """The run's ledger for models that run in this worker. `FileLedger` describes the methods."""

    def __init__(self, run: RemoteRun, stops: CallStops) -> None:
        self._run = run
        self._stops = stops

    def before_call(self, model: str) -> None:
        self._stops.enter()
        try:
            self._run.ledger("before_call", model=model)
        except BaseException:
            self._stops.settled()
            raise

    def enter(self) -> None:
        self._stops.enter()

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return self._stops.waiting(wake)

    def spent(self, model: str, usage: Usage) -> None:
        self._run.ledger("spent", model=model, usage=record.usage(usage))

    def unanswered(self, model: str, why: str) -> None:
        self._run.ledger("unanswered", model=model, why=why)
        self._stops.settle()

    def settle(self) -> None:
        self._stops.settle()

    def abandon(self, why: str) -> None:
        self._run.ledger("abandon", why=why)

    def fault(self, error: ModelError) -> None:
        if error.fatal:
            self._run.ledger("fault", error=dump_error(error))

    def retry(self, error: ModelError, pause: float) -> None:
        """Does nothing, because a retry costs nothing."""

    def answered(self, model: str) -> bool:
        known: bool = self._run.ledger("answered", model=model)
        return known

    def reached(self, where: str, now: Reach) -> Reach:
        return Reach(self._run.ledger("reached", where=where, now=now.value))
