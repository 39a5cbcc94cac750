"""The dialects that the gateway speaks to agents, besides its own: four APIs of providers, for programs that know only these.

A worker reads requests and writes answers with the functions here, which import nothing but the standard library. The gateway
translates (`gateway/agent_call.py`) with litellm's adapters, where they work.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recode.gateway.dialects import anthropic_messages, google_generate, openai_chat, openai_responses
from pytest_recode.gateway.dialects.translation import Dialect
from pytest_recode.gateway.events import MalformedRequest
from pytest_recode.models import Message

DIALECTS: Mapping[str, Dialect] = {
    "chat": openai_chat,
    "responses": openai_responses,
    "messages": anthropic_messages,
    "google": google_generate,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request of an agent asks for.

    `counts`: only the number of tokens of the prompt. `streams`: the answer as server-sent events. `body` has the name of the model,
    also in Google's dialect, where it is part of the path.
    """

    dialect: str
    counts: bool
    streams: bool
    body: Mapping[str, Any]


MAX_DEPTH = 64
"""Objects and lists within each other in a request. Those of agents have ten, and schemas of tools thirty; deeper ones cannot be written again."""
_PATHS = {
    "/chat/completions": ("chat", False),
    "/responses": ("responses", False),
    "/responses/input_tokens": ("responses", True),
    "/messages": ("messages", False),
    "/messages/count_tokens": ("messages", True),
}
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_VERSION = re.compile(r"/v1(alpha\d*|beta\d*)?(?=/)")
_GOOGLE = re.compile(
    r"/models/(?P<model>[^/:]+(?:/[^/:]+)*):(?P<method>generateContent|streamGenerateContent|countTokens)"
)


def asked(method: str, path: str, body: bytes) -> Asked | None:
    """What an HTTP request asks for; None if no dialect has it. Raises `ValueError` for a body that is no JSON object."""
    place = _VERSION.sub("", path.partition("?")[0].rstrip("/"), count=1)
    by_google = _GOOGLE.fullmatch(place)
    if method != "POST" or (place not in _PATHS and by_google is None):
        return None
    try:
        content = _without_surrogates(json.loads(body)) if _SURROGATE.search(body) else json.loads(body)
    except (ValueError, RecursionError) as error:  # also of bytes that are not UTF-8
        raise MalformedRequest(f"the body is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise MalformedRequest("the body must be a JSON object")
    if _is_too_deep(content):
        raise MalformedRequest(f"the body is nested more than {MAX_DEPTH} times")
    if by_google is not None:
        wanted = by_google["method"]
        counts, streams = wanted == "countTokens", wanted == "streamGenerateContent"
        return Asked(dialect="google", counts=counts, streams=streams, body={**content, "model": by_google["model"]})
    dialect, counts = _PATHS[place]
    return Asked(dialect=dialect, counts=counts, streams=not counts and content.get("stream") is True, body=content)


def _without_surrogates(content: Any) -> Any:
    """What no provider can be sent becomes a question mark. Surrogates that are a pair are one character."""
    return json.loads(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace"))


def _is_too_deep(content: object) -> bool:
    level = [content]
    for _ in range(MAX_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inner for value in values if isinstance(value, (dict, list))]  # type: ignore[attr-defined]
        if not level:
            return False
    return True


def key_of(headers: Mapping[str, str]) -> str:
    """The key of a request, wherever a client may write it; "" if there is none."""
    lower = {name.lower(): value for name, value in headers.items()}
    kind, _, token = lower.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token.strip():
        return token.strip()
    return lower.get("x-api-key") or lower.get("x-goog-api-key") or ""


def stream_of(dialect: str, answer: Mapping[str, Any]) -> bytes:
    """The server-sent events of an answer, with one delta for each of its blocks."""
    return DIALECTS[dialect].stream(answer)


def alive_of(asked: Asked) -> bytes:
    """Bytes that keep the client waiting: an event that it skips, or white space before JSON."""
    return DIALECTS[asked.dialect].ALIVE if asked.streams else b"\n"


def counted(asked: Asked) -> dict[str, Any]:
    """The answer to a count of tokens, with an estimate: four characters of the request each."""
    prompt = {key: value for key, value in asked.body.items() if key != "model"}
    return DIALECTS[asked.dialect].count(math.ceil(len(json.dumps(prompt, ensure_ascii=False)) / 4))


def messages_of(dialect: str, body: Mapping[str, Any]) -> tuple[Message, ...]:
    """What the agent has sent: texts, calls of tools and their results. Raises `ValueError` for a body that has no list of messages."""
    return DIALECTS[dialect].messages(body)
