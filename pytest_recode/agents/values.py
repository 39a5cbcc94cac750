"""The text of an argument in an answer, where it ends, and the errors that stop the parsing of an answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pytest_recode.agents.action_names import nearest, no_such_action
from pytest_recode.agents.actions import ProtocolError

FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>[^`]*)$")


AS_BLOCKS = "A text that is hard to write as JSON can be a block below `### Action: NAME`: `text <<END_OF_TEXT`, its lines, `END_OF_TEXT`."


class DamagedError(Exception):
    """The answer cannot be parsed. The text is for the model.

    `fault` says what is wrong, and `advice`, for a model that acts by text, what to write instead. `stray`: the fault is a line or fence that
    belongs to no action.
    """

    def __init__(self, fault: str, *, advice: str = "", stray: bool = False) -> None:
        super().__init__(f"{fault} {advice}".rstrip())
        self.fault = fault
        self.stray = stray


class WrongError(Exception):
    """One action of the answer is wrong. `fault` (by default all of the error's text) and `stray` are those of DamagedError."""

    def __init__(self, error: ProtocolError, *, fault: str = "", stray: bool = False) -> None:
        super().__init__(error.text)
        self.error = error
        self.fault = fault or error.text.partition(" Nothing was done.")[0]
        self.stray = stray


def unknown_action(name: str, before: str = "", after: str = "") -> WrongError:
    """The error for an action that does not exist. It shows the form of the one to use instead, if there is one."""
    text = " ".join(filter(None, (before, no_such_action(name), after, "Nothing was done.")))
    return WrongError(ProtocolError(text=text, kind=nearest(name)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """`end` is the index of the line after it. `closer` is the marker line that ended it, "" if there is none."""

    text: str
    end: int
    closer: str = ""
    opened: int = 0
    """The number of the line that opens it, from 1."""
    info: str = ""
    """The info string of its fence."""
    clipped: bool = False
    """Whether blank lines at its end were left out, as YAML does after `|`."""
    dedented: int = 0
    """How many blanks were taken away from each line, as YAML does after `|`."""
    block: bool = False
    """Whether it is a block, whose last word the model chose."""
    mark: str = ""
    """The mark, such as a backtick, at both ends of a text of one line; the text includes both."""
    final: str = ""
    """The line break of its last line, where it is made of whole lines: a file has it, other arguments have not."""
    frame: str = ""
    """Why a line break next to each of its tags was left out: "always" in a form that always has them, "both" where both are there. "" if
    none was."""


def closes_fence(line: str, ticks: str) -> bool:
    said = line.rstrip(" \t")
    bare = said.lstrip(" ")
    return len(said) - len(bare) <= 3 and len(bare) >= len(ticks) and not bare.strip(ticks[0])


def closes(line: str, wrapper: str) -> bool:
    """Whether a line closes the fence or tag around actions."""
    return line.strip() == wrapper if wrapper.startswith("<") else closes_fence(line, wrapper)


def to_write(path: str) -> str:
    """Advice for code that belongs to no action and may be meant as this file."""
    return f"If it is the whole file, put these two lines above the fence: `### Action: write` and `path: {path[:200]}`. To change a part of the file, use `edit`."


def shown(line: str) -> str:
    """A line of an answer as messages quote it: in backticks, or in quotes if it contains backticks."""
    text = line.strip()[:80]
    return f'"{text}"' if "`" in text else f"`{text}`"


def opens_block(text: str, word: str) -> bool:
    """Whether a line of a text opens a block that ends in this word."""
    return re.search(rf"<<-?[ \t]*['\"]?{re.escape(word)}['\"]?[ \t]*$", text, re.MULTILINE) is not None


def doubts(value: Value, lines: Sequence[str], known: Collection[int] = ()) -> int:
    """The number of a later line that could also end this text; 0 if there is none. `known`: lines (from 0) that end other texts."""
    for at in range(value.end, len(lines)):
        if at not in known and ends(value, lines[at]):
            return at + 1
    return 0


def ends(value: Value, line: str) -> bool:
    if not value.closer:
        return False
    if value.closer[0] in "`~":
        return closes_fence(line, value.closer)
    if value.closer[0] == "<":
        return value.closer in line
    return line.strip(" \t") == value.closer


def between_marks(name: str, line: int, mark: str) -> DamagedError:
    return DamagedError(
        f"The value of `{name}` in line {line} is between marks ({mark}): it is unclear whether they belong to it.",
        advice="Leave them out, or write it as a block.",
    )
