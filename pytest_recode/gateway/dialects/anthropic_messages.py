"""Anthropic's Messages, which Claude Code speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recode.gateway.dialects.translation import (
    JsonObject,
    TargetModel,
    Translated,
    arguments_object,
    objects,
    response,
    server_sent,
    text_in,
)
from pytest_recode.models import Message, ToolCall

ALIVE = b'event: ping\ndata: {"type": "ping"}\n\n'


def translated(body: JsonObject, target: TargetModel) -> Translated:
    from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter

    objects(body, "messages", required=True)
    objects(body, "tools")
    request = {**body, "model": target.model}
    chat, names = LiteLLMAnthropicMessagesAdapter().translate_anthropic_to_openai(
        request, custom_llm_provider=target.provider
    )
    return Translated(chat=chat, names=names)


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter

    readable = {**completion, "choices": [_with_objects(choice) for choice in completion["choices"]]}
    found = LiteLLMAnthropicMessagesAdapter().translate_openai_response_to_anthropic(response(readable), dict(names))
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def _with_objects(choice: JsonObject) -> dict[str, Any]:
    """The choice with JSON objects as arguments of its calls: the adapter raises for any other text."""
    message = dict(choice["message"])
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": _object_text(call["function"]["arguments"])}}
            for call in calls
        ]
    return {**choice, "message": message}


def _object_text(arguments: str) -> str:
    return json.dumps(arguments_object(arguments))


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
                role="tool", content=text_in(block.get("content")), tool_call_id=str(block.get("tool_use_id"))
            )
        elif block.get("type") == "tool_use":
            arguments = json.dumps(block.get("input", {}), ensure_ascii=False)
            calls.append(ToolCall(id=str(block.get("id")), name=str(block.get("name")), arguments=arguments))
    text = text_in(content)
    if text or calls or not blocks:
        yield Message(role=role, content=text, tool_calls=tuple(calls))
