"""OpenAI's chat completions format: requests and replies as JSON values.

Requests to litellm have this format, and so have requests and answers between workers and the gateway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.models import Message, Reply, TokenParts, Tool, ToolCall
from pytest_recode.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked: `messages` and `tools` in OpenAI's format, and the JSON schema of the wanted answer, or None."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    schema: Mapping[str, Any] | None = None


def chat_request(
    messages: Sequence[Message], tools: Sequence[Tool] = (), schema: Mapping[str, Any] | None = None
) -> ChatRequest:
    return ChatRequest(
        messages=[_message(each) for each in messages], tools=[_tool(each) for each in tools], schema=schema
    )


def request_body(model: str, request: ChatRequest) -> dict[str, Any]:
    """The body of a request for a chat completion."""
    body: dict[str, Any] = {"model": model, "messages": list(request.messages)}
    if request.tools:
        body["tools"] = list(request.tools)
    if request.schema is not None:
        body["response_format"] = response_format(request.schema)
    return body


def request_of(body: Mapping[str, Any]) -> ChatRequest:
    """The request of a body. Raises `ValueError` for a body that has another form."""
    messages, tools = body.get("messages"), body.get("tools", [])
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise ValueError("messages must be a list of objects that is not empty")
    if not isinstance(tools, list) or not all(isinstance(each, dict) for each in tools):
        raise ValueError("tools must be a list of objects")
    if body.get("stream"):
        raise ValueError("stream is not supported: ask for a whole completion")
    wanted = body.get("response_format")
    try:
        schema = wanted["json_schema"]["schema"] if wanted is not None else None
    except (TypeError, KeyError):
        raise ValueError("response_format must be of type json_schema") from None
    return ChatRequest(messages=messages, tools=tools, schema=schema)


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": dict(schema), "strict": _strict(schema)},
    }


def completion(model: str, reply: Reply) -> dict[str, Any]:
    """A reply as a chat completion. `usage.cost` is in US dollars, as some providers report it; null if the price is unknown."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.thoughts:
        message["reasoning_content"] = reply.thoughts
    if reply.opaque:
        message["opaque"] = reply.opaque
    if reply.tool_calls:
        message["tool_calls"] = [_call(call) for call in reply.tool_calls]
    return {
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": usage_json(reply.usage) | _parts_json(reply.parts),
    }


def reply_of(body: Mapping[str, Any]) -> Reply:
    """The reply of a chat completion that `completion` made."""
    choice = body["choices"][0]
    message = choice["message"]
    return Reply(
        text=message["content"],
        thoughts=message.get("reasoning_content", ""),
        opaque=message.get("opaque", ""),
        tool_calls=tuple(
            ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ),
        usage=usage_of(body["usage"]),
        parts=parts_of(body["usage"]),
        finish=choice["finish_reason"],
    )


def usage_json(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost": usage.cost_usd,
    }


def usage_of(body: Mapping[str, Any]) -> Usage:
    return Usage(
        prompt_tokens=body["prompt_tokens"], completion_tokens=body["completion_tokens"], cost_usd=body["cost"]
    )


def parts_of(usage: Mapping[str, Any]) -> TokenParts:
    """The parts of a usage in OpenAI's format, in which `completion` writes them."""
    return TokenParts(
        cache_read=usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        cache_written=usage.get("cache_creation_input_tokens", 0),
        reasoning=usage.get("completion_tokens_details", {}).get("reasoning_tokens", 0),
    )


def _parts_json(parts: TokenParts) -> dict[str, Any]:
    """Nothing for what is 0. OpenAI's format has no place for tokens that were written to a cache: this one is litellm's."""
    fields = {
        "prompt_tokens_details": {"cached_tokens": parts.cache_read} if parts.cache_read else None,
        "completion_tokens_details": {"reasoning_tokens": parts.reasoning} if parts.reasoning else None,
        "cache_creation_input_tokens": parts.cache_written,
    }
    return {name: value for name, value in fields.items() if value}


def _message(message: Message) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.opaque:
        out |= json.loads(message.opaque)
    if message.tool_calls:
        out["content"] = message.content or None
        out["tool_calls"] = [_call(call) for call in message.tool_calls]
    if message.role == "tool":
        out["tool_call_id"] = message.tool_call_id
    return out


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


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
