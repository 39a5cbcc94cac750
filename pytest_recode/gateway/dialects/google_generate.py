"""Google's generateContent, which Gemini CLI speaks.

The translation is our own: that of litellm gives all calls of one tool the same identifier, which other providers refuse.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recode.gateway.dialects.translation import (
    JsonObject,
    TargetModel,
    Translated,
    arguments_object,
    objects,
    server_sent,
)
from pytest_recode.models import Message, ToolCall
from pytest_recode.models.chat_format import parts_of

ALIVE = b"\n"
"""An empty line: after a comment, Gemini CLI discards the answer and asks again."""
_FAILED = "failed"
"""Key of a result that is an error, for `messages`."""
_SIGNATURE = "__thought__"
"""litellm's separator between the identifier of a call and the signature of the thoughts before it."""


def translated(body: JsonObject, target: TargetModel) -> Translated:
    objects(body, "contents", required=True)
    config = body.get("generationConfig") or {}
    messages = [{key: value for key, value in each.items() if key != _FAILED} for each in _Calls().chat(body)]
    chat: dict[str, Any] = {"messages": [*_system(body), *messages], **_options(config)}
    if tools := [_tool(each) for group in objects(body, "tools") for each in _declared(group)]:
        chat["tools"] = tools
        if choice := _tool_choice(body.get("toolConfig") or body.get("tool_config") or {}):
            chat["tool_choice"] = choice
    return Translated(chat=chat)


def _system(body: JsonObject) -> list[dict[str, Any]]:
    text = _text(_parts(body.get("systemInstruction") or body.get("system_instruction")))
    return [{"role": "system", "content": text}] if text else []


class _Calls:
    """The calls of a conversation, which get an identifier where the agent sends none: results belong to the oldest open call of a tool."""

    def __init__(self) -> None:
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)
        self._count = 0

    def chat(self, body: JsonObject) -> Iterator[dict[str, Any]]:
        """The messages in OpenAI's format."""
        for content in objects(body, "contents", required=True):
            parts = _parts(content)
            if content.get("role") == "model":
                yield self._from_model(parts)
                continue
            yield from (self._result(part) for part in parts if _field(part, "functionResponse") is not None)
            if user_parts := [shown for part in parts if (shown := _shown(part)) is not None]:
                yield {"role": "user", "content": user_parts[0]["text"] if _only_text(user_parts) else user_parts}

    def _from_model(self, parts: Sequence[JsonObject]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": _text(parts) or None}
        if calls := [self._call(part) for part in parts if _field(part, "functionCall") is not None]:
            message["tool_calls"] = calls
        elif message["content"] is None:
            message["content"] = ""
        return message

    def _call(self, part: JsonObject) -> dict[str, Any]:
        called = _field(part, "functionCall")
        name = str(called.get("name", ""))
        identifier = called.get("id")
        if not identifier:
            self._count += 1
            identifier = f"call_{self._count}"
        self._open[name].append(identifier)
        arguments = json.dumps(called.get("args") or {}, ensure_ascii=False)
        signature = part.get("thoughtSignature")
        if signature and _SIGNATURE not in identifier:
            identifier = f"{identifier}{_SIGNATURE}{signature}"
            self._open[name][-1] = identifier
        return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}

    def _result(self, part: JsonObject) -> dict[str, Any]:
        result = _field(part, "functionResponse")
        waiting = self._open[str(result.get("name", ""))]
        own = result.get("id")
        match = next((each for each in waiting if own and each.partition(_SIGNATURE)[0] == own), None)
        if match is None and waiting:
            match = waiting[0]
        if match is not None:
            waiting.remove(match)
        response = result.get("response")
        text = json.dumps(response, ensure_ascii=False)
        failed = isinstance(response, Mapping) and "error" in response and "output" not in response
        message = {"role": "tool", "tool_call_id": match or own or "call_0", "content": text}
        return message | ({_FAILED: True} if failed else {})


def _parts(content: object) -> list[JsonObject]:
    """The parts of a content: one of them may stand alone, and so may a text."""
    parts = content.get("parts", ()) if isinstance(content, Mapping) else content
    listed = parts if isinstance(parts, list) else [parts]
    return [{"text": each} if isinstance(each, str) else each for each in listed if isinstance(each, (str, Mapping))]


def _field(part: JsonObject, name: str) -> Any:
    """A field by either of Google's spellings."""
    return part.get(name, part.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)))


