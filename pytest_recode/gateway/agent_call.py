"""One call of an agent in its own dialect: translated for the model, asked as any other call, and translated back. Used in the gateway."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pytest_recode.gateway.agent_messages import prepared
from pytest_recode.gateway.dialects.translation import Dialect, JsonObject, TargetModel, Translated
from pytest_recode.gateway.events import Event, MalformedRequest
from pytest_recode.models import Reply
from pytest_recode.models.litellm_client import litellm, reads_images
from pytest_recode.models.provider import ProviderModel

ANSWER = "answer"
"""Key of an answer's stored body: the answer in the dialect."""


class AgentCall:
    """An agent's request. The model that it names is not asked, but that of the episode.

    `own`: the provider's own fields of earlier answers, as JSON, by the identifiers of their calls. `temperature`: the user's own, or None.
    """

    def __init__(
        self,
        dialect: Dialect,
        request: JsonObject,
        temperature: float | None,
        own: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._dialect = dialect
        self._request = request
        self._own = own
        self._temperature = temperature
        self._names: Mapping[str, str] = {}

    @property
    def _asked_model(self) -> str:
        named = self._request.get("model")
        return named if isinstance(named, str) else ""

    async def ask(self, model: ProviderModel) -> Reply:
        """Raises what `ProviderModel.complete` raises, and `MalformedRequest`."""
        provider = litellm().get_llm_provider(model.entry.model)[1]
        translated = self._translated(TargetModel(model=model.entry.model, provider=provider))
        self._names = translated.names
        messages = prepared(
            translated.chat["messages"], self._own, images=reads_images(model.entry), in_results=provider == "anthropic"
        )
        asked = replace(model, temperature=self._temperature)
        reply = await asked.converse({**translated.chat, "messages": messages})
        return _with_new_identifiers(reply, messages)

    def _translated(self, target: TargetModel) -> Translated:
        try:
            return self._dialect.translated(self._request, target)
        except MalformedRequest:
            raise
        except Exception as error:  # litellm's adapters raise anything
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise MalformedRequest(f"the request cannot be read ({why:.300})") from error

    def with_answer(self, completion: dict[str, Any]) -> dict[str, Any]:
        """The body of an answer, with the answer in the dialect."""
        choice = completion["choices"][0]
        read = {
            **completion,
            "id": secrets.token_hex(12),
            "created": int(time.time()),
            "model": self._asked_model or completion["model"],
            "choices": [{"index": 0, "message": _message(choice["message"]), "finish_reason": _finish(choice)}],
            "usage": {name: count for name, count in completion["usage"].items() if name != "cost"},
        }
        return {**completion, ANSWER: self._dialect.answer(self._request, read, self._names)}

    def emitting(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """`emit` for events of this call, whose answer is apart from the body."""

        def emitting(event: Event) -> None:
            if event["event"] == "answer":
                body = dict(event["body"])
                event = {**event, "answer": body.pop(ANSWER), "body": body, "asked_model": self._asked_model}
            emit(event)

        return emitting


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of `completion` with the provider's own fields."""
    common = {key: value for key, value in message.items() if key != "opaque"}
    return common | (json.loads(message["opaque"]) if "opaque" in message else {})


def _finish(choice: Mapping[str, Any]) -> str:
    """The reason for the end of an answer. Not all servers say that it calls tools."""
    if (reason := choice["finish_reason"]) in ("length", "content_filter"):
        return str(reason)
    return "tool_calls" if choice["message"].get("tool_calls") else "stop"


def _with_new_identifiers(reply: Reply, messages: Sequence[Mapping[str, Any]]) -> Reply:
    """The reply with identifiers of calls that the conversation does not have yet. Some servers count from 0 in each answer, and agents
    take two calls with one identifier for the same."""
    known = {call.get("id") for message in messages for call in message.get("tool_calls") or ()}
    calls = []
    for call in reply.tool_calls:
        if call.id in known:
            call = replace(call, id=f"call_{secrets.token_hex(12)}")
        known.add(call.id)
        calls.append(call)
    return replace(reply, tool_calls=tuple(calls))
