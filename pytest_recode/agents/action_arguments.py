"""Convert the name and arguments of an action to a checked Action. Reports every fault that can be found without the workspace.

Called in the pytest process by both protocols (`checked_action` for text, `tools` for native calls), before any action of an answer is
executed. Pure: `Workspace.check` decides whether a path is in the workspace and how long a command may take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from pytest_recode.agents.action_names import (
    argument_of,
    as_it_is,
    kind_of,
    nearest,
    no_such_action,
    plain_name,
    unless_as_it_is,
)
from pytest_recode.agents.actions import Action, ProtocolError, json_type, wrong_use
from pytest_recode.agents.file_patterns import regular_expression
from pytest_recode.agents.forms import FORMS, TEXTS
from pytest_recode.agents.shell_script import is_one_command, prompted_commands

RANGES = (
    ("start_line", "end_line"),
    ("start", "end"),
    ("line_start", "line_end"),
    ("first_line", "last_line"),
    ("start_line_one_indexed", "end_line_one_indexed_inclusive"),
)
"""Names of the first and the last line of a `read`, as two arguments."""
RANGE_NAMES = frozenset(name for pair in (*RANGES, ("offset", "limit")) for name in pair)
SWITCHES = ("replace_all", "ignore_case", "case_sensitive")
"""Arguments that are true or false."""
_TRUTH = {
    **dict.fromkeys(("true", "yes", "1"), "true"),
    **dict.fromkeys(("false", "no", "0"), "false"),
}
_MAY_BE = {
    "lines": "the first and the last line, such as 1-40",
    "command": "a string or an array of a program and its arguments",
    "timeout": "a number of seconds",
    **dict.fromkeys(SWITCHES, "true or false"),
}
"""What an argument may be that need not be a string."""
MAX_UNKNOWN = 8
"""Arguments that an action does not take that one message names."""
MAX_NAME = 255
"""Bytes of a file's name, as Linux has it."""

INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_PAIRS = ("`", "'", '"')
_TYPOGRAPHIC = (
    "\u201c\u201d",
    "\u201e\u201c",
    "\u201e\u201d",
    "\u2018\u2019",
    "\u201a\u2018",
    "\u00ab\u00bb",
    "\u2039\u203a",
)
_QUOTE = re.compile("[\u201c\u201d\u201e\u2018\u201a\u00ab\u00bb\u2039\u203a]")
_NO_NAME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z]:(?=[/\\])|[\"'`]")
"""How an address, a path of Windows or a mark begins, of which no file is meant to be named."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_LINES = re.compile(
    r"[\[(]?\s*L?(?P<first>\d{1,9})\s*(?:(?P<range>-|\u2013|:|,|to|\.\.)\s*(?P<last>-1|L?\d{1,9}|))?\s*[\])]?", re.ASCII
)
_SECONDS = re.compile(r"(?P<seconds>\d{1,9}(?:\.\d{1,9})?)\s*(?:s|secs?|seconds?)?", re.ASCII | re.IGNORECASE)

_NAMED = re.compile(r".*\.[A-Za-z]\w{0,7}", re.ASCII | re.DOTALL)
"""A path that ends as the name of a file does."""
_COMMENTED = re.compile(r"[^\s]*\.[A-Za-z]\w{0,7}[`'\"*]*[,;:]?[ \t]+[^\s].*|[^\n]*[ \t](?:#|//|<-|->)[^\n]*", re.ASCII)
"""A path followed by more text: `a.py (new file)`, `a.py  # the solver`. A file of that name is not what is meant."""
_MAYBE_COMMENTED = re.compile(r"[^\n]*[ \t](?:--|\(|\u2013|\u2014)[^\n]*", re.ASCII)
"""The same, unless a file's ending follows: `data (1).csv`."""


def commented(path: str) -> bool:
    """Whether a path seems to be followed by a comment."""
    return _COMMENTED.fullmatch(path) is not None or (
        _MAYBE_COMMENTED.fullmatch(path) is not None and _NAMED.fullmatch(path) is None
    )


