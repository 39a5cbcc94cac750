"""A worker's side of the gateway: models whose calls are requests on a Unix socket.

Imports neither litellm nor an HTTP library beyond the standard one, so that workers stay small.
"""

from __future__ import annotations

import functools
import hashlib
import http.client
import json
import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar
from urllib.parse import quote

from pytest_recode.faults import GatewayError, ModelError, ModelFault, Stopped, UserError
from pytest_recode.gateway import FIRST_TURN, NUMBER, TURN, ModelFacts, token
from pytest_recode.gateway.connection import connected, response_of
from pytest_recode.gateway.dialects import DIALECTS
from pytest_recode.gateway.events import ENDED, Event, error_of
from pytest_recode.models import (
    CallDetails,
    Caller,
    CallObserver,
    Embedded,
    GatewayAddress,
    Message,
    ModelContext,
    ModelKind,
    Relayed,
    Reply,
    Timing,
    Tool,
    Usage,
)
from pytest_recode.models.chat_format import chat_request, reply_of, request_body, usage_of
from pytest_recode.models.providers import glance

A = TypeVar("A", Reply, Embedded, Relayed)

LOG = logging.getLogger("pytest_recode")


class _Unobserved:
    """Records nothing: for calls outside of an episode."""

    turn, first_turn = 0, ""

    def begin(self) -> None: ...

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def tried(self) -> None: ...

    def retry(self, error: ModelError, pause: float) -> None: ...

    def answered(self, model: str, usage: Usage, details: CallDetails) -> None: ...

    def failed(self) -> None: ...


_UNOBSERVED = _Unobserved()


class GatewayModel:
    """A model that the run's gateway calls. `observer` records the calls."""

    simulated = False

    def __init__(self, context: ModelContext, address: GatewayAddress) -> None:
        self.name = context.name
        self._address = address
        self._caller = context.caller
        self._temperature = context.temperature
        self._counts: Counter[bytes] = Counter()
        self._relayed: Counter[int] = Counter()  # by turn
        self._own: dict[
            str, str
        ] = {}  # of the answers that were relayed in this turn, by the identifiers of their calls
        self._observer: CallObserver = context.observer or _UNOBSERVED
        found = facts(address, context.name)
        self.native_tools, self.window, self.answer = found.native_tools, found.window, found.answer

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        body = request_body(self.name, chat_request(messages, tools, schema))
        if self._temperature is not None:
            body["temperature"] = self._temperature
        return self._call("/v1/chat/completions", self._numbered(body), lambda event: reply_of(event["body"]))

    def embed(self, texts: Sequence[str]) -> Embedded:
        body = self._numbered({"model": self.name, "input": list(texts)})
        return self._call("/v1/embeddings", body, lambda event: _embedded(event["body"]))

    def relay(self, dialect: str, body: Mapping[str, Any], alive: Callable[[], None]) -> Relayed:
        if dialect not in DIALECTS:
            raise ValueError(f"there is no dialect {dialect}: choose from {', '.join(DIALECTS)}")
        turn = self._observer.turn
        if turn not in self._relayed:
            self._own.clear()
        self._relayed[turn] += 1
        request = {"model": self.name, "request": body, "own": self._own, NUMBER: self._relayed[turn]}
        if self._temperature is not None:
            request["temperature"] = self._temperature
        left: list[OSError] = []

        def still_there() -> None:
            try:
                alive()
            except OSError as error:
                left.append(error)
                raise

        try:
            relayed = self._call(f"/v1/agents/{dialect}", request, _relayed, still_there)
        except ModelError:
            if left:  # it is not the gateway's connection that was lost
                raise left[0] from None
            raise
        if opaque := relayed.reply.opaque:
            self._own |= {call.id: opaque for call in relayed.reply.tool_calls}
        return relayed

    def _numbered(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the number of times that it has been sent, including this time."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        self._counts[digest] += 1
        return {**body, NUMBER: self._counts[digest]}

    def _call(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[Event], A],
        alive: Callable[[], None] = lambda: None,
    ) -> A:
        self._observer.begin()
        try:
            place = {TURN: self._observer.turn, FIRST_TURN: self._observer.first_turn}
            answer = self._last_event(path, {**body, **place}, alive)
            result = read(answer)
        except (Exception, Stopped):
            self._observer.failed()  # raises Stopped with its reason, if this process has received a request to stop
            raise
        timing = Timing(waited=answer["waited"], answering=answer["answering"])
        details = CallDetails(
            call=answer.get("call", ""),
            timing=timing,
            replayed=answer.get("replayed", False),
            recorded_usd=answer.get("recorded_usd"),
        )
        self._observer.answered(self.name, usage_of(answer["body"]["usage"]), details)
        return result

    def _last_event(self, path: str, body: Mapping[str, Any], alive: Callable[[], None]) -> Event:
        """The event with the answer; `alive` is called for each other one. Raises what the gateway raised, and `ModelError` if it ended."""
        wait = self._observer.waiting
        with _requested(self._address, self._caller, self.name, "POST", path, json.dumps(body), wait) as response:
            try:
                if response.status != 200:
                    raise GatewayError(response.read().decode("utf-8", "replace"))
                lines = iter(response)
                while line := next(lines, b""):
                    event: Event = json.loads(line)
                    if event["event"] == "answer":
                        return event
                    self._take(event)
                    alive()
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                raise ModelError(ModelFault.GATEWAY, self.name, ENDED) from None
        raise ModelError(ModelFault.GATEWAY, self.name, ENDED)

    def _take(self, event: Event) -> None:
        match event["event"]:
            case "error":
                raise error_of(event)
            case "try":
                self._observer.tried()
            case "retry":
                error = ModelError(ModelFault(event["fault"]), self.name, event["detail"])
                self._observer.retry(error, event["pause"])
            case "warning":
                LOG.warning("%s", event["text"])


