"""OpenAI's Responses, which Codex speaks. The agent sends the whole conversation each time; nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recode.gateway.dialects.adapters import responses_to_chat
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
from pytest_recode.gateway.events import MalformedRequest
from pytest_recode.models import Message, ToolCall
from pytest_recode.models.chat_format import parts_of

ALIVE = b'event: keepalive\ndata: {"type": "keepalive"}\n\n'
"""An event of a type that clients skip: Codex does not count comments."""


def translated(body: JsonObject, target: TargetModel) -> Translated:
    items = body.get("input")
    if not items or not isinstance(items, str):
        objects(body, "input", required=True)
    objects(body, "tools")
    if body.get("previous_response_id"):
        raise MalformedRequest("previous_response_id: no answer is stored, so a request must have the whole input")
    options = {key: value for key, value in body.items() if key not in ("model", "input", "stream")}
    chat = responses_to_chat(target.model, items, options, target.provider)
    return Translated(chat={**chat, "messages": _with_one_beginning(chat["messages"])})


def _with_one_beginning(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One message with all instructions before the first one of the user: templates of some models have room for no more."""
    count = next((n for n, message in enumerate(messages) if message["role"] not in _INSTRUCTIONS), len(messages))
    if count < 2:
        return messages
    text = "\n\n".join(text_in(message.get("content")) for message in messages[:count])
    return [{"role": "system", "content": text}, *messages[count:]]


_INSTRUCTIONS = ("system", "developer")


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    choice, usage = completion["choices"][0], completion["usage"]
    parts = parts_of(usage)
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(choice["finish_reason"])
    return {
        "id": f"resp_{completion['id']}",
        "object": "response",
        "created_at": completion["created"],
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": None,
        "metadata": {},
        "model": completion["model"],
        "output": list(_output_items(choice["message"], completion["id"], objects(body, "tools"))),
        "parallel_tool_calls": True,
        "temperature": body.get("temperature"),
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [],
        "top_p": body.get("top_p"),
        "store": False,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": parts.cache_read},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": {"reasoning_tokens": parts.reasoning},
            "total_tokens": usage["prompt_tokens"] + usage["completion_tokens"],
        },
    }


def _output_items(message: JsonObject, name: str, tools: Sequence[JsonObject]) -> Iterator[dict[str, Any]]:
    thoughts, signed = reasoning(message)
    if thoughts or signed:
        shown = [{"type": "reasoning_text", "text": thoughts}] if thoughts else []
        sealed = json.dumps(signed) if signed else None  # litellm's adapter reads them there
        item = {"type": "reasoning", "id": f"rs_{name}", "summary": list[object](), "content": shown}
        yield {**item, "encrypted_content": sealed}
    if text := message.get("content"):
        content = [{"type": "output_text", "text": text, "annotations": []}]
        yield {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}
    yield from _called(message.get("tool_calls") or (), tools)


def _called(calls: Sequence[JsonObject], tools: Sequence[JsonObject]) -> Iterator[dict[str, Any]]:
    custom = {tool.get("name") for tool in tools if tool.get("type") == "custom"}
    spaces = {
        f"{space.get('name')}__{tool.get('name')}": (space.get("name"), tool.get("name"))
        for space in tools
        if space.get("type") == "namespace"
        for tool in objects(space, "tools")
    }
    for call in calls:
        called, arguments = call["function"]["name"], call["function"]["arguments"]
        common = {"call_id": call["id"], "name": called, "status": "completed"}
        if called in custom:
            text = arguments_object(arguments).get(_CUSTOM)
            written = text if isinstance(text, str) else arguments
            yield {"type": "custom_tool_call", "id": f"ctc_{call['id']}", **common, "input": written}
            continue
        if called in spaces:
            common["namespace"], common["name"] = spaces[called]
        yield {"type": "function_call", "id": f"fc_{call['id']}", **common, "arguments": arguments}


_CUSTOM = "content"
"""The only argument of a tool that takes text without a schema, in the tool that litellm's adapter makes of it."""


def stream(answer: JsonObject) -> bytes:
    events = ({**event, "sequence_number": number} for number, event in enumerate(_events(answer)))
    return server_sent(events, named=True)


def _events(answer: JsonObject) -> Iterator[dict[str, Any]]:
    begun = {key: value for key, value in answer.items() if key != "usage"}
    yield {"type": "response.created", "response": {**begun, "status": "in_progress", "output": []}}
    for index, item in enumerate(answer["output"]):
        yield from ({**event, "output_index": index} for event in _item_events(item))
    kind = "response.incomplete" if answer.get("status") == "incomplete" else "response.completed"
    yield {"type": kind, "response": answer}


def _item_events(item: JsonObject) -> Iterator[dict[str, Any]]:
    place = {"item_id": item.get("id", "")}
    match item["type"]:
        case "message":
            yield _added({**item, "content": []})
            for index, part in enumerate(item["content"]):
                yield from ({**event, **place, "content_index": index} for event in _part_events(part))
        case "function_call":
            yield _added({**item, "arguments": ""})
            kind = "response.function_call_arguments"
            yield {"type": f"{kind}.delta", **place, "delta": item["arguments"]}
            yield {"type": f"{kind}.done", **place, "arguments": item["arguments"]}
        case "custom_tool_call":
            yield _added({**item, "input": ""})
            yield {"type": "response.custom_tool_call_input.delta", **place, "delta": item["input"]}
            yield {"type": "response.custom_tool_call_input.done", **place, "input": item["input"]}
        case _:
            yield _added(item)
    yield {"type": "response.output_item.done", "item": item}


def _added(item: JsonObject) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": {**item, "status": "in_progress"}}


def _part_events(part: JsonObject) -> Iterator[dict[str, Any]]:
    if part["type"] != "output_text":
        yield {"type": "response.content_part.added", "part": part}
        yield {"type": "response.content_part.done", "part": part}
        return
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", "delta": part["text"]}
    yield {"type": "response.output_text.done", "text": part["text"]}
    yield {"type": "response.content_part.done", "part": part}


def count(tokens: int) -> dict[str, Any]:
    return {"object": "response.input_tokens", "input_tokens": tokens}


def messages(body: JsonObject) -> tuple[Message, ...]:
    instructions, items = body.get("instructions"), body.get("input")
    first = [Message(role="system", content=instructions)] if isinstance(instructions, str) and instructions else []
    if isinstance(items, str):
        return (*first, Message(role="user", content=items))
    return (*first, *(message for item in objects(body, "input") if (message := _message(item)) is not None))


def _message(item: JsonObject) -> Message | None:
    kind, called = str(item.get("type", "message")), str(item.get("call_id", ""))
    if kind.endswith("_call_output"):
        failed = item.get("status") == "incomplete"
        return Message(role="tool", content=_output(item.get("output")), tool_call_id=called, failed=failed)
    if kind in ("function_call", "custom_tool_call"):
        arguments = str(item.get("arguments", item.get("input", "")))
        call = ToolCall(id=called, name=str(item.get("name", "")), arguments=arguments)
        return Message(role="assistant", content="", tool_calls=(call,))
    if kind != "message":
        return None
    role = str(item.get("role"))
    return Message(role="system" if role == "developer" else role, content=text_in(item.get("content")))


def _output(output: object) -> str:
    if isinstance(output, str):
        return output
    return text_in(output) or json.dumps(output, ensure_ascii=False)
