"""Step (one answer), Action (one call), and their error messages. `forms.py` declares the actions.

Every answer in every form (headings, JSON, tags, native tool calls) becomes a Step through `action_arguments.action`, so that all forms
accept the same names and report the same errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_recode.agents.forms import FORMS, TEXTS

MAX_ACTIONS = 8
"""Of one answer. More than this is a model that imagines a whole session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """`kind` is a key of FORMS. `arguments` are those of its form; optional ones are present only if given."""

    kind: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A piece of code outside of the actions. `path` is the file that it names, or ""."""

    text: str
    path: str = ""
    command: bool = False
    """Whether it is a command that writes the file, without the text of the file."""
    change: bool = False
    """Whether it describes a change of a file, as a diff does. `text` has the new lines, or the old ones if there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: the model's observation, reflection, plan and actions. Missing parts are empty.

    `note` is a remark for the model about how its answer was read. `outside` is the code outside of the actions, which may be lost.
    """

    observation: str = ""
    reflection: str = ""
    planning: str = ""
    actions: tuple[Action, ...]
    note: str = ""
    outside: tuple[Code, ...] = field(default=(), compare=False, repr=False)


AS_A_WHOLE = "Not done, for the reason that the result of the first call gives."
"""The result of the other tool calls where it is the answer as a whole that cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolError:
    """An answer that cannot be executed. A value, not an exception, because models produce such answers. `text` is shown to the model.

    `kind`, if known, is the action whose correct form is shown with the error; the protocol in use decides how (`in_text`, `in_calls`).
    `calls` has a text for each native tool call, "" for correct ones. `actions` has the correct actions, and None for the others, so that
    faults that depend on the workspace are reported at the same time.
    """

    text: str
    kind: str = ""
    calls: tuple[str, ...] = ()
    actions: tuple[Action | None, ...] = ()


def form_of(kind: str) -> str:
    """How to write this action as text, shown to a model that made an error."""
    lines = [f"### Action: {kind}"]
    for name, meaning in FORMS[kind].takes.items():
        if name in TEXTS:
            tag = f"END_OF_{name.upper()}"
            lines += [f"{name} <<{tag}", f"({meaning})", tag]
        else:
            lines.append(f"{name}: ({meaning})")
    return "\n".join(lines)


def arguments_of(kind: str) -> str:
    """How to write this action's arguments as JSON, for tool calls."""
    return json.dumps({name: f"({meaning})" for name, meaning in FORMS[kind].takes.items()})


def in_text(error: ProtocolError) -> str:
    """The error message for a model that answers in text."""
    return f"{error.text} Write it like this:\n\n{form_of(error.kind)}" if error.kind else error.text


def in_calls(error: ProtocolError) -> str:
    """The error message for a model that calls tools."""
    if not error.kind:
        return error.text
    if not FORMS[error.kind].takes:
        return f"{error.text} Call the tool `{error.kind}` without arguments."
    optional = ", ".join(f"`{name}`" for name in FORMS[error.kind].takes if name in FORMS[error.kind].optional)
    told = f" ({optional} may be left out)" if optional else ""
    return f"{error.text} Call the tool `{error.kind}` with these arguments{told}: {arguments_of(error.kind)}"


def wrong_use(kind: str, what: str) -> ProtocolError:
    """The error message for an incorrect action of this kind."""
    return ProtocolError(text=f"{what} Nothing was done.", kind=kind)


def json_type(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")
