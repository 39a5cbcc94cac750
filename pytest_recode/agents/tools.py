"""The actions as native tool calls: one tool per action; the parts of a step are arguments or the message's text.

A call is taken as it is given: a tool of FORMS, with its arguments as one JSON object. Whatever else a model answers is told and asked again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_recode.agents.actions import MAX_ACTIONS, Action, ProtocolError, Step, arguments_of, of_the_whole
from pytest_recode.agents.arguments import action
from pytest_recode.agents.forms import FORMS, PARTS, Form
from pytest_recode.agents.text_form import ANY_FILE, beside_calls, call_note, read_text
from pytest_recode.agents.unfinished import unfinished
from pytest_recode.models import Reply, Tool, ToolCall


def _tool(kind: str, form: Form) -> Tool:
    """The schema of one tool. The parts of a step are described once, in the system prompt."""
    takes = {name: {"type": "string"} for name in PARTS}
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

NO_CALL = f"Your answer calls no tool. Call one of: {', '.join(FORMS)}."


def arguments_in(call: ToolCall) -> dict[str, object]:
    """The arguments of a call. Raises ValueError if they are no JSON object; none at all are an empty one."""
    try:
        arguments = json.loads(call.arguments or "{}", strict=False, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("are nested too deeply") from None
    except _TwiceError:
        raise
    except ValueError as error:
        raise ValueError(f"are no JSON ({error})") from None
    if isinstance(arguments, str):
        raise ValueError("are a string that may hold JSON; give the object itself")
    if not isinstance(arguments, dict):
        raise ValueError("are no JSON object")
    return arguments


class _TwiceError(ValueError):
    """An object has a key twice."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object. Raises _TwiceError."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise _TwiceError(f"have `{twice[:80]}` twice")
    return values


def from_tool_call(call: ToolCall) -> tuple[Action, Mapping[str, str]]:
    """The action, and the parts of a step in its arguments. Raises ValueError with what is told to the model."""
    if call.name not in FORMS:
        raise ValueError(f"There is no tool `{call.name[:80]}`. The tools are {', '.join(FORMS)}. Nothing was done.")
    try:
        arguments = arguments_in(call)
    except ValueError as wrong:
        raise ValueError(_use(call.name, f"The arguments of `{call.name}` {wrong}.")) from None
    parts = {name: text for name in PARTS if isinstance(text := arguments.get(name), str)}
    try:
        return action(call.name, {name: value for name, value in arguments.items() if name not in PARTS}), parts
    except ValueError as wrong:
        raise ValueError(_use(call.name, f"{wrong}.")) from None


def _use(kind: str, fault: str) -> str:
    how = f"with these arguments: {arguments_of(kind)}" if FORMS[kind].takes else "without arguments."
    return f"{fault} Nothing was done. Call `{kind}` {how}"


def from_reply(reply: Reply, *, native: bool = True, target: str = ANY_FILE) -> Step | ProtocolError:
    """The step of an answer: a text, or of a model with native tools its calls. If anything is wrong, nothing is executed.
    `target`: the file of the examples in an error."""
    called = len(reply.tool_calls) if native else 0
    if early := unfinished(reply, nothing="Nothing was done.", shorter="Write less at once."):
        return of_the_whole(early, called)
    if not native:
        return read_text(reply.text, target)
    parts, unsaved = beside_calls(reply.text)
    if not called:
        why = unsaved or call_note(reply.text)
        return ProtocolError(text=" ".join(filter(None, [NO_CALL, why, "Nothing was done."])))
    if called > MAX_ACTIONS:
        return of_the_whole(
            f"Your answer calls {called} tools; at most {MAX_ACTIONS} are called at once. Nothing was done. Leave some for the next answer.",
            called,
        )
    actions: list[Action] = []
    wrong: list[str] = []
    for call in reply.tool_calls:
        try:
            act, sections = from_tool_call(call)
        except ValueError as error:
            wrong.append(str(error))
            continue
        wrong.append("")
        actions.append(act)
        for name, text in sections.items():  # of the text, and of each call in order
            if text and text not in parts.get(name, ""):
                parts[name] = "\n\n".join(filter(None, (parts.get(name, ""), text)))
    if any(wrong):
        return ProtocolError(text=next(filter(None, wrong)), calls=tuple(wrong))
    return Step(**parts, actions=tuple(actions), unsaved=unsaved)
