"""Read one choice of a provider's response, as litellm returns it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recode.models import ToolCall

_FAILED = re.compile(r"error|abort|cancel|insufficient|timeout|unavailable", re.IGNORECASE)
"""In reasons for the end of an answer that OpenAI's format does not have: the provider failed, and the answer is not whole."""


def failed_choice(choice: Any) -> str:
    """Why the provider failed in the middle of this answer; "" if it did not. Such a response has status 200."""
    fields = getattr(choice, "provider_specific_fields", None) or {}
    reason = str(choice.finish_reason or "")
    if reason == "stop":  # litellm's word for every reason that it does not know
        reason = str(fields.get("native_finish_reason") or reason)
    error = fields.get("error") or getattr(choice, "error", None)
    if not error and not _FAILED.search(reason):
        return ""
    message = error.get("message") if isinstance(error, Mapping) else error
    more = f": {text_of(message)}" if message else ""
    return f"the provider failed during its answer (finish_reason {reason}){more}"


def tool_calls(message: Any) -> tuple[ToolCall, ...]:
    """The calls of a message, including those of the older form `function_call`, and of tools without a schema (`custom`)."""
    return tuple(
        ToolCall(id=text_of(identifier) or f"call_{number}", name=text_of(name), arguments=text_of(arguments))
        for number, (identifier, name, arguments) in enumerate(_called(message))
    )


def _called(message: Any) -> Iterator[tuple[object, object, object]]:
    for call in message.tool_calls or ():
        if (custom := getattr(call, "custom", None)) is not None:
            yield call.id, _field(custom, "name"), _field(custom, "input")
        else:
            yield call.id, call.function.name, call.function.arguments
    if not message.tool_calls and (old := getattr(message, "function_call", None)) is not None:
        yield "", _field(old, "name"), _field(old, "arguments")


def _field(value: Any, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def opaque_of(message: Any, *, always: bool = False) -> str:
    """The fields that belong to the provider alone, as JSON: it gets them back unchanged with the tool calls of this message.

    "" without calls of tools, unless `always`.
    """
    if not message.tool_calls and not always:
        return ""
    own = getattr(message, "provider_specific_fields", None) or {}
    names = ["thinking_blocks", "reasoning_items"]
    if "reasoning" not in own:  # litellm's name for that field of servers, such as Groq's, that refuse any other
        names.append("reasoning_content")
    fields = {name: value for name in names if (value := getattr(message, name, None))}
    return json.dumps(fields) if fields else ""


def text_of(value: object) -> str:
    """The text without lone surrogates, which JSON may contain but files and frames cannot."""
    return str(value or "").encode("utf-8", "replace").decode("utf-8")