def _text(parts: Sequence[JsonObject]) -> str:
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))


def _shown(part: JsonObject) -> dict[str, Any] | None:
    """A text or an image in OpenAI's format."""
    if isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if (data := _field(part, "inlineData")) is None:
        return None
    kind = _field(data, "mimeType") or "image/png"
    url = f"data:{kind};base64,{data.get('data', '')}"
    if str(kind).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url}}


def _only_text(parts: Sequence[JsonObject]) -> bool:
    return len(parts) == 1 and parts[0]["type"] == "text"


_OPTIONS = {"maxOutputTokens": "max_tokens", "temperature": "temperature", "topP": "top_p", "stopSequences": "stop"}


def _options(config: JsonObject) -> dict[str, Any]:
    chat = {ours: config[theirs] for theirs, ours in _OPTIONS.items() if config.get(theirs) is not None}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if isinstance(schema, Mapping):
        form = {"name": "answer", "schema": _lower_types(schema)}
        chat["response_format"] = {"type": "json_schema", "json_schema": form}
    return chat


def _declared(group: JsonObject) -> Sequence[JsonObject]:
    declared = _field(group, "functionDeclarations")
    return [each for each in declared if isinstance(each, Mapping)] if isinstance(declared, list) else []


def _tool(declared: JsonObject) -> dict[str, Any]:
    parameters = declared.get("parametersJsonSchema") or declared.get("parameters")
    function = {"name": declared.get("name", ""), "description": declared.get("description", "")}
    function["parameters"] = _lower_types(parameters or {"type": "object", "properties": {}})
    return {"type": "function", "function": function}


def _lower_types(schema: Any) -> Any:
    """A schema with the types of JSON schema: Google also writes them in capitals."""
    if isinstance(schema, Mapping):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
            for key, value in schema.items()
        }
    return [_lower_types(each) for each in schema] if isinstance(schema, list) else schema


def _tool_choice(config: JsonObject) -> str:
    calling = _field(config, "functionCallingConfig") or {}
    return {"ANY": "required", "NONE": "none", "AUTO": "auto"}.get(str(calling.get("mode")), "")


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    choice, usage = completion["choices"][0], completion["usage"]
    apart = parts_of(usage)
    message = choice["message"]
    parts: list[dict[str, Any]] = []
    if thoughts := message.get("reasoning_content"):
        parts.append({"text": thoughts, "thought": True})
    if text := message.get("content"):
        parts.append({"text": text})
    parts += [_function_call(call) for call in message.get("tool_calls") or ()]
    counts = {
        "promptTokenCount": usage["prompt_tokens"],
        "candidatesTokenCount": usage["completion_tokens"] - apart.reasoning,
        "totalTokenCount": usage["prompt_tokens"] + usage["completion_tokens"],
    }
    counts |= {"cachedContentTokenCount": apart.cache_read} if apart.cache_read else {}
    counts |= {"thoughtsTokenCount": apart.reasoning} if apart.reasoning else {}
    finish = _FINISH.get(choice.get("finish_reason") or "", "STOP")
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
    return {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": completion["model"],
        "responseId": completion["id"],
    }


_FINISH = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}


def _function_call(call: JsonObject) -> dict[str, Any]:
    identifier, _, signature = call["id"].partition(_SIGNATURE)
    function = call["function"]
    called = {"id": identifier, "name": function["name"], "args": arguments_object(function["arguments"])}
    return {"functionCall": called, **({"thoughtSignature": signature} if signature else {})}


def stream(answer: JsonObject) -> bytes:
    return server_sent([answer], named=False)


def count(tokens: int) -> dict[str, Any]:
    return {"totalTokens": tokens}


def messages(body: JsonObject) -> tuple[Message, ...]:
    chat = [*_system(body), *(_Calls().chat(body) if body.get("contents") else ())]
    return tuple(
        Message(
            role=message["role"],
            content=_content_text(message["content"]),
            tool_calls=tuple(_tool_call(call) for call in message.get("tool_calls", ())),
            tool_call_id=message.get("tool_call_id", "").partition(_SIGNATURE)[0],
            failed=message.get(_FAILED, False),
        )
        for message in chat
    )


def _content_text(content: object) -> str:
    return content if isinstance(content, str) else _text(_parts(content or []))


def _tool_call(call: JsonObject) -> ToolCall:
    function = call["function"]
    return ToolCall(id=call["id"].partition(_SIGNATURE)[0], name=function["name"], arguments=function["arguments"])
