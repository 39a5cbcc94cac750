"""OpenAI's Responses, which Codex speaks. The agent sends the whole conversation each time; nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recode.gateway.dialects.translation import (
    JsonObject,
    TargetModel,
    Translated,
    objects,
    response,
    server_sent,
    text_in,
)
from pytest_recode.gateway.events import MalformedRequest
from pytest_recode.models import Message, ToolCall

ALIVE = b'event: keepalive\ndata: {"type": "keepalive"}\n\n'
"""An event of a type that clients skip: Codex does not count comments."""


def translated(body: JsonObject, target: TargetModel) -> Translated:
    from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig

    items = body.get("input")
    if not items or not isinstance(items, str):
        objects(body, "input", required=True)
    objects(body, "tools")
    if body.get("previous_response_id"):
        raise MalformedRequest("previous_response_id: no answer is stored, so a request must have the whole input")
    chat = LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request(
        model=target.model,
        input=items,
        responses_api_request=_rest(body),
        custom_llm_provider=target.provider,
        stream=False,
    )
    return Translated(chat={**chat, "messages": [_plain(each) for each in chat["messages"]]})


def _rest(body: JsonObject) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in ("model", "input", "stream")}


def _plain(message: Any) -> Any:
    """The adapter has some messages as objects."""
    return message if isinstance(message, dict) else message.model_dump(mode="json", exclude_none=True)


def answer(body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
    from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig

    answered = LiteLLMCompletionResponsesConfig.transform_chat_completion_response_to_responses_api_response(
        request_input=body["input"], responses_api_request=_rest(body), chat_completion_response=response(completion)
    )
    dumped: dict[str, Any] = answered.model_dump(mode="json", exclude_none=True)
    return dumped


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
        return Message(role="tool", content=_output(item.get("output")), tool_call_id=called)
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
