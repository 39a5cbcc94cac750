"""One call of a model through litellm: every provider that it supports, and every server with OpenAI's chat completions API.

Asynchronous, for the event loop of the gateway.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from pytest_recode.faults import ModelError, ModelFault, UserError
from pytest_recode.models import Embedded, Ledger, ModelContext, Reach, Reply
from pytest_recode.models.address import is_local
from pytest_recode.models.agent_options import agent_options
from pytest_recode.models.chat_format import ChatRequest, response_format
from pytest_recode.models.context_window import too_long_step
from pytest_recode.models.environment import check_connections, usable_key
from pytest_recode.models.litellm_client import answer_limit, litellm, priced, timeout, vectors_of, window, within
from pytest_recode.models.no_connection import speaks_tls, without_password
from pytest_recode.models.providers import NO_KEY, entry_of
from pytest_recode.models.response_choice import failed_choice, opaque_of, text_of, tool_calls
from pytest_recode.models.retry import FailedTry, Retries, failure, request_step, unknown_step, wants_tls
from pytest_recode.models.table import ModelEntry
from pytest_recode.models.usage_report import reported_parts, reported_usage
from pytest_recode.records.cost_limits import unpriced

LOG = logging.getLogger("pytest_recode")

A = TypeVar("A", Reply, Embedded)

_LONG_PAUSE = 30.0
"""Pauses between two tries that are longer than this, in seconds, are reported to the user."""
_CONNECT = 20.0
"""Time limit for a connection in seconds, for clients that support one: a server that accepts no connection is not working on an answer."""


class Admission(Protocol):
    """Decides when a call may start; see `gateway/throttle.py`."""

    async def admitted(self) -> None:
        """Wait until the next try may start. Raises `ModelError` if the longest wait for a rate limit has passed."""

    def ended(self, answer: Reply | Embedded | FailedTry) -> bool:
        """Call it after each try. Returns whether the call was throttled, so that it waits and tries again without using up a retry."""


@dataclass(slots=True, kw_only=True)
class ProviderModel:
    """A model that litellm calls, for one call at a time.

    `entry`: the model and its provider. `api_key`: None if litellm finds the key in the environment. `key_env`: the variable that has,
    or should have, the key; "" if unknown. `window`: the context window in tokens, or None. `wait`: pauses between tries, in seconds.
    `admission`: None if calls need not wait for others. `warn`: shows a line to the user.
    """

    name: str
    entry: ModelEntry
    ledger: Ledger
    native_tools: bool
    api_key: str | None = None
    key_env: str = ""
    window: int | None = None
    served: tuple[str, ...] = ()  # the models that a server of the user's own lists
    temperature: float | None = None
    call_seconds: float = 600.0
    late_seconds: float = 60.0  # time without an answer after which a run that has had none reports that it waits
    retries: Retries = field(default_factory=Retries)
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep
    admission: Admission | None = None
    warn: Callable[[str], None] = LOG.warning
    _extra: dict[str, Any] = field(default_factory=dict)

    @property
    def answer(self) -> int | None:
        """The limit of an answer in tokens that each request has."""
        return answer_limit(self.entry)

    async def complete(self, request: ChatRequest) -> Reply:
        """Raises what `Model.complete` raises."""
        body = self._request(request)
        return await self._with_retries(lambda: self._ask(body))

    async def converse(self, chat: Mapping[str, Any]) -> Reply:
        """Answer a request in OpenAI's format that an agent has sent, with those of its options that `agent_options` names.

        The reply has the provider's own fields even if it calls no tool. Raises what `Model.complete` raises.
        """
        body = (
            agent_options(self.entry, chat, self.temperature, self.window)
            | self._connection()
            | {"messages": list(chat["messages"])}
        )
        return await self._with_retries(lambda: self._ask(body, whole=True))

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return await self._with_retries(lambda: self._ask_vectors(texts))

    async def _with_retries(self, ask: Callable[[], Awaitable[A | FailedTry]]) -> A:
        """Call `ask` until it returns an answer or retries are exhausted."""
        start = time.monotonic()
        silent, tried, first = 0, 0, 0.0
        while True:
            if self.admission is not None:
                await self.admission.admitted()
            self.ledger.before_call(self.name)
            answer = await ask()
            throttled = self.admission is not None and self.admission.ended(answer)
            if not isinstance(answer, FailedTry):
                self.ledger.spent(self.name, answer.usage)
                self._set_reachable()
                return answer
            self.ledger.unanswered(self.name, answer.reason)
            if throttled:
                self._set_reachable()
                continue
            tried += 1
            passed = time.monotonic() - start
            first = first or passed  # the first try, of which a refusal takes no time, may load the provider's library
            silent += answer.silent
            pause = self.retries.pause(tried, answer, passed - first if answer.unreachable else passed, silent)
            lost = self._lost(answer, tried, pause)
            if pause is None or lost:
                error = self.retries.error(self.name, answer, tried, passed, lost=lost)
                # A model that has answered has a valid key: what is refused now may be this request alone
                if error.fatal and (error.fault is ModelFault.SPENT or not self.ledger.answered(self.name)):
                    self.ledger.fault(error)
                raise error
            self.ledger.retry(ModelError(answer.fault, self.name, answer.detail), pause)
            self._report_retry(answer, pause)
            await self.wait(pause)

    def _lost(self, answer: FailedTry, tried: int, pause: float | None) -> bool:
        """Whether the run has given up on this address. The first worker that notices an unreachable server reports it."""
        if not (answer.unreachable or answer.silent):
            if answer.fault is not ModelFault.TIMEOUT:
                self._set_reachable()
            return False
        where = self._where if answer.unreachable else self._model_on_server
        before = self.ledger.reached(where, Reach.LOST if pause is None else Reach.WAITING)
        if answer.unreachable and before is Reach.ANSWERS and pause is not None and tried == 1:
            self.warn(f"model {self.name}: {answer.detail}; trying again for up to {self.retries.limit(answer):.0f} s")
        return before is Reach.LOST

    def _set_reachable(self) -> None:
        for where in (self._where, self._model_on_server):
            self.ledger.reached(where, Reach.ANSWERS)

    def _report_retry(self, answer: FailedTry, pause: float) -> None:
        """Log the next try; as a warning, which the user sees in any worker, if the wait may take minutes."""
        if answer.silent:
            self.warn(
                f"model {self.name}: {answer.detail}; trying once more, for up to {self.call_seconds:g} s (--recode-call-seconds)"
            )
            return
        line = f"model {self.name}: {answer.fault.value}: {answer.detail}; trying again in {pause:.0f} s"
        if pause >= _LONG_PAUSE and not answer.unreachable:
            self.warn(line)
        else:
            LOG.info("%s", line)

    def _late(self) -> None:
        """Warn once in a run that the first answer is late. A model that has answered before works, however long it takes."""
        if self.ledger.answered(self.name):
            return
        if self.ledger.reached(self._model_on_server, Reach.WAITING) is Reach.ANSWERS:
            self.warn(
                f"model {self.name}: no answer in the first {self.late_seconds:g} s (server: {self._where});"
                f" waiting for up to {self.call_seconds:g} s (--recode-call-seconds)"
            )

    def _request(self, request: ChatRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {**self.entry.params}
        if self.temperature is not None:
            arguments["temperature"] = self.temperature
        if request.tools:
            arguments["tools"] = list(request.tools)
        if request.schema is not None and litellm().supports_response_schema(self.entry.model):
            arguments["response_format"] = response_format(request.schema)
        return arguments | self._connection() | {"messages": list(request.messages)}

    async def _ask(self, request: Mapping[str, Any], *, whole: bool = False) -> Reply | FailedTry:
        response = await self._called(lambda: litellm().acompletion(**request, **self._extra))
        if isinstance(response, FailedTry) and response.missing == "mcp" and not self._extra:
            # Some releases import an optional package if there are tools. No request has been sent yet.
            self._extra["_skip_mcp_handler"] = True
            return await self._ask(request, whole=whole)
        if isinstance(response, FailedTry):
            return self._too_long(response, request) if response.fault is ModelFault.CONTEXT else response
        if not getattr(response, "choices", None):
            return self._placed(FailedTry(fault=ModelFault.SERVER, detail="the response has no choices"))
        return self._reply(response, request["messages"], whole=whole)

    async def _ask_vectors(self, texts: Sequence[str]) -> Embedded | FailedTry:
        request = {**self.entry.params, **self._address(), "input": list(texts), "encoding_format": "float"}
        response = await self._called(lambda: litellm().aembedding(**request))
        if isinstance(response, FailedTry):
            return response
        vectors = vectors_of(response, len(texts))
        if vectors is None:
            detail = f"the response does not have a vector for each of {len(texts)} texts"
            return self._placed(FailedTry(fault=ModelFault.SERVER, detail=detail))
        return Embedded(
            vectors=vectors, usage=reported_usage(self.name, self.entry, response, sum(map(len, texts)), 0, self.warn)
        )

    async def _called(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """The provider's response, or a FailedTry."""
        try:
            return await within(self.call_seconds, call, self._late, self.late_seconds)
        except TimeoutError:
            detail = f"no complete answer within {self.call_seconds:g} s"
            return FailedTry(fault=ModelFault.TIMEOUT, detail=detail, silent=True)
        except Exception as error:
            if (failed := failure(error)) is None:
                raise
            lost = failed.fault is ModelFault.CONNECTION and not failed.unreachable
            if (
                lost
                and not self.ledger.answered(self.name)
                and await asyncio.to_thread(speaks_tls, self.entry.api_base)
            ):
                failed = wants_tls(failed)
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

    def _connection(self) -> dict[str, Any]:
        return self._address() | {"timeout": timeout(self.call_seconds, min(_CONNECT, self.call_seconds / 2))}

    @property
    def _where(self) -> str:
        """The address of the server, without a password in it, or the name of the provider."""
        if self.entry.api_base is None:
            return str(litellm().get_llm_provider(self.entry.model)[1])
        return without_password(self.entry.api_base)

    @property
    def _model_on_server(self) -> str:
        """The key of this model on this server: other models there may work if this one hangs."""
        return f"{self._where} {self.name}"

    def _placed(self, failed: FailedTry) -> FailedTry:
        """Add the server and the key to the message of a failure that they may have caused."""
        own = self.entry.api_base is not None
        failed = replace(failed, detail=failed.detail.removesuffix("."))  # more of the sentence follows
        if failed.unreachable:
            step = failed.step or ("start the server there, or correct the address" if own else "check the network")
            stopped = own and is_local(self.entry.api_base) and not self.ledger.answered(self.name)
            return replace(failed, detail=f"{self._where} {failed.detail}: {step}", stopped=stopped)
        server = f"asked {'at ' if own else ''}{self._where}"
        if failed.fault is ModelFault.AUTH and self.key_env:
            if self.api_key == NO_KEY:
                return replace(failed, detail=f"{failed.detail} ({server}, without a key: export {self.key_env})")
            step = f"check that key and its account, or export another as {self.key_env}"
            return replace(failed, detail=f"{failed.detail} ({server}, with the key in {self.key_env}): {step}")
        if failed.fault is ModelFault.SPENT:
            account = (
                f"the account of the key in {self.key_env}"
                if self.key_env and self.api_key != NO_KEY
                else "the account"
            )
            step = f"{account} has no credit or quota left: add credit, or export the key of another account"
            return replace(failed, detail=f"{failed.detail} ({server}): {step}")
        sent = [*self.entry.params, *(["temperature"] if self.temperature is not None else [])]
        if failed.fault is ModelFault.REQUEST and (step := request_step(sent, failed.detail)):
            return replace(failed, detail=f"{failed.detail} ({server}): {step}")
        if failed.fault is ModelFault.UNKNOWN:
            return replace(failed, detail=f"{failed.detail} ({server}): {unknown_step(own, self.served)}")
        if failed.fault is ModelFault.NO_TOOLS:
            step = "set `tools: false` for it in --recode-models-file, so that the agent writes its actions as text"
            return replace(failed, detail=f"{failed.detail} ({server}): {step}")
        if failed.fault is ModelFault.CONTEXT:
            return failed  # `_too_long` adds more
        # A page or an empty answer may mean another server than the user believes; a rate limit is known to be the provider's
        if failed.fault is ModelFault.AUTH or (own and failed.fault is not ModelFault.RATE_LIMIT):
            return replace(failed, detail=f"{failed.detail} ({server})")
        return failed

    def _too_long(self, failed: FailedTry, request: Mapping[str, Any]) -> FailedTry:
        """Add the sizes to a refusal, and what to do if nothing of the prompt can be left out."""
        characters = sum(len(str(each)) for part in ("messages", "tools") for each in request.get(part, ()))
        size, step = too_long_step(failed.window or self.window, characters, self.answer)
        server = f"asked at {self._where}"
        return replace(failed, detail=f"{failed.detail} ({server}; {size}): {step}", cause=f"{step} ({server})")

    def _reply(self, response: Any, messages: Sequence[Mapping[str, Any]], *, whole: bool) -> Reply | FailedTry:
        choice = response.choices[0]
        message = choice.message
        if failed := failed_choice(choice):
            return self._placed(FailedTry(fault=ModelFault.SERVER, detail=failed, partial=True))
        refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
        text = text_of(message.content or getattr(message, "refusal", None) or refusal)
        calls = tool_calls(message)
        thoughts = text_of(getattr(message, "reasoning_content", None))
        written = len(text) + len(thoughts) + sum(len(call.name) + len(call.arguments) for call in calls)
        usage = reported_usage(
            self.name, self.entry, response, sum(len(str(each)) for each in messages), written, self.warn
        )
        return Reply(
            text=text,
            thoughts=thoughts,
            opaque=opaque_of(message, always=whole),
            tool_calls=calls,
            usage=usage,
            parts=reported_parts(response, usage),
            finish=choice.finish_reason or "",
        )


def check(context: ModelContext) -> None:
    """Raise `UserError` for an unknown name, a missing or malformed key, a cost limit with an unknown price, or proxies and certificates
    that cannot be used. Sends no request."""
    entry = entry_of(context)
    usable_key(context.name, entry)
    check_connections()
    if context.max_cost is not None and not priced(entry):
        raise UserError(unpriced(context.name, context.max_cost))


def provider_model(context: ModelContext) -> ProviderModel:
    """Create the model. Raises what `check` raises."""
    entry = entry_of(context)
    key, key_env = usable_key(context.name, entry)
    check_connections()
    return ProviderModel(
        name=context.name,
        entry=entry,
        ledger=context.ledger,
        native_tools=bool(litellm().supports_function_calling(entry.model) if entry.tools is None else entry.tools),
        api_key=key,
        key_env=key_env,
        window=window(entry),
        temperature=context.temperature,
        call_seconds=context.call_seconds,
    )
