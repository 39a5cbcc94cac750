"""A worker's request to the gateway for an answer of a model, event by event. Several may be open in one episode."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Generic, TypeVar

from pytest_recode.faults import GatewayError, ModelError, ModelFault, Stopped
from pytest_recode.gateway import FIRST_TURN, TURN, token
from pytest_recode.gateway.connection import connected, response_of
from pytest_recode.gateway.events import ENDED, Event, error_of
from pytest_recode.models import CallDetails, Caller, CallObserver, Embedded, GatewayAddress, Relayed, Reply, Timing
from pytest_recode.models.chat_format import usage_of

A = TypeVar("A", Reply, Embedded, Relayed)

LOG = logging.getLogger("pytest_recode")


class SentCall(Generic[A]):
    """`events` may run in a thread of its own, and sends the request; the other methods are called in the thread of the episode.

    `read`: makes the result of the last event. `observer` records what happens.
    """

    def __init__(
        self,
        model: str,
        address: GatewayAddress,
        caller: Caller,
        observer: CallObserver,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Event], A],
    ) -> None:
        """Raises what `CallObserver.begin` raises."""
        self.waits = True  # no request is at the provider
        self._model = model
        self._address = address
        self._token = token(address.secret, caller)
        self._observer = observer
        self._path = path
        self._read: Callable[[Event], A] = read
        self._connection: socket.socket | None = None
        self._left = False
        self._lock = threading.Lock()
        self._held = ExitStack()
        self._body = json.dumps({**body, TURN: observer.turn, FIRST_TURN: observer.first_turn})
        observer.begin()
        self._held.enter_context(observer.waiting(self._wake))

    def events(self) -> Generator[Event | Exception]:
        """The gateway's events to the last one, or what came in place of that. Waits until the gateway listens. Raises nothing."""
        headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json"}
        try:
            connection = connected(self._address.socket)
        except OSError as error:
            yield no_listener(self._model, error)
            return
        try:
            with (
                self._open(connection),
                response_of(connection, "POST", self._path, self._token, headers, self._body) as response,
            ):
                if response.status != 200:
                    yield GatewayError(response.read().decode("utf-8", "replace"))
                    return
                for line in response:
                    event: Event = json.loads(line)
                    yield event
                    if event["event"] in ("answer", "error"):
                        return
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            pass
        yield ModelError(ModelFault.GATEWAY, self._model, ENDED)

    def take(self, event: object) -> A | None:
        """Record an event of the call; returns the result of the last one. Raises what the gateway raised."""
        try:
            if isinstance(event, Exception):
                raise event
            assert isinstance(event, dict)
            if event["event"] != "answer":
                self._note(event)
                return None
            result: A = self._read(event)
        except (Exception, Stopped):
            self._held.close()
            self._observer.failed()  # raises Stopped with its reason, if this process has received a request to stop
            raise
        self._held.close()
        details = CallDetails(
            call=event.get("call", ""),
            timing=Timing(waited=event["waited"], answering=event["answering"]),
            replayed=event.get("replayed", False),
            recorded_usd=event.get("recorded_usd"),
        )
        self._observer.answered(self._model, usage_of(event["body"]["usage"]), details)
        return result

    def leave(self) -> None:
        """Wait no longer. The gateway awaits the answer to a request that was sent, and books it. Raises `Stopped` if the run stops."""
        self._wake()
        self._held.close()
        self._observer.failed()

    def _note(self, event: Event) -> None:
        match event["event"]:
            case "error":
                raise error_of(event)
            case "try":
                self.waits = False
                self._observer.tried()
            case "wait":
                self.waits = True
            case "retry":
                self.waits = True
                error = ModelError(ModelFault(event["fault"]), self._model, event["detail"])
                self._observer.retry(error, event["pause"])
            case "warning":
                LOG.warning("%s", event["text"])

    def _wake(self) -> None:
        """End `events`, from another thread."""
        with self._lock:
            self._left = True
            if self._connection is not None:
                with suppress(OSError):  # it has ended already
                    self._connection.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def _open(self, connection: socket.socket) -> Iterator[None]:
        """Let `_wake` end what is done with the connection."""
        with self._lock:
            self._connection = connection
            if self._left:
                connection.close()  # so that nothing is sent
        try:
            yield
        finally:
            with self._lock:
                self._connection = None


def no_listener(model: str, error: OSError) -> ModelError:
    why = f"the gateway of this run does not listen ({error.strerror or error}): resume the run to ask again"
    return ModelError(ModelFault.GATEWAY, model, why)
