"""Agents as each dialect knows them: their first request, and the one that follows an answer, short but with the parts that real programs send."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}

FIRST: Mapping[str, Body] = {
    "chat": {
        "model": "alias",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "do it"}],
        "tools": [{"type": "function", "function": {"name": "bash", "description": "run", "parameters": SCHEMA}}],
        "tool_choice": "auto",
        "max_tokens": 8000,
        "stream": True,
        "stream_options": {"include_usage": True},
    },
    "responses": {
        "model": "alias",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be brief"}]},
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "no jokes"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do it"}]},
        ],
        "tools": [{"type": "function", "name": "bash", "description": "run", "parameters": SCHEMA, "strict": False}],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "1d",
        "client_metadata": {"session_id": "1d"},
    },
    "messages": {
        "model": "alias",
        "max_tokens": 32000,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "do it"}]},
            {"role": "system", "content": "# Environment\nno git"},
        ],
        "tools": [{"name": "bash", "description": "run", "input_schema": SCHEMA}],
        "thinking": {"type": "adaptive", "display": "updates"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "{}"},
        "stream": True,
    },
    "google": {
        "model": "alias",
        "systemInstruction": {"role": "user", "parts": [{"text": "be brief"}]},
        "contents": [{"role": "user", "parts": [{"text": "context"}, {"text": "do it"}]}],
        "tools": [{"functionDeclarations": [{"name": "bash", "description": "run", "parametersJsonSchema": SCHEMA}]}],
        "generationConfig": {"temperature": 1, "topP": 0.95, "topK": 64, "thinkingConfig": {"includeThoughts": True}},
    },
}
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages?beta=true",
    "google": "/v1beta/models/alias:streamGenerateContent?alt=sse",
}

Results = Sequence[str]
"""Of the calls of an answer, in their order."""


def _chat(body: dict[str, Any], answer: Body, results: Results) -> None:
    message = answer["choices"][0]["message"]
    body["messages"].append(message)
    calls = message.get("tool_calls", [])
    body["messages"] += [
        {"role": "tool", "tool_call_id": call["id"], "content": text} for call, text in zip(calls, results, strict=True)
    ]


def _responses(body: dict[str, Any], answer: Body, results: Results) -> None:
    body["input"] += answer["output"]
    calls = [item for item in answer["output"] if item["type"].endswith("_call")]
    body["input"] += [
        {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": text}
        for call, text in zip(calls, results, strict=True)
    ]


def _messages(body: dict[str, Any], answer: Body, results: Results) -> None:
    body["messages"].append({"role": "assistant", "content": answer["content"]})
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    given = [
        {"type": "tool_result", "tool_use_id": call["id"], "content": text, "is_error": False}
        for call, text in zip(calls, results, strict=True)
    ]
    if given:
        body["messages"].append({"role": "user", "content": given})


def _google(body: dict[str, Any], answer: Body, results: Results) -> None:
    content = answer["candidates"][0]["content"]
    body["contents"].append(content)
    calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
    given = [
        {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": text}}}
        for call, text in zip(calls, results, strict=True)
    ]
    if given:
        body["contents"].append({"role": "user", "parts": given})


_FURTHER: Mapping[str, Callable[[dict[str, Any], Body, Results], None]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "google": _google,
}


def further(dialect: str, body: Body, answer: Body, results: Results = ()) -> dict[str, Any]:
    """The request that follows an answer to `body`, with the results of its calls."""
    following = copy.deepcopy(dict(body))
    _FURTHER[dialect](following, answer, results)
    return following


def with_text(dialect: str, body: Body, text: str) -> dict[str, Any]:
    """The request with a further message of the user."""
    following = copy.deepcopy(dict(body))
    if dialect == "google":
        following["contents"].append({"role": "user", "parts": [{"text": text}]})
    elif dialect == "responses":
        content = [{"type": "input_text", "text": text}]
        following["input"].append({"type": "message", "role": "user", "content": content})
    else:
        following["messages"].append({"role": "user", "content": text})
    return following


# What a client understands of a stream


def streamed(dialect: str, stream: bytes) -> tuple[str, list[tuple[str, str, Any]]]:
    """The text and the calls (identifier, name, arguments) that a client gets from the deltas of a stream, by the rules of each maker."""
    frames = [frame for frame in stream.decode().split("\n\n") if frame]
    data = [json.loads(frame.partition("data: ")[2]) for frame in frames if not frame.endswith("data: [DONE]")]
    return _CLIENTS[dialect](data)


def _from_chat(chunks: Sequence[Body]) -> tuple[str, list[tuple[str, str, Any]]]:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert [call["index"] for call in calls] == list(range(len(calls)))
    text = "".join(delta.get("content") or "" for delta in deltas)
    return text, [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


def _from_responses(events: Sequence[Body]) -> tuple[str, list[tuple[str, str, Any]]]:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert events[-1]["response"]["output"] == done
    return text, [
        (each["call_id"], each["name"], each["arguments"]) for each in done if each["type"] == "function_call"
    ]


def _from_messages(events: Sequence[Body]) -> tuple[str, list[tuple[str, str, Any]]]:
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "json": ""}
        elif event["type"] == "content_block_delta":
            delta, block = event["delta"], blocks[event["index"]]
            field = {"text_delta": "text", "input_json_delta": "json", "thinking_delta": "thinking"}.get(delta["type"])
            if field is not None:
                block[field] += delta["partial_json" if field == "json" else field]
    assert events[0]["message"]["content"] == []
    assert events[-2]["delta"]["stop_reason"]
    text = "".join(block["text"] for block in blocks.values() if block["type"] == "text")
    calls = [block for block in blocks.values() if block["type"] == "tool_use"]
    return text, [(block["id"], block["name"], block["json"]) for block in calls]


def _from_google(chunks: Sequence[Body]) -> tuple[str, list[tuple[str, str, Any]]]:
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return text, [(call["id"], call["name"], json.dumps(call["args"])) for call in calls]


_CLIENTS: Mapping[str, Callable[[Sequence[Body]], tuple[str, list[tuple[str, str, Any]]]]] = {
    "chat": _from_chat,
    "responses": _from_responses,
    "messages": _from_messages,
    "google": _from_google,
}
