"""A worker's side of the gateway: models whose calls are requests on a Unix socket.

Imports neither litellm nor an HTTP library beyond the standard one, so that workers stay small.
"""

from __future__ import annotations

import functools
import hashlib
import http.client
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, TypeVar
from urllib.parse import quote

from pytest_recode.faults import GatewayError, ModelError, ModelFault, UserError
from pytest_recode.gateway import NUMBER, ModelFacts, token
from pytest_recode.gateway.connection import connected, response_of
from pytest_recode.gateway.dialects import DIALECTS
from pytest_recode.gateway.events import ENDED, Event, error_of
from pytest_recode.gateway.sent_call import SentCall, no_listener
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
    Tool,
    Usage,
)
from pytest_recode.models.chat_format import chat_request, reply_of, request_body, usage_of
from pytest_recode.models.providers import glance

A = TypeVar("A", Reply, Embedded, Relayed)


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

    def relay(self, dialect: str, body: Mapping[str, Any]) -> SentCall[Relayed]:
        if dialect not in DIALECTS:
            raise ValueError(f"there is no dialect {dialect}: choose from {', '.join(DIALECTS)}")
        turn = self._observer.turn
        if turn not in self._relayed:
            self._own.clear()
        self._relayed[turn] += 1
        request = {"model": self.name, "request": body, "own": self._own, NUMBER: self._relayed[turn]}
        if self._temperature is not None:
            request["temperature"] = self._temperature
        return self._sent(f"/v1/agents/{dialect}", request, self._relayed_answer)

    def _relayed_answer(self, event: Event) -> Relayed:
        reply = reply_of(event["body"])
        if reply.opaque:
            self._own |= {call.id: reply.opaque for call in reply.tool_calls}
        return Relayed(answer=event["answer"], reply=reply, asked_model=event["asked_model"])

    def _numbered(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the number of times that it has been sent, including this time."""
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        self._counts[digest] += 1
        return {**body, NUMBER: self._counts[digest]}

    def _sent(self, path: str, body: Mapping[str, Any], read: Callable[[Event], A]) -> SentCall[A]:
        return SentCall(self.name, self._address, self._caller, self._observer, path, body, read)

    def _call(self, path: str, body: Mapping[str, Any], read: Callable[[Event], A]) -> A:
        call = self._sent(path, body, read)
        with closing(call.events()) as events:
            for event in events:
                if (answer := call.take(event)) is not None:
                    return answer
        raise AssertionError("the last event has an answer, or raises")


@functools.cache
def facts(address: GatewayAddress, name: str, temperature: float = 1.0) -> ModelFacts:
    """The gateway's facts about a model. Waits for the gateway to start. Raises `UserError` for a model that it cannot call."""
    path = f"/v1/models/{quote(name)}?temperature={temperature!r}"
    status, body = _answered(address, Caller(), name, "GET", path)
    if status != 200:
        raise error_of(body["event"]) if "event" in body else GatewayError(str(body))
    return ModelFacts(**body)


def check_adapters(address: GatewayAddress) -> None:
    """Raise `UserError` if the gateway cannot translate agents' own calls (`Relaying`). Waits for the gateway to start."""
    status, body = _answered(address, Caller(), "agents", "GET", "/v1/agents")
    if status != 200:
        raise error_of(body["event"])


def grading_seed(address: GatewayAddress, caller: Caller, subject: str, number: int) -> int | None:
    """The recorded seed of the grading of `subject` in turn `number`; None if the run has no cassette. Raises what the gateway raised."""
    asked = json.dumps({"subject": subject, NUMBER: number})
    status, body = _answered(address, caller, "grading", "POST", "/v1/gradings", asked)
    if status != 200:
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


def _answered(
    address: GatewayAddress, caller: Caller, model: str, method: str, path: str, body: str | None = None
) -> tuple[int, Any]:
    """The status and the JSON of the answer to a request that calls no model. Waits until the gateway listens. Raises `ModelError` if it
    does not, or ends during the request."""
    headers = {"Content-Type": "application/json"}
    try:
        connection = connected(address.socket)
    except OSError as error:
        raise no_listener(model, error) from None
    try:
        with response_of(connection, method, path, token(address.secret, caller), headers, body) as response:
            return response.status, json.loads(response.read())
    except (OSError, http.client.HTTPException):
        raise ModelError(ModelFault.GATEWAY, model, ENDED) from None


def _embedded(body: Mapping[str, Any]) -> Embedded:
    return Embedded(vectors=[each["embedding"] for each in body["data"]], usage=usage_of(body["usage"]))
