"""The actions as native tool calls: one tool per action; the parts of a step are arguments or the message's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_recode.agents.action_arguments import action
from pytest_recode.agents.action_names import kind_of
from pytest_recode.agents.actions import AS_A_WHOLE, MAX_ACTIONS, Action, ProtocolError, Step, arguments_of, in_calls
from pytest_recode.agents.beside_calls import action_line
from pytest_recode.agents.fences import SHELLS, fences, language
from pytest_recode.agents.forms import FORMS, PARTS, Form
from pytest_recode.agents.headings import calls_as_python
from pytest_recode.agents.json_calls import arguments_in, submit_text, taken_parts
from pytest_recode.agents.marked_calls import first_mark
from pytest_recode.agents.other_tools import tool_kind, translated, unwrapped
from pytest_recode.agents.outside_code import outside_code
from pytest_recode.agents.protocol import parse, parts_of, plain_lines, read_actions, without_thoughts
from pytest_recode.agents.unfinished import unfinished
from pytest_recode.agents.unknown_tags import first_unknown_call
from pytest_recode.agents.values import DamagedError, WrongError
from pytest_recode.models import Reply, Tool, ToolCall

_ADVISED = re.compile(r"`### Action: ([a-z]+)`")
"""An action that an error message of the text protocol advises."""
_WORD = re.compile(r"[A-Za-z_]{2,40}")


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


_CHANNEL = re.compile(r"<\|(?:channel|constrain|message)\|>.*", re.DOTALL)
"""What servers of gpt-oss leave behind a tool's name."""


def from_tool_call(call: ToolCall) -> tuple[Action, Mapping[str, str]] | ProtocolError:
    """The action, and the parts of a step in its arguments."""
    called = _CHANNEL.sub("", call.name)
    try:
        given = arguments_in(call.arguments, called)
        parts = taken_parts(given)
        inner = unwrapped(given)
        if inner is not given:
            given, parts = inner, parts | taken_parts(inner)
    except DamagedError as damage:
        known = kind_of(called)
        return ProtocolError(text=f"{damage} Nothing was done.", kind=known or "")
    kind = tool_kind(called, given)
    if isinstance(kind, ProtocolError):
        return kind
    if kind == "submit" and (said := submit_text(given)):
        parts["reflection"] = "\n".join(filter(None, (parts.get("reflection"), said)))
    made = action(called if kind_of(called) else kind, translated(kind, given))
    return made if isinstance(made, ProtocolError) else (made, parts)


def from_reply(reply: Reply, *, native: bool = True) -> Step | ProtocolError:
    """The step of an answer: a text, or of a model with native tools its calls. If anything is wrong, nothing is executed."""
    if early := unfinished(reply, nothing="Nothing was done.", shorter="Write less at once."):
        return _for_each(reply, early)
    if not native:
        return parse(reply.text)
    if not reply.tool_calls:
        return _from_text(reply)
    if len(reply.tool_calls) > MAX_ACTIONS:
        return _for_each(
            reply,
            f"Your answer calls {len(reply.tool_calls)} tools; at most {MAX_ACTIONS} are called at once. Nothing was done.",
        )
    read = [from_tool_call(call) for call in reply.tool_calls]
    wrong = [in_calls(each) if isinstance(each, ProtocolError) else "" for each in read]
    if any(wrong):
        readable = tuple(None if isinstance(each, ProtocolError) else each[0] for each in read)
        return ProtocolError(text=next(filter(None, wrong)), calls=tuple(wrong), actions=readable)
    right = [each for each in read if not isinstance(each, ProtocolError)]
    actions = tuple(each for each, _ in right)
    text = _without_thoughts(reply.text)
    if (fault := _beside(text, actions)) is not None:
        return _for_each(reply, f"{fault} Nothing was done. Act by tool calls alone.")
    parts = dict(parts_of(reply.text)) if reply.text.strip() else {}
    for _, given in right:
        for name, value in given.items():  # of the text, and of each call in order
            if value and value not in parts.get(name, "").split("\n\n"):
                parts[name] = "\n\n".join(filter(None, (parts.get(name, ""), value)))
    texts = [text, *(said for _, given in right for said in given.values())]
    return Step(**parts, actions=actions, outside=tuple(code for said in texts for code in outside_code(said)))


