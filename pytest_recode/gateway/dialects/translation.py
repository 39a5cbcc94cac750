"""What the modules of dialects share: the two forms between which they translate.

One is the agent's: a request and an answer in its dialect. The other is OpenAI's chat completions, in which every model is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_recode.gateway.events import MalformedRequest
from pytest_recode.models import Message

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetModel:
    """The model that is asked: its name in litellm, and litellm's name of its provider."""

    model: str
    provider: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """A request in OpenAI's format. `names`: tools whose names are too long for it, by the names that they have there."""

    chat: JsonObject
    names: Mapping[str, str] = field(default_factory=dict)


class Dialect(Protocol):
    """A module of this package. Only `translated` imports litellm: it runs in the gateway."""

    ALIVE: bytes
    """Bytes that keep a client waiting for its stream."""

    def translated(self, body: JsonObject, target: TargetModel) -> Translated:
        """The request in OpenAI's format. Raises any `Exception` for a body that is no request of the dialect."""

    def answer(self, body: JsonObject, completion: JsonObject, names: Mapping[str, str]) -> dict[str, Any]:
        """A chat completion as the answer to the request `body`. Its message may have the provider's `thinking_blocks`."""

    def stream(self, answer: JsonObject) -> bytes:
        """The server-sent events of an answer."""

    def count(self, tokens: int) -> dict[str, Any]:
        """The answer to a request for the number of tokens of a prompt."""

    def messages(self, body: JsonObject) -> tuple[Message, ...]:
        """What the agent has sent: texts, calls of tools and their results; no images and no reasoning."""


def server_sent(events: Iterable[JsonObject], *, named: bool) -> bytes:
    """Events in the format of a stream. `named`: each has a line with its type."""
    return b"".join(
        (f"event: {event['type']}\n" if named else "").encode() + b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )


def objects(body: JsonObject, key: str, *, required: bool = False) -> Sequence[dict[str, Any]]:
    """A list of JSON objects in `body`. Raises `MalformedRequest` for another value."""
    listed = body.get(key)
    if listed is None and not required:
        return ()
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed) or (required and not listed):
        raise MalformedRequest(f"{key} must be a list of objects{' that is not empty' if required else ''}")
    return listed


def text_in(content: object, kinds: Sequence[str] = ("text", "input_text", "output_text")) -> str:
    """The text of a content: a text, or the parts of these types in a list, one under the other."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (each if isinstance(each, str) else each.get("text") for each in parts if _is_text(each, kinds))
    return "\n".join(text for text in texts if isinstance(text, str))


def _is_text(part: object, kinds: Sequence[str]) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in kinds)


def arguments_object(arguments: str) -> dict[str, Any]:
    """The arguments of a call for a dialect that has them as an object. The agent's own check refuses arguments that are none."""
    if not arguments.strip():
        return {}
    try:
        parsed = json.loads(arguments)
    except ValueError:
        parsed = None
    return parsed if isinstance(parsed, dict) else {MALFORMED_ARGUMENTS: arguments}


MALFORMED_ARGUMENTS = "malformed_arguments"
"""The only argument of a call whose arguments are no JSON object: the model's text."""


def reasoning(message: JsonObject) -> tuple[str, list[dict[str, Any]]]:
    """The thoughts of an answer as text, and those that are signed, which its provider wants back."""
    signed = [block for block in message.get("thinking_blocks") or () if block.get("signature") or block.get("data")]
    return message.get("reasoning_content") or "", signed
