"""The same actions as native tool calls: a tool for each, a step's parts as its arguments or as the message's text."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_recode.agents.actions import FORMS, MAX_ACTIONS, PARTS, Action, Form, ProtocolError, Step, action
from pytest_recode.agents.protocol import parse, parts_of
from pytest_recode.models import Reply, Tool, ToolCall

_PART_DOES = {
    "observation": "What you see: the state of the repository, the last results, the feedback.",
    "reflection": "What it means: what is right, what is wrong and why.",
    "planning": "What you will do, in order.",
}


def _tool(kind: str, form: Form) -> Tool:
    takes = {name: {"type": "string", "description": _PART_DOES[name]} for name in PARTS}
    takes |= {name: {"type": "string", "description": meaning} for name, meaning in form.takes.items()}
    return Tool(
        name=kind,
        description=form.does,
        parameters={
            "type": "object",
            "properties": takes,
            "required": [name for name in form.takes if name not in form.optional],
            "additionalProperties": False,
        },
    )


TOOLS: tuple[Tool, ...] = tuple(_tool(kind, form) for kind, form in FORMS.items())


def from_tool_call(call: ToolCall) -> tuple[Action, Mapping[str, str]] | ProtocolError:
    """The action, and the parts of a step that came with it."""
    if call.name not in FORMS:
        return ProtocolError(text=f"There is no tool {call.name[:80]!r}. Choose from: {', '.join(FORMS)}.")
    try:
        given = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return ProtocolError(text=f"The arguments of `{call.name}` are no JSON ({error}). Nothing was done.")
    if not isinstance(given, dict):
        return ProtocolError(
            text=f"The arguments of `{call.name}` are no JSON object but {_json_type(given)}. Nothing was done."
        )
    wrong = next((name for name, value in given.items() if value is not None and not isinstance(value, str)), None)
    if wrong is not None:
        return ProtocolError(
            text=f"`{wrong[:80]}` of `{call.name}` must be a string, not {_json_type(given[wrong])}. Nothing was done."
        )
    parts = {name: given.pop(name) or "" for name in PARTS if name in given}
    made = action(call.name, {name: value for name, value in given.items() if value is not None})
    return made if isinstance(made, ProtocolError) else (made, parts)


def from_reply(reply: Reply) -> Step | ProtocolError:
    """What a model with native tools answered: tool calls, or else the text protocol."""
    if not reply.tool_calls:
        step = parse(reply.text)
        if isinstance(step, ProtocolError) and "### Action" not in reply.text:
            return ProtocolError(text=f"Your answer calls no tool. Call one of: {', '.join(FORMS)}.")
        return step
    if len(reply.tool_calls) > MAX_ACTIONS:
        return ProtocolError(
            text=f"Your answer calls {len(reply.tool_calls)} tools; at most {MAX_ACTIONS} are called at once. "
            "Nothing was done."
        )
    parts = dict(parts_of(reply.text)) if reply.text.strip() else {}
    actions = []
    for call in reply.tool_calls:
        read = from_tool_call(call)
        if isinstance(read, ProtocolError):
            return read
        actions.append(read[0])
        parts.update({name: value for name, value in read[1].items() if value and not parts.get(name)})
    return Step(**parts, actions=tuple(actions))


def _json_type(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")
