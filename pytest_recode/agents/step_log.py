"""What the transcript and the memory of an agent keep of one step."""

from __future__ import annotations

from typing import Any

from pytest_recode.agents.actions import ProtocolError, Step
from pytest_recode.agents.forms import PARTS
from pytest_recode.agents.prompts import cut
from pytest_recode.agents.protocol import parts_of
from pytest_recode.models import Reply

MAX_REMEMBERED = 24_000
"""Characters of one answer kept in the prompt, some 6,000 tokens: what it wrote is shown as a target anyway."""


def clean(text: str) -> str:
    """The text without lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def step_fields(read: Step | ProtocolError, reply: Reply) -> dict[str, Any]:
    """All four parts of a step, including the missing ones."""
    if isinstance(read, ProtocolError):
        said = parts_of(cut(reply.text, MAX_REMEMBERED))
        actions, note, error = [], "", read.text
    else:
        said = {name: getattr(read, name) for name in PARTS}
        actions, note, error = [action.kind for action in read.actions], read.note, ""
    parts = {name: said.get(name, "") for name in PARTS}
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
    }
