"""Messages of an agent, in OpenAI's format, as every provider takes them.

Agents know the rules of one provider. Others refuse a call of a tool without its result right behind it, two results of one call, an
image in a result, and fields of another provider.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NO_RESULT = "(no result: the call was interrupted)"
NO_IMAGE = "(an image, which this model does not read)"

_REASONING = ("thinking_blocks", "reasoning_content", "reasoning_items", "reasoning")

_Json = dict[str, Any]


def prepared(
    messages: Sequence[Mapping[str, Any]], own: Mapping[str, str], *, images: bool, in_results: bool
) -> list[_Json]:
    """The messages to send.

    `own`: JSON objects with the provider's own fields of an answer, by the identifiers of its calls. They replace what the agent has made
    of them; only signed thoughts stay as the agent has them. `images`: whether the model reads images. `in_results`: also those
    in results of tools; else they follow the results.
    """
    shown = [_message(each, own, images=images) for each in messages]
    return list(_with_results(shown, in_results=in_results))


def _message(message: Mapping[str, Any], own: Mapping[str, str], *, images: bool) -> _Json:
    sent = {key: value for key, value in message.items() if key not in _REASONING}
    if isinstance(sent.get("content"), list) and not images:
        sent["content"] = [_without_image(part) for part in sent["content"]]
    if message.get("role") != "assistant":
        return sent
    if signed := [block for block in message.get("thinking_blocks") or () if _is_signed(block)]:
        sent["thinking_blocks"] = signed
    if calls := message.get("tool_calls"):
        sent["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
        sent = json.loads(own.get(calls[0].get("id"), "{}")) | sent
    else:
        sent.pop("tool_calls", None)
    return sent


def _is_signed(block: Mapping[str, Any]) -> bool:
    return bool(block.get("signature") or block.get("data"))


def _without_image(part: Any) -> Any:
    is_image = isinstance(part, dict) and part.get("type") == "image_url"
    return {"type": "text", "text": NO_IMAGE} if is_image else part


def _with_results(messages: Sequence[_Json], *, in_results: bool) -> Iterator[_Json]:
    """Each call is followed by one result. A further result of a call is left out; one of an unknown call is the user's text."""
    results: defaultdict[str, deque[_Json]] = defaultdict(deque)
    for message in messages:
        if message.get("role") == "tool":
            results[str(message.get("tool_call_id"))].append(message)
    called = {str(call.get("id")) for message in messages for call in message.get("tool_calls") or ()}
    for message in messages:
        if message.get("role") != "tool":
            yield message
            answered = [_result(results[str(call.get("id"))], call) for call in message.get("tool_calls") or ()]
            yield from answered if in_results else _images_behind(answered)
        elif str(message.get("tool_call_id")) not in called:
            yield {"role": "user", "content": message.get("content") or NO_RESULT}


def _result(results: deque[_Json], call: Mapping[str, Any]) -> _Json:
    return results.popleft() if results else {"role": "tool", "tool_call_id": call.get("id"), "content": NO_RESULT}


def _images_behind(results: Sequence[_Json]) -> Iterator[_Json]:
    """Results with texts only, then a message with everything else that they have."""
    others: list[Any] = []
    for result in results:
        if isinstance(content := result.get("content"), list):
            texts = [part["text"] for part in content if _is_text(part)]
            others += [part for part in content if not _is_text(part)]
            result = {**result, "content": "\n".join(texts)}
        yield result
    if others:
        yield {"role": "user", "content": others}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)
