"""Check the arguments of an action as far as no workspace is needed for it. Pure; called before any action of an answer is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_recode.agents.actions import Action
from pytest_recode.agents.forms import FORMS, TEXTS

_LINES = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{0,9}))?", re.ASCII)
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff]")
MAX_NAME = 255
"""Bytes of a file's name, as Linux has it."""
_EMPTY = ("text", "new")
"""Arguments that may be empty."""


def lines_of(value: str) -> tuple[int, int | None]:
    """The first and last line (from 1) in the argument `lines` of a `read`. None as the last line: to the end. A single number is that
    line alone. Raises ValueError."""
    found = _LINES.fullmatch(value.strip())
    first = int(found["first"]) if found else 0
    last = None if found is None or found["last"] == "" else int(found["last"] or first)
    if first < 1 or (last is not None and last < first):
        raise ValueError(
            f"`lines` must be the first and the last line, counted from 1, such as 1-40 or 40-, and is `{value[:80]}`"
        )
    return first, last


def seconds_of(value: str) -> float:
    """The seconds in the argument `timeout` of a `run`. Raises ValueError."""
    if not _SECONDS.fullmatch(value.strip()) or not float(value):
        raise ValueError(f"`timeout` must be a number of seconds, such as 30, and is `{value[:80]}`")
    return float(value)


def action(kind: str, arguments: Mapping[str, object], *, whole_lines: bool = False) -> Action:
    """The checked action of a kind of FORMS. Numbers and booleans are taken as they are written in JSON; an optional argument that is null
    or empty is as if it were not given. Raises ValueError."""
    form = FORMS[kind]
    values: dict[str, str] = {}
    for name, value in arguments.items():
        if name not in form.takes:
            takes = (
                f"its arguments are {', '.join(f'`{each}`' for each in form.takes)}" if form.takes else "it takes none"
            )
            raise ValueError(f"`{kind}` has no argument `{name[:80]}`; {takes}")
        if isinstance(value, bool):
            value = str(value).lower()
        elif isinstance(value, int | float):
            value = f"{value:g}" if abs(value) < 1e6 else str(value)
        if value is None or (value == "" and name in form.optional):
            continue
        if not isinstance(value, str):
            raise ValueError(f"`{name}` of `{kind}` must be a string")
        values[name] = _checked(kind, name, value)
    for name in form.takes:
        if name not in values and name not in form.optional:
            raise ValueError(f"`{kind}` needs `{name}`")
    if kind == "edit" and values["old"] == values["new"]:
        raise ValueError("`old` and `new` of `edit` are the same text, so that nothing would be changed")
    if values.get("replace_all") == "false":  # as it is anyway
        del values["replace_all"]
    return Action(
        kind=kind, arguments={name: values[name] for name in form.takes if name in values}, whole_lines=whole_lines
    )


def _checked(kind: str, name: str, value: str) -> str:
    """The value of an argument. Raises ValueError for values that are invalid in every workspace."""
    if name not in _EMPTY and not value.strip():
        raise ValueError(f"`{name}` of `{kind}` is empty")
    if name in (*TEXTS, "command", "path"):
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            code = f"U+{ord(value[error.start]):04X}"
            raise ValueError(
                f"`{name}` of `{kind}` holds half of a character ({code}), which no file can hold"
            ) from None
    if name == "command" and "\0" in value:
        raise ValueError("`command` of `run` holds a null character, which no command can hold: leave it out")
    if name == "path":
        return _path(kind, value.strip())
    if name == "lines":
        lines_of(value)
    if name == "timeout":
        seconds_of(value)
    if name == "replace_all" and value not in ("true", "false"):
        raise ValueError(f"`replace_all` must be true or false, and is `{value[:80]}`")
    return value


def _path(kind: str, path: str) -> str:
    """A path as it is given. Raises ValueError for one that cannot be meant."""
    shown = f"`path` of `{kind}` is `{path[:80]}`"
    if found := _CONTROL.search(path):
        raise ValueError(f"`path` of `{kind}` holds an invisible character (U+{ord(found[0]):04X}). Leave it out")
    if ".." in path.split("/"):
        raise ValueError(f"{shown}: a path may not go up by `..`. Write it relative to the workspace, such as src/a.py")
    if FORMS[kind].path_is_file and path.rpartition("/")[2] in ("", ".", ".."):
        raise ValueError(f"{shown}, which is a directory. Write the path of a file, such as src/a.py")
    if any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in path.split("/")):
        raise ValueError(f"{shown}...: a name in it has more than {MAX_NAME} bytes. Write a shorter one")
    return path