def unquoted(path: str) -> tuple[str, bool]:
    """A path without its quotes or backticks, and whether it had any that show where it ends."""
    said = path.strip()
    whole = len(said) > 1 and said[0] == said[-1] and said[0] in _PAIRS and said[0] not in said[1:-1]
    if whole or (len(said) > 2 and said[0] + said[-1] in _TYPOGRAPHIC):
        return said[1:-1].strip(), True
    if said.endswith("**") and not said.endswith(("/**", "***")) and said != "**":  # bold, and no pattern of files
        said = said[:-2].removeprefix("**").strip()
    return said, False


def path_of(kind: str, value: str) -> str:
    """The path in the argument `path`. Raises ValueError for a path that cannot exist in a workspace or that is ambiguous."""
    path, quoted = unquoted(value)
    shown = f"`path` of `{kind}` is `{path[:80]}`"
    if not path:
        raise ValueError(f"`path` of `{kind}` is empty")
    if kind == "write" and (found := _NO_NAME.match(path)):
        raise ValueError(
            f"{shown}, which begins with `{found[0]}`. Write it relative to the workspace, such as src/a.py"
        )
    if kind == "write" and not quoted and commented(path):
        raise ValueError(
            f'{shown}: write the path alone, without a comment. If all of it is the path, put it in double quotes: "{path[:80]}"'
        )
    if found := INVISIBLE.search(path):
        raise ValueError(f"`path` of `{kind}` holds an invisible character (U+{ord(found[0]):04X}). Leave it out")
    if found := _QUOTE.search(path):
        raise ValueError(
            f"`path` of `{kind}` holds a quotation mark ({found[0]}): it is unclear whether it belongs to it. Leave it out"
        )
    found = _CONTROL.search(path)
    if found and (found[0] == "\0" or kind == "write"):
        raise ValueError(f"`path` of `{kind}` holds a control character (U+{ord(found[0]):04X}). Leave it out")
    parts = path.split("/")
    if ".." in parts:
        raise ValueError(f"{shown}: a path may not go up by `..`. Write it relative to the workspace, such as src/a.py")
    if parts[0].startswith("~") and (len(parts) > 1 or path == "~"):
        raise ValueError(f"{shown}: `~` is not expanded here. Write it relative to the workspace, such as src/a.py")
    if kind == "write" and "\\" in path:
        raise ValueError(f"{shown}: a backslash parts no directories here. Write `/` between them, such as src/a.py")
    if FORMS[kind].path_is_file and parts[-1] in ("", "."):
        what = "names a directory, since it ends in `/`" if path[-1] == "/" else "is a directory"
        raise ValueError(f"{shown}, which {what}. Write the path of a file, such as src/a.py")
    if any(len(part.encode("utf-8", "replace")) > MAX_NAME for part in parts):
        raise ValueError(f"{shown}...: a name in it has more than {MAX_NAME} bytes. Write a shorter one")
    return path


def lines_of(value: str) -> tuple[int, int | None]:
    """The first and last line (from 1) in the argument `lines` of a `read`. None as the last line: to the end. A single number is that
    line alone. Raises ValueError."""
    found = _LINES.fullmatch(value.strip())
    if found is None:
        raise ValueError(f"`lines` must be the first and the last line, such as 1-40 or 40-, and is `{value[:80]}`")
    first = int(found["first"])
    last = first if found["range"] is None else None if found["last"] in ("", "-1") else int(found["last"].lstrip("L"))
    if first > 0 and last is not None and 0 < last < first:
        raise ValueError(
            f"`lines` must be the first and the last line, such as 1-40, and is `{value[:80]}`: its first line, {first}, is after its "
            f"last, {last}"
        )
    if first < 1 or last == 0:
        raise ValueError(
            f"`lines` must be the first and the last line, counted from 1, such as 1-40, and is `{value[:80]}`"
        )
    return first, last


