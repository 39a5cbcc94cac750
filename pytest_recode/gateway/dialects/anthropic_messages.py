"""Anthropic's Messages, which Claude Code speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recode.gateway.dialects.adapters import messages_to_chat
from pytest_recode.gateway.dialects.translation import (
    JsonObject,
    TargetModel,
    Translated,
    arguments_object,
    objects,
    reasoning,
    server_sent,
    text_in,
)
from pytest_recode.models import Message, ToolCall
from pytest_recode.models.chat_format import parts_of

ALIVE = b'event: ping\ndata: {"type": "ping"}\n\n'


def translated(body: JsonObject, target: TargetModel) -> Translated:
    objects(body, "messages", required=True)
    objects(body, "tools")
    chat, names = messages_to_chat({**body, "model": target.model}, target.provider)
    return Translated(chat=chat, names=names)


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    choice, usage = completion["choices"][0], completion["usage"]
    parts = parts_of(usage)
    message = choice["message"]
    thoughts, signed = reasoning(message)
    content = signed or ([{"type": "thinking", "thinking": thoughts, "signature": ""}] if thoughts else [])
    if text := message.get("content"):  # no empty block, because no request may contain one
        content.append({"type": "text", "text": text})
    content += [_tool_use(call, names) for call in message.get("tool_calls") or ()]
    return {
        "id": f"msg_{completion['id']}",
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": content,
        "stop_reason": _STOPS.get(choice["finish_reason"], "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - parts.cache_read - parts.cache_written,
            "output_tokens": usage["completion_tokens"],
            "cache_creation_input_tokens": parts.cache_written,
            "cache_read_input_tokens": parts.cache_read,
        },
    }


_STOPS = {"length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def _tool_use(call: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    function = call["function"]
    name = names.get(function["name"], function["name"])
    return {"type": "tool_use", "id": call["id"], "name": name, "input": arguments_object(function["arguments"])}


def stream(answer: JsonObject) -> bytes:
    return server_sent(_events(answer), named=True)


def _events(answer: JsonObject) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        start, delta = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for each in delta:
            yield {"type": "content_block_delta", "index": index, "delta": each}
        yield {"type": "content_block_stop", "index": index}
    ended = {key: answer.get(key) for key in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ended, "usage": answer["usage"]}
    yield {"type": "message_stop"}


def _parts(block: JsonObject) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The start of a block and its deltas."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            if block.get("signature"):
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
    return dict(block), []


def count(tokens: int) -> dict[str, Any]:
    return {"input_tokens": tokens}


def messages(body: JsonObject) -> tuple[Message, ...]:
    conversation = [Message(role="system", content=system)] if (system := text_in(body.get("system"))) else []
    for each in objects(body, "messages"):
        conversation += _messages(str(each.get("role")), each.get("content"))
    return tuple(conversation)


def _messages(role: str, content: object) -> Iterator[Message]:
    """The results of tools in a message, then the rest of it."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    calls = []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield Message(
                role="tool",
                content=text_in(block.get("content")),
                tool_call_id=str(block.get("tool_use_id")),
                failed=block.get("is_error") is True,
            )
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
            calls.append(ToolCall(id=str(block.get("id")), name=str(block.get("name")), arguments=arguments))
    text = text_in(content)
    if text or calls or not blocks:
        yield Message(role=role, content=text, tool_calls=tuple(calls))
