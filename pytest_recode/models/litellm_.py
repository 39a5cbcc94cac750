"""Models through litellm: every provider that it supports, and every server with OpenAI's chat completions API."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pytest_recode.faults import ModelError, ModelFault, UserError
from pytest_recode.models import Embedded, Ledger, Message, ModelContext, ModelKind, Reach, Reply, Tool, ToolCall, Usage
from pytest_recode.models.client import cost, litellm, priced, timeout, vectors_of, window, within
from pytest_recode.models.providers import NO_KEY, entry_of, key_of
from pytest_recode.models.retry import Failure, Retries, failure
from pytest_recode.models.table import Entry
from pytest_recode.records.ledger import unpriced

LOG = logging.getLogger("pytest_recode")

A = TypeVar("A", Reply, Embedded)

_LONG_PAUSE = 30.0
"""Pauses between two tries that are longer than this, in seconds, are reported to the user."""
_CONNECT = 20.0
"""Time limit for a connection in seconds, for clients that support one: a server that accepts no connection is not working on an answer."""


@dataclass(slots=True, kw_only=True)
class LitellmModel:
    """A model that litellm calls.

    `entry`: the model and its provider. `api_key`: None if litellm finds the key in the environment. `key_env`: the variable that has,
    or should have, the key; "" if unknown. `window`: the context window in tokens, or None.
    """

    name: str
    entry: Entry
    ledger: Ledger
    native_tools: bool
    api_key: str | None = None
    key_env: str = ""
    window: int | None = None
    temperature: float | None = None
    call_seconds: float = 600.0
    late_seconds: float = 60.0  # time without an answer after which a run that has had none reports that it waits
    retries: Retries = field(default_factory=Retries)
    simulated: bool = False
    _extra: dict[str, Any] = field(default_factory=dict)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        request = self._request(messages, tools, schema)
        return self._insist(lambda: self._ask(request))

    def embed(self, texts: Sequence[str]) -> Embedded:
        return self._insist(lambda: self._ask_vectors(texts))

    def _insist(self, ask: Callable[[], A | Failure]) -> A:
        """Call `ask` until it returns an answer or retries are exhausted. Raises what `complete` raises."""
        start = time.monotonic()
        silent = 0
        for tried in itertools.count(1):
            self.ledger.before_call(self.name)
            answer = ask()
            if not isinstance(answer, Failure):
                self.ledger.spent(self.name, answer.usage)
                self._heard()
                return answer
            self.ledger.unanswered(self.name, answer.fault.value)
            passed = time.monotonic() - start
            silent += answer.silent
            pause = self.retries.pause(tried, answer, passed, silent)
            lost = self._lost(answer, tried, pause)
            if pause is None or lost:
                error = self.retries.error(self.name, answer, tried, passed, lost=lost)
                if error.fatal:
                    self.ledger.fault(error)
                raise error
            self.ledger.retry(ModelError(answer.fault, self.name, answer.detail), pause)
            self._tell(answer, pause)
            self.retries.wait(pause)
        raise AssertionError("unreachable")

    def _lost(self, answer: Failure, tried: int, pause: float | None) -> bool:
        """Whether the run has given up on this address. The first worker that notices an unreachable server reports it."""
        if not (answer.unreachable or answer.silent):
            if answer.fault is not ModelFault.TIMEOUT:
                self._heard()
            return False
        where = self._where if answer.unreachable else self._asked
        before = self.ledger.reached(where, Reach.LOST if pause is None else Reach.WAITING)
        if answer.unreachable and before is Reach.ANSWERS and pause is not None and tried == 1:
            LOG.warning(
                "model %s: %s; trying again for up to %.0f s", self.name, answer.detail, self.retries.knocking
            )  # fmt: skip
        return before is Reach.LOST

    def _heard(self) -> None:
        for where in (self._where, self._asked):
            self.ledger.reached(where, Reach.ANSWERS)

    def _tell(self, answer: Failure, pause: float) -> None:
        """Log the next try; as a warning, which the user sees in any worker, if the wait may take minutes."""
        if answer.silent:
            LOG.warning(
                "model %s: %s; trying once more, for up to %g s (--recode-call-seconds)",
                self.name, answer.detail, self.call_seconds,
            )  # fmt: skip
            return
        level = logging.WARNING if pause >= _LONG_PAUSE and not answer.unreachable else logging.INFO
        LOG.log(
            level,
            "model %s: %s: %s; trying again in %.0f s",
            self.name, answer.fault.value, answer.detail, pause,
        )  # fmt: skip

    def _late(self) -> None:
        """Warn once in a run that the first answer is late. A model that has answered before works, however long it takes."""
        if self.ledger.answered(self.name):
            return
        if self.ledger.reached(self._asked, Reach.WAITING) is Reach.ANSWERS:
            LOG.warning(
                "model %s: no answer in the first %g s (server: %s); waiting for up to %g s (--recode-call-seconds)",
                self.name, self.late_seconds, self._where, self.call_seconds,
            )  # fmt: skip

    def _request(
        self, messages: Sequence[Message], tools: Sequence[Tool], schema: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        request: dict[str, Any] = {**self.entry.params}
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.parameters),
                    },
                }
                for tool in tools
            ]
        if schema is not None and litellm().supports_response_schema(self.entry.model):
            shape = {"name": "answer", "schema": dict(schema), "strict": _strict(schema)}
            request["response_format"] = {"type": "json_schema", "json_schema": shape}
        address = self._address() | {"timeout": timeout(self.call_seconds, min(_CONNECT, self.call_seconds / 2))}
        return request | address | {"messages": [_message(message) for message in messages]}

    def _ask(self, request: Mapping[str, Any]) -> Reply | Failure:
        try:
            response = self._called(lambda: litellm().completion(**request, **self._extra))
        except ModuleNotFoundError as error:
            # Some releases import an optional package if there are tools. No request has been sent yet.
            if error.name != "mcp" or self._extra:
                raise
            self._extra["_skip_mcp_handler"] = True
            return self._ask(request)
        if isinstance(response, Failure):
            return response
        if not getattr(response, "choices", None):
            return Failure(fault=ModelFault.SERVER, detail="the response has no choices")
        return self._reply(response, request["messages"])

    def _ask_vectors(self, texts: Sequence[str]) -> Embedded | Failure:
        request = {**self.entry.params, **self._address(), "input": list(texts), "encoding_format": "float"}
        response = self._called(lambda: litellm().embedding(**request))
        if isinstance(response, Failure):
            return response
        vectors = vectors_of(response, len(texts))
        if vectors is None:
            return Failure(
                fault=ModelFault.SERVER, detail=f"the response does not have a vector for each of {len(texts)} texts"
            )
        return Embedded(vectors=vectors, usage=self._usage(response, sum(map(len, texts)), 0))

    def _called(self, call: Callable[[], Any]) -> Any:
        """The provider's response, or a Failure."""
        try:
            return within(self.call_seconds, call, self._late, self.late_seconds)
        except TimeoutError:
            detail = f"no complete answer within {self.call_seconds:g} s"
            return Failure(fault=ModelFault.TIMEOUT, detail=detail, silent=True)
        except Exception as error:
            if (failed := failure(error)) is None:
                raise
            return self._placed(failed)

    def _address(self) -> dict[str, Any]:
        return {
            "model": self.entry.model,
            "api_base": self.entry.api_base,
            "api_key": self.api_key,
            "timeout": self.call_seconds,
            "drop_params": True,  # omit the temperature for models that do not accept one
            "num_retries": 0,  # only this module retries, so that retries are limited and reported
            "max_retries": 0,
        }

    @property
    def _where(self) -> str:
        """The address of the server, without a password in it, or the name of the provider."""
        if self.entry.api_base is None:
            return str(litellm().get_llm_provider(self.entry.model)[1])
        url = urlsplit(self.entry.api_base)
        return url._replace(netloc=url.netloc.rpartition("@")[2], query="").geturl()

    @property
    def _asked(self) -> str:
        """The key of this model on this server: other models there may work if this one hangs."""
        return f"{self._where} {self.name}"

    def _placed(self, failed: Failure) -> Failure:
        """Add the server and the key to the message of a failure that they may have caused."""
        own = self.entry.api_base is not None
        if failed.unreachable:
            step = "start the server there, or correct the address" if own else "check the network"
            return replace(failed, detail=f"{self._where} {failed.detail}: {step}")
        asked = f"asked {'at ' if own else ''}{self._where}"
        if failed.fault is ModelFault.AUTH and self.key_env:
            if self.api_key == NO_KEY:
                return replace(failed, detail=f"{failed.detail} ({asked}, without a key: export {self.key_env})")
            step = f"check that key and its account, or export another as {self.key_env}"
            return replace(failed, detail=f"{failed.detail} ({asked}, with the key in {self.key_env}): {step}")
        if failed.fault is ModelFault.AUTH or (own and failed.fault in {ModelFault.CONNECTION, ModelFault.UNKNOWN}):
            return replace(failed, detail=f"{failed.detail} ({asked})")
        return failed

    def _reply(self, response: Any, messages: Sequence[Mapping[str, Any]]) -> Reply:
        choice = response.choices[0]
        message = choice.message
        refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
        text = _text(message.content or getattr(message, "refusal", None) or refusal)
        calls = tuple(
            ToolCall(
                id=_text(call.id) or f"call_{number}",
                name=_text(call.function.name),
                arguments=_text(call.function.arguments),
            )
            for number, call in enumerate(message.tool_calls or ())
        )
        thoughts = _text(getattr(message, "reasoning_content", None))
        written = len(text) + len(thoughts) + sum(len(call.name) + len(call.arguments) for call in calls)
        usage = self._usage(response, sum(len(str(each)) for each in messages), written)
        return Reply(text=text, thoughts=thoughts, tool_calls=calls, usage=usage, finish=choice.finish_reason or "")

    def _usage(self, response: Any, asked: int, written: int) -> Usage:
        """The usage that the provider reports, else an estimate of four characters for each token."""
        reported = getattr(response, "usage", None)
        prompt = getattr(reported, "prompt_tokens", None) or 0
        completion = getattr(reported, "completion_tokens", None) or 0
        if not prompt and not completion:
            prompt, completion = math.ceil(asked / 4), math.ceil(written / 4)
            response = None
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=cost(self.entry, prompt, completion, response),
        )