def lines_from(first: int | None, last: int | None) -> str:
    """The argument `lines` of a `read` for a first and a last line. Both are optional; -1 is the end."""
    return f"{1 if first is None else first}-{'' if last in (None, -1) else last}"


def seconds_of(value: str) -> float:
    """The seconds in the argument `timeout` of a `run`. Raises ValueError."""
    found = _SECONDS.fullmatch(value.strip())
    if found is None or not float(found["seconds"]):
        raise ValueError(f"`timeout` must be a number of seconds, such as 30, and is `{value[:80]}`")
    return float(found["seconds"])


def true_or_false(name: str, value: str) -> str:
    """The value of one of SWITCHES: "true" or "false". Raises ValueError."""
    found = _TRUTH.get(value.strip().lower())
    if found is None:
        raise ValueError(f"`{name}` must be true or false, and is `{value[:80]}`")
    return found


def action(name: str, arguments: Mapping[str, object]) -> Action | ProtocolError:
    """The checked Action, or a description of the fault. A None argument counts as missing; so does an empty optional one."""
    kind = kind_of(name)
    if kind is None:
        return ProtocolError(text=f"{no_such_action(name)} Nothing was done.", kind=nearest(name))
    form = FORMS[kind]
    called = f"`{kind}`" if name.strip() == kind else f"`{kind}` (your `{name.strip()[:80]}`)"
    given: dict[str, str] = {}
    for other, value in arguments.items():
        own = argument_of(kind, other)
        if value is None or (own is None and as_it_is(kind, other, value)):
            continue
        if kind == "read" and plain_name(other) in RANGE_NAMES:
            if names_lines(arguments):
                return wrong_use(
                    kind,
                    f"The lines of {called} are given in two ways, and `{other[:80]}` is one of them. Give `lines` alone.",
                )
            return wrong_use(
                kind, f"`{other[:80]}` of {called} must be the number of a line, and is `{json.dumps(value)[:80]}`."
            )
        if own is None:
            more = " To write a file, use `write` before it." if kind == "submit" else ""
            return wrong_use(kind, f"{called} does not take {_unknown(kind, arguments)}; {_taken(kind)}.{more}")
        if own == "timeout" and isinstance(value, str) and value.strip().lower() in ("none", "null"):
            continue
        value = _written(own, value)
        if value == [] and own in _MAY_BE:
            return wrong_use(kind, f"`{other[:80]}` of {called} is empty.")
        if not isinstance(value, str):
            wanted = _MAY_BE.get(own, "a string")
            if isinstance(value, list) and own in _MAY_BE:
                return wrong_use(
                    kind, f"`{other[:80]}` of {called} must be {wanted}, and is `{json.dumps(value)[:80]}`."
                )
            return wrong_use(kind, f"`{other[:80]}` of {called} must be {wanted}, not {json_type(value)}.")
        if given.get(own, value) != value:
            spelled = " and ".join(f"`{name[:80]}`" for name in arguments if argument_of(kind, name) == own)
            return wrong_use(kind, f"`{own}` of {called} is given twice, as {spelled}, with different values.")
        if value or own not in form.optional | form.accepts:
            given[own] = value
    for own in form.takes:
        if own not in given and own not in form.optional:
            return wrong_use(kind, f"{called} needs `{own}`.")
        if not given.get(own, "x").strip() and own in ("path", "query", "pattern", "command", "old"):
            more = " To make a new file, use `write`." if own == "old" else ""
            return wrong_use(kind, f"`{own}` of {called} is empty.{more}")
    try:
        made = {own: _checked(kind, own, given[own]) for own in (*form.takes, *form.accepts) if own in given}
        made = _with_case(made) if kind == "grep" else made
    except ValueError as error:
        return wrong_use(kind, f"{error}.")
    if made.get("replace_all") == "false":  # what is done anyway
        del made["replace_all"]
    if "/" in made.get("include", "").removeprefix("**/") and made.get("path", ".") not in (".", "./"):
        text = "`include` of `grep` names directories, and so does `path`: it is unclear where they begin. Write all of it as `include`."
        return wrong_use(kind, text)
    if kind == "edit" and made["old"] == made["new"]:
        return wrong_use(kind, "`old` and `new` of `edit` are the same text, so that nothing would be changed.")
    return Action(kind=kind, arguments=made)


