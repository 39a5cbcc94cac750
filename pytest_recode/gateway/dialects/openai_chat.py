"""OpenAI's chat completions, which OpenCode, Qwen Code, pi, aider and many others speak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recode.gateway.dialects.translation import (
    JsonObject,
    TargetModel,
    Translated,
    objects,
    server_sent,
    text_in,
)
from pytest_recode.models import Message, ToolCall

ALIVE = b": waiting for the model\n\n"


def translated(body: JsonObject, target: TargetModel) -> Translated:
    objects(body, "messages", required=True)
    objects(body, "tools")
    return Translated(chat=body)


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    choice = completion["choices"][0]
    message = {name: choice["message"].get(name) or None for name in ("role", "content")}
    message |= {name: value for name in ("tool_calls", "reasoning_content") if (value := choice["message"].get(name))}
    if "tool_calls" not in message and message["content"] is None:
        message["content"] = ""
    return {
        "id": f"chatcmpl-{completion['id']}",
        "object": "chat.completion",
        "created": completion["created"],
        "model": completion["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": choice["finish_reason"], "logprobs": None}],
        "usage": completion["usage"],
    }


def stream(answer: JsonObject) -> bytes:
    return server_sent(_chunks(answer), named=False) + b"data: [DONE]\n\n"


def _chunks(answer: JsonObject) -> Iterator[dict[str, Any]]:
    """The last chunk has the usage, so that clients that did not ask for it meet no chunk without a choice."""
    common = {key: answer[key] for key in ("id", "created", "model") if key in answer}
    common["object"] = "chat.completion.chunk"
    choice = answer["choices"][0]
    message = choice["message"]
    delta = {key: value for key, value in message.items() if key != "tool_calls"}
    if calls := message.get("tool_calls"):
        delta["tool_calls"] = [{"index": number, **call} for number, call in enumerate(calls)]
    yield {**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"index": 0, "delta": {}, "finish_reason": choice.get("finish_reason")}
    yield {**common, "choices": [last], "usage": answer.get("usage")}


def count(tokens: int) -> dict[str, Any]:
    """OpenAI has no such request: the form of its Responses."""
    return {"object": "response.input_tokens", "input_tokens": tokens}


def messages(body: JsonObject) -> tuple[Message, ...]:
    return tuple(_message(each) for each in objects(body, "messages"))


def _message(message: JsonObject) -> Message:
    calls = message.get("tool_calls") or ()
    return Message(
        role="system" if message.get("role") == "developer" else str(message.get("role")),
        content=text_in(message.get("content")),
        tool_calls=tuple(_call(call) for call in calls if isinstance(call, dict)),
        tool_call_id=str(message.get("tool_call_id") or ""),
    )


def _call(call: JsonObject) -> ToolCall:
    called = call.get("function") or call.get("custom") or {}
    arguments = called.get("arguments", called.get("input", ""))
    return ToolCall(id=str(call.get("id", "")), name=str(called.get("name", "")), arguments=str(arguments))
