"""Any model that litellm knows, and any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from pytest_recode.faults import ModelFault, UserError
from pytest_recode.models import Ledger, Message, ModelContext, ModelKind, Reply, Tool, ToolCall, Usage
from pytest_recode.models.client import cost, litellm, priced, within
from pytest_recode.models.ledger import unpriced
from pytest_recode.models.retry import Failure, Retries, failure
from pytest_recode.models.table import Entry, close_names, names, resolve


@dataclass(slots=True, kw_only=True)
class LitellmModel:
    """`entry` names the model and its provider; the key, unless given, is litellm's to find in the environment."""

    name: str
    entry: Entry
    ledger: Ledger
    native_tools: bool
    api_key: str | None = None
    temperature: float | None = None
    call_seconds: float = 600.0
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
        start = time.monotonic()
        for tried in itertools.count(1):
            self.ledger.before_call(self.name)
            answer = self._ask(request)
            if isinstance(answer, Reply):
                self.ledger.spent(self.name, answer.usage)
                return answer
            pause = self.retries.pause(tried, answer, time.monotonic() - start)
            if pause is None:
                error = self.retries.error(self.name, answer, tried, time.monotonic() - start)
                if error.fatal:
                    self.ledger.fault(error)
                raise error
            self.retries.wait(pause)
        raise AssertionError("unreachable")

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
        return request | {
            "model": self.entry.model,
            "messages": [_message(message) for message in messages],
            "api_base": self.entry.api_base,
            "api_key": self.api_key,
            "timeout": self.call_seconds,
            "drop_params": True,  # a model that takes no temperature is asked without
            "num_retries": 0,  # ours alone, so that each is bounded and told
            "max_retries": 0,
        }

    def _ask(self, request: Mapping[str, Any]) -> Reply | Failure:
        client = litellm()
        try:
            response = within(self.call_seconds, lambda: client.completion(**request, **self._extra))
        except ModuleNotFoundError as error:
            # Some releases import an optional package as soon as there are tools. Nothing was sent yet.
            if error.name != "mcp" or self._extra:
                raise
            self._extra["_skip_mcp_handler"] = True
            return self._ask(request)
        except TimeoutError:
            return Failure(fault=ModelFault.TIMEOUT, detail=f"no whole answer within {self.call_seconds:g} s")
        except Exception as error:
            if (failed := failure(error)) is None:
                raise
            return self._placed(failed)
        if not getattr(response, "choices", None):
            return Failure(fault=ModelFault.SERVER, detail="the answer holds no choices")
        return self._reply(response, request["messages"])

    def _placed(self, failed: Failure) -> Failure:
        """With the address, where that may be what is wrong; without a password that it may hold."""
        if self.entry.api_base is None or failed.fault not in {ModelFault.CONNECTION, ModelFault.UNKNOWN}:
            return failed
        url = urlsplit(self.entry.api_base)
        address = url._replace(netloc=url.netloc.rpartition("@")[2], query="").geturl()
        return replace(failed, detail=f"{failed.detail} (asked at {address})")

    def _reply(self, response: Any, messages: Sequence[Mapping[str, Any]]) -> Reply:
        choice = response.choices[0]
        said = choice.message
        refusal = (getattr(said, "provider_specific_fields", None) or {}).get("refusal")
        text = _text(said.content or getattr(said, "refusal", None) or refusal)
        calls = tuple(
            ToolCall(
                id=_text(call.id) or f"call_{number}",
                name=_text(call.function.name),
                arguments=_text(call.function.arguments),
            )
            for number, call in enumerate(said.tool_calls or ())
        )
        written = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
        usage = self._usage(response, sum(len(str(message)) for message in messages), written)
        return Reply(text=text, tool_calls=calls, usage=usage, finish=choice.finish_reason or "")

    def _usage(self, response: Any, asked: int, written: int) -> Usage:
        """As the provider counted; where it said nothing, four characters to the token."""
        told = getattr(response, "usage", None)
        prompt = getattr(told, "prompt_tokens", None) or 0
        completion = getattr(told, "completion_tokens", None) or 0
        if not prompt and not completion:
            prompt, completion = math.ceil(asked / 4), math.ceil(written / 4)
            response = None
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cost_usd=cost(self.entry, prompt, completion, response),
        )


def check(context: ModelContext) -> None:
    """Raises `UserError` for an unknown name, a missing key, or a limit on costs that are not known. Asks nobody."""
    entry = _entry(context)
    _key(context.name, entry)
    if context.max_cost is not None and not priced(entry):
        raise UserError(unpriced(context.name, context.max_cost))


def make(context: ModelContext) -> LitellmModel:
    """Raises what `check` raises."""
    entry = _entry(context)
    tools = entry.tools if entry.tools is not None else litellm().supports_function_calling(entry.model)
    return LitellmModel(
        name=context.name,
        entry=entry,
        ledger=context.ledger,
        native_tools=bool(tools),
        api_key=_key(context.name, entry),
        temperature=context.temperature,
        call_seconds=context.call_seconds,
    )


KIND = ModelKind(make=make, check=check)


def _entry(context: ModelContext) -> Entry:
    """The name's entry, with a provider that litellm knows. An alias's own api_base beats the run's."""
    entry = resolve(context.name, context.table)
    entry = replace(entry, api_base=entry.api_base or context.api_base)
    if _known(entry.model):
        return entry
    if entry.api_base is None:
        raise UserError(_unknown(context, entry))
    return replace(entry, model=f"openai/{entry.model}")


def _known(model: str) -> bool:
    """With a provider, any name; without, only what litellm lists: it takes any `claude-…` for Anthropic's."""
    client = litellm()
    try:
        client.get_llm_provider(model)
    except client.exceptions.BadRequestError:
        return False
    return "/" in model or ":" in model or model in client.model_cost


def _unknown(context: ModelContext, entry: Entry) -> str:
    near = close_names(entry.model, context.table)
    guess = f" (did you mean {' or '.join(near)}?)" if near else ""
    alias = f" (which {context.name} stands for)" if entry.model != context.name else ""
    return (
        f"unknown model {entry.model!r}{alias}{guess}: short names are {', '.join(names(context.table))}; "
        "any litellm name with its provider works, such as openai/gpt-5; a local server's with --recode-api-base"
    )


# They sign in by other means than one key in the environment as well.
_OTHER_SIGN_IN = frozenset({"azure", "azure_ai", "bedrock", "sagemaker", "vertex_ai", "watsonx", "github_copilot"})


def _key(name: str, entry: Entry) -> str | None:
    """The key to send; None: litellm finds the provider's usual one. Raises `UserError` where there is none."""
    client = litellm()
    if entry.api_key_env:
        if key := os.environ.get(entry.api_key_env):
            return key
        missing = [entry.api_key_env]
    else:
        provider = client.get_llm_provider(entry.model)[1]
        found = client.validate_environment(entry.model)["missing_keys"]
        missing = [key for key in found if key.endswith("_API_KEY") and provider not in _OTHER_SIGN_IN]
    if not missing:
        return None
    if entry.api_base is not None and not entry.api_key_env:
        return "none"  # a server of the user's own: litellm insists on some key, the server on none
    raise UserError(
        f"model {name} needs {' or '.join(missing)}, which is not set: export it, "
        "or try the offline model --recode-model=sim/graduate"
    )


def _strict(schema: object) -> bool:
    """Whether a provider that enforces schemas would take this one: closed objects, every property required."""
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
    """JSON may carry halves of surrogate pairs, which no file or frame takes."""
    return str(value or "").encode("utf-8", "replace").decode("utf-8")
