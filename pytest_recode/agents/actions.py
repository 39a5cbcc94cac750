"""What an agent driven by a model may do: the actions, what each takes, and the Step that one answer is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = ("observation", "reflection", "planning")

MAX_ACTIONS = 8
"""Of one answer. More than this is a model that imagines a whole session."""


TEXTS = ("text", "old", "new")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What an action is for and what it takes. `main` may stand on the heading's own line."""

    does: str
    takes: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    main: str = ""


FORMS: Mapping[str, Form] = {
    "list": Form(
        does="List every file below a directory.",
        takes={"path": "directory, relative to the workspace; default: all of it"},
        optional=frozenset({"path"}),
        main="path",
    ),
    "read": Form(does="Read a file.", takes={"path": "file, relative to the workspace"}, main="path"),
    "search": Form(
        does="Find the functions and classes of the repository that fit words or code, the best few with their code.",
        takes={"query": "what it is about: words, names, code"},
        main="query",
    ),
    "grep": Form(
        does="Show the lines that match a Python regular expression.",
        takes={"pattern": "regular expression", "path": "file or directory; default: all of the workspace"},
        optional=frozenset({"path"}),
        main="pattern",
    ),
    "write": Form(
        does="Write a whole file, new or not.",
        takes={"path": "file, relative to the workspace", "text": "its whole content"},
        main="path",
    ),
    "edit": Form(
        does="Replace a piece of a file. The old text must occur in it exactly once.",
        takes={
            "path": "file, relative to the workspace",
            "old": "exact text to be replaced",
            "new": "text to put there",
        },
        main="path",
    ),
    "run": Form(
        does="Run a shell command in the workspace and see its output.",
        takes={"command": "shell command"},
        main="command",
    ),
    "submit": Form(does="Hand in the targets as they are now; this ends the turn.", takes={}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """`kind` is a key of FORMS; `arguments` are those its form takes, the optional ones only where given."""

    kind: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: what the model sees, thinks, plans, and does (in this order). Parts it left out are empty.

    `note` is what the model should know of how its answer was read.
    """

    observation: str = ""
    reflection: str = ""
    planning: str = ""
    actions: tuple[Action, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolError:
    """An answer that cannot be acted on: a value, since models give such answers. `text` is told to it."""

    text: str


def form_of(kind: str) -> str:
    """How to write this action, for a model that wrote it wrongly."""
    lines = [f"### Action: {kind}"]
    for name, meaning in FORMS[kind].takes.items():
        if name in TEXTS:
            tag = f"END_OF_{name.upper()}"
            lines += [f"{name} <<{tag}", f"({meaning})", tag]
        else:
            lines.append(f"{name}: ({meaning})")
    return "\n".join(lines)


def action(kind: str, arguments: Mapping[str, str]) -> Action | ProtocolError:
    """The checked Action, or what is wrong with it."""
    form = FORMS.get(kind)
    if form is None:
        return ProtocolError(text=f"There is no action {kind!r}. Choose from: {', '.join(FORMS)}.")
    wrong = [name for name in arguments if name not in form.takes]
    if wrong:
        takes = ", ".join(form.takes) or "nothing"
        return wrong_use(kind, f"`{kind}` does not take `{wrong[0]}`; it takes {takes}.")
    for name in form.takes:
        given = arguments.get(name)
        if given is None and name not in form.optional:
            return wrong_use(kind, f"`{kind}` needs `{name}`.")
        if given is not None and not given.strip() and name in ("path", "query", "pattern", "command", "old"):
            return wrong_use(kind, f"`{name}` of `{kind}` is empty.")
    return Action(kind=kind, arguments={name: arguments[name] for name in form.takes if name in arguments})


def wrong_use(kind: str, what: str) -> ProtocolError:
    """What is wrong with an action of this kind, and the right form of it."""
    return ProtocolError(text=f"{what} Nothing was done. Write it like this:\n\n{form_of(kind)}")