@functools.cache
def facts(address: GatewayAddress, name: str, temperature: float = 1.0) -> ModelFacts:
    """The gateway's facts about a model. Waits for the gateway to start. Raises `UserError` for a model that it cannot call."""
    path = f"/v1/models/{quote(name)}?temperature={temperature!r}"
    with _requested(address, Caller(), name, "GET", path) as response:
        body = json.loads(response.read())
    if response.status != 200:
        raise error_of(body["event"]) if "event" in body else GatewayError(str(body))
    return ModelFacts(**body)


def check_adapters(address: GatewayAddress) -> None:
    """Raise `UserError` if the gateway cannot translate agents' own calls (`Relaying`). Waits for the gateway to start."""
    with _requested(address, Caller(), "agents", "GET", "/v1/agents") as response:
        body = json.loads(response.read())
    if response.status != 200:
        raise error_of(body["event"])


def grading_seed(address: GatewayAddress, caller: Caller, subject: str, number: int) -> int | None:
    """The recorded seed of the grading of `subject` in turn `number`; None if the run has no cassette. Raises what the gateway raised."""
    with _requested(
        address, caller, "grading", "POST", "/v1/gradings", json.dumps({"subject": subject, NUMBER: number})
    ) as response:
        body = json.loads(response.read())
    if response.status != 200:
        raise error_of(body["event"])
    seed: int | None = body["seed"]
    return seed


def check(context: ModelContext) -> None:
    """Raise `UserError` for an unknown name, a missing key, or a cost limit with an unknown price.

    No model is called. A server of the user's own is asked for its context window.
    """
    try:
        facts(_address(context), context.name)
    except ModelError as error:  # before the first call, this is nothing to record
        raise UserError(
            f"model {context.name}: {error.detail}; a line above has the gateway's last line of output"
        ) from None


def make(context: ModelContext) -> GatewayModel:
    """Create the model. Raises what `check` raises."""
    return GatewayModel(context, _address(context))


KIND = ModelKind(make=make, check=check, glance=glance, gateway=True, concurrent=True, embedder=make)


def _address(context: ModelContext) -> GatewayAddress:
    if context.gateway is None:
        raise UserError(f"model {context.name} is called by the gateway of a run, and there is none here")
    return context.gateway


@contextmanager
def _requested(
    address: GatewayAddress,
    caller: Caller,
    model: str,
    method: str,
    path: str,
    body: str | None = None,
    waiting: Callable[[Callable[[], None]], AbstractContextManager[None]] = _UNOBSERVED.waiting,
) -> Iterator[http.client.HTTPResponse]:
    """Send a request; waits until the gateway listens. Raises `ModelError` if it does not, or ends during the request. `waiting`: as
    `CallObserver.waiting`."""
    headers = {"Accept": "application/x-ndjson", "Content-Type": "application/json"}
    try:
        connection = connected(address.socket)
    except OSError as error:
        why = f"the gateway of this run does not listen ({error.strerror or error}): resume the run to ask again"
        raise ModelError(ModelFault.GATEWAY, model, why) from None

    def wake() -> None:
        with suppress(OSError):  # it has ended already
            connection.shutdown(socket.SHUT_RDWR)

    try:
        with (
            waiting(wake),
            response_of(connection, method, path, token(address.secret, caller), headers, body) as response,
        ):
            yield response
    except (OSError, http.client.HTTPException):
        raise ModelError(ModelFault.GATEWAY, model, ENDED) from None


def _embedded(body: Mapping[str, Any]) -> Embedded:
    return Embedded(vectors=[each["embedding"] for each in body["data"]], usage=usage_of(body["usage"]))


def _relayed(event: Event) -> Relayed:
    return Relayed(
        answer=event["answer"], reply=reply_of(event["body"]), asked_model=event["asked_model"], waited=event["waited"]
    )