def check(context: ModelContext) -> None:
    """Raise `UserError` for an unknown name, a missing key, or a cost limit with an unknown price. Sends no request."""
    entry = entry_of(context)
    key_of(context.name, entry)
    if context.max_cost is not None and not priced(entry):
        raise UserError(unpriced(context.name, context.max_cost))


def make(context: ModelContext) -> LitellmModel:
    """Create the model. Raises what `check` raises."""
    entry = entry_of(context)
    key, key_env = key_of(context.name, entry)
    tools = entry.tools if entry.tools is not None else litellm().supports_function_calling(entry.model)
    return LitellmModel(
        name=context.name,
        entry=entry,
        ledger=context.ledger,
        native_tools=bool(tools),
        api_key=key,
        key_env=key_env,
        window=window(entry),
        temperature=context.temperature,
        call_seconds=context.call_seconds,
    )


KIND = ModelKind(make=make, check=check, embedder=make)


def _strict(schema: object) -> bool:
    """Whether providers that enforce schemas accept this one: closed objects with only required properties."""
    if isinstance(schema, Mapping):
        if schema.get("type") == "object" and (
            schema.get("additionalProperties") is not False
            or set(schema.get("required", ())) != set(schema.get("properties", ()))
        ):
            return False
        return all(map(_strict, schema.values()))
    return all(map(_strict, schema)) if isinstance(schema, (list, tuple)) else True


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["content"] = message.content or None
        out["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        out["tool_call_id"] = message.tool_call_id
    return out


def _text(value: object) -> str:
    """The text without lone surrogates, which JSON may contain but files and frames cannot."""
    return str(value or "").encode("utf-8", "replace").decode("utf-8")
