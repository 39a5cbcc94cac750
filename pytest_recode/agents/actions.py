"""The actions of one answer, or why it cannot be used. Both forms of an answer end in these: text (`text_form`) and tool calls (`tools`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_recode.agents.forms import FORMS

MAX_ACTIONS = 8
"""Of one answer. More than this is a model that imagines a whole session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """`kind` is a key of FORMS. `arguments` are those of its form; optional ones are present only if given.

    `whole_lines`: the old text of an `edit` is lines of the file, and no part of a longer line.
    """

    kind: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    whole_lines: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: the model's observation, reflection, plan and actions. Missing parts are empty.

    `unsaved` says what is wrong with the first block of code that is no action, so that no file has it; "" if there is none. `note` is what
    the model is told of how its answer was read.
    """

    observation: str = ""
    reflection: str = ""
    planning: str = ""
    actions: tuple[Action, ...]
    unsaved: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolError:
    """An answer that cannot be used. A value, not an exception, because models produce such answers. `text` is told to the model.

    `calls` has a text for each native tool call, "" for correct ones; it is empty for an answer in text.
    """

    text: str
    calls: tuple[str, ...] = ()


AS_A_WHOLE = "Not done, for the reason that the result of the first call gives."
"""The result of the other tool calls where it is the answer as a whole that cannot be used."""


def of_the_whole(text: str, calls: int) -> ProtocolError:
    """An error about an answer of so many tool calls as a whole: told once, and referred to in the results of the other calls."""
    return ProtocolError(text=text, calls=(text, *[AS_A_WHOLE] * (calls - 1)) if calls else ())


def arguments_of(kind: str) -> str:
    """How to write this action's arguments as JSON, for tool calls."""
    return json.dumps({name: f"({meaning})" for name, meaning in FORMS[kind].takes.items()})