def _with_case(made: Mapping[str, str]) -> dict[str, str]:
    """The arguments of a `grep` with `ignore_case` or without it, also where `case_sensitive` says so. Raises ValueError."""
    ignored, sensitive = made.get("ignore_case"), made.get("case_sensitive")
    if ignored is not None and ignored == sensitive:
        raise ValueError("`ignore_case` and `case_sensitive` of `grep` contradict each other. Give one of them")
    rest = {own: value for own, value in made.items() if own not in ("ignore_case", "case_sensitive")}
    return {**rest, "ignore_case": "true"} if ignored == "true" or sensitive == "false" else rest


def _unknown(kind: str, arguments: Mapping[str, object]) -> str:
    """All arguments that the action does not take, so that the model can correct them in one answer."""
    names = [
        name
        for name, value in arguments.items()
        if value is not None and argument_of(kind, name) is None and not as_it_is(kind, name, value)
        if kind != "read" or plain_name(name) not in RANGE_NAMES
    ]
    return " or ".join(f"`{name[:80]}`{unless_as_it_is(kind, name)}" for name in names[:MAX_UNKNOWN])


def _taken(kind: str) -> str:
    takes = ", ".join(f"`{each}`" for each in FORMS[kind].takes)
    more = ", ".join(f"`{each}`" for each in sorted(FORMS[kind].accepts))
    return f"its arguments are {takes}{f' ({more} too)' if more else ''}" if takes else "it needs no arguments"


def _checked(kind: str, own: str, value: str) -> str:
    """The value of a given argument. Raises ValueError for values that are invalid in every workspace."""
    if own in TEXTS or own in ("command", "path"):
        try:
            value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            code = f"U+{ord(value[error.start]):04X}"
            raise ValueError(
                f"`{own}` of `{kind}` holds half of a character ({code}), which no file can hold"
            ) from None
    if own == "command" and "\0" in value:
        raise ValueError("`command` of `run` holds a null character, which no command can hold: leave it out")
    if own == "command" and (prompted := re.match(r"\s*\$ +(?=[\w./(\"'])", value)):
        if commands := prompted_commands(value):
            return "\n".join(commands)
        if "\n" in value.strip() and not is_one_command(value[prompted.end() :].strip()):
            raise ValueError(
                "`command` of `run` begins with `$ `, as a shell shows its prompt: write the commands alone, without it"
            )
        return value[prompted.end() :]
    if own == "path":
        return path_of(kind, value)
    if own == "include":
        regular_expression(value)
    if own == "lines":
        lines_of(value)
    if own == "timeout":
        seconds_of(value)
    if own in SWITCHES:
        return true_or_false(own, value)
    return value


def _written(own: str, value: object) -> object:
    """A number, or the pair of numbers of `lines`, as text."""
    if own in SWITCHES and value in (0, 1):  # True and False, too
        return "true" if value else "false"
    if own == "lines" and (line := whole_number(value)) is not None:
        return str(line)
    if own == "timeout" and isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" if value < 1e6 else str(value)
    if own == "lines" and isinstance(value, list) and 1 <= len(value) <= 2:
        pair = [whole_number(each) for each in value]
        if None not in pair:
            return str(pair[0]) if len(pair) == 1 else lines_from(*pair)
    return value


def whole_number(value: object) -> int | None:
    """An integer from a number, a string of digits or a float without a fraction; None for other values."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e9:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None


def names_lines(arguments: Mapping[str, object]) -> bool:
    """Whether the arguments of a `read` include its lines as one value."""
    return any(value and argument_of("read", name) == "lines" for name, value in arguments.items())