def _beside(text: str, actions: Sequence[Action]) -> str | None:
    """What is wrong with a text beside native calls: an action that is none of them, or a mark of one; None if nothing is."""
    # Code in a tag beside `submit` is left to the check of lost code, which names its line
    files = not (any(each.kind == "submit" for each in actions) and outside_code(text))
    line = action_line(text, [each.kind for each in actions]) or first_unknown_call(text.split("\n"), files=files)
    if line and not _repeats(text, actions):
        what = text.split("\n")[line - 1].strip()[:80]
        return f"Your answer calls tools, and its text holds actions as well, in line {line} (`{what}`), that are not those of the calls."
    number, mark = (0, "") if line else first_mark(text)
    if not mark:
        return None
    return (
        f"Your answer calls tools, and line {number} of its text has `{mark[:80]}`, which some models write to call a tool: it is unclear "
        "whether it is meant. Leave it out, or put it in backticks."
    )


def _without_thoughts(text: str) -> str:
    try:
        return without_thoughts(plain_lines(text))
    except DamagedError:
        return text


def _repeats(text: str, actions: Sequence[Action]) -> bool:
    """Whether the actions in a text are among the native calls, and so are executed once."""
    said = parse(text)
    return isinstance(said, Step) and all(said.actions.count(each) <= actions.count(each) for each in said.actions)


def _from_text(reply: Reply) -> Step | ProtocolError:
    """The step of an answer without native calls: its text may hold actions in any form that `parse` reads."""
    called = f"Call one of: {', '.join(FORMS)}."
    if not reply.text.strip():
        return ProtocolError(text=f"Your answer was empty: it calls no tool. {called}")
    kind = ""
    try:
        return read_actions(reply.text)
    except DamagedError as damage:
        fault, told = damage.fault, str(damage)
    except WrongError as wrong:
        fault, told, kind = wrong.fault, wrong.error.text, wrong.error.kind
    line = action_line(reply.text) or first_unknown_call(reply.text.split("\n")) or first_mark(reply.text)[0]
    if not line and not kind:
        return ProtocolError(text=f"Your answer calls no tool.{_not_done(reply.text)} {called}")
    lines = plain_lines(reply.text).split("\n")[max(line - 1, 0) :]
    words = [*_ADVISED.findall(told), *_WORD.findall("\n".join(lines)[:1000])]
    kind = kind or next(filter(None, map(kind_of, words)), "write")
    how = f"with the arguments {arguments_of(kind)}" if FORMS[kind].takes else "without arguments"
    return ProtocolError(
        text=f"Your answer is a text without a native call, and cannot be used as actions: {fault} Nothing was done. {called} For example "
        f"`{kind}` {how}"
    )


def _not_done(text: str) -> str:
    """What is not done of a text that holds no action."""
    if python := next((line.strip()[:80] for line in text.split("\n") if calls_as_python(line)), ""):
        return f" `{python}` is a call in Python, and is not carried out."
    pieces = fences(text)
    commands = [piece for piece in pieces if language(piece) in SHELLS]
    told = " The command in your text was not run: use `run`." if commands else ""
    if len(commands) < len(pieces):
        told += " The code in your text was written to no file: use `write` or `edit`."
    return told


def _for_each(reply: Reply, text: str) -> ProtocolError:
    """An error about the answer as a whole: reported once, and referred to in the results of the other calls."""
    return ProtocolError(text=text, calls=(text, *[AS_A_WHOLE] * len(reply.tool_calls))[: len(reply.tool_calls)])
