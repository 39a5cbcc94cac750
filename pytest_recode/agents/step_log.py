"""What the transcript and the memory of an agent keep of one step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pytest_recode.agents.actions import ProtocolError, Step
from pytest_recode.agents.forms import PARTS
from pytest_recode.agents.prompt_texts import cut
from pytest_recode.agents.text_form import parts_of
from pytest_recode.agents.tools import arguments_in
from pytest_recode.models import Message, Reply, ToolCall

MAX_REMEMBERED = 24_000
"""Characters of one answer kept in the prompt, some 6,000 tokens: what it wrote is shown as a target anyway."""


def clean(text: str) -> str:
    """The text without lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def step_fields(read: Step | ProtocolError, reply: Reply) -> dict[str, Any]:
    """All four parts of a step, including the missing ones."""
    if isinstance(read, ProtocolError):
        texts = parts_of(cut(reply.text, MAX_REMEMBERED))
        actions, note, error = [], "", read.text
    else:
        texts = {name: getattr(read, name) for name in PARTS}
        actions, note, error = [action.kind for action in read.actions], read.note, ""
    parts = {name: texts.get(name, "") for name in PARTS}
    return {**parts, "actions": actions, "note": note, "error": error, **reply_fields(reply)}


def reply_fields(reply: Reply) -> dict[str, Any]:
    thoughts = {"thoughts": clean(cut(reply.thoughts, MAX_REMEMBERED))} if reply.thoughts else {}
    return {"usage": usage_fields(reply), "finish": reply.finish, **thoughts}


def usage_fields(reply: Reply) -> dict[str, Any]:
    used = reply.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "cost_usd": used.cost_usd,
        **{name: count for name, count in _parts(reply).items() if count},
    }


def _parts(reply: Reply) -> dict[str, int]:
    return {
        "cached_tokens": reply.parts.cache_read,
        "cache_written_tokens": reply.parts.cache_written,
        "reasoning_tokens": reply.parts.reasoning,
    }


def kept_text(reply: Reply) -> str:
    """The text of an answer as it is remembered."""
    said = cut(reply.text, MAX_REMEMBERED)
    return said if said.strip() or reply.tool_calls else "(an empty answer)"


def kept_calls(reply: Reply, names: str) -> tuple[ToolCall, ...]:
    """The calls as they are sent back to the provider: arguments are JSON objects of limited size, and ids are our own, because some
    servers give none or repeat them. Arguments that are not a JSON object are kept as text."""
    calls = []
    whole = sum(len(call.arguments) for call in reply.tool_calls) <= MAX_REMEMBERED
    room = MAX_REMEMBERED if whole else MAX_REMEMBERED // max(len(reply.tool_calls), 1)
    for number, call in enumerate(reply.tool_calls[:64]):
        try:
            arguments = arguments_in(call)
        except ValueError:
            arguments = {"unreadable": call.arguments}
        short = {name: cut(value, room) if isinstance(value, str) else value for name, value in arguments.items()}
        text = json.dumps(short)
        calls.append(
            ToolCall(
                id=f"{names}{number}",
                name=call.name[:64] or "none",
                arguments=text if len(text) <= 4 * room + 1000 else "{}",
            )
        )
    return tuple(calls)


def merged(messages: Sequence[Message]) -> list[Message]:
    """Merge consecutive user messages, because not every provider accepts them."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = Message(role="user", content=f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(message)
    return joined
