"""Translates calls of other agents' tools into the tools of this one, in the pytest process, for `tools`.

Only what has one reading is translated; anything else stays as it is, and is refused with the arguments that the tool takes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from pytest_recode.agents.action_arguments import lines_from
from pytest_recode.agents.actions import FORMS, ProtocolError, kind_of, nearest, plain_name

TOOL_NAMES: Mapping[str, tuple[str, ...]] = {
    "run": ("exec_command", "run_terminal_cmd"),
    "edit": ("replace",),
    "search": ("codebase_search",),
    "grep": ("search_file_content", "search_files"),
    "submit": ("final_answer", "attempt_completion"),
}
"""Names that are understood as those of tool calls only: in a text they are words. docs/reference/agents.md lists them."""

EDITORS = ("str_replace_based_edit_tool", "str_replace_editor")
"""Tools with an argument `command` that says what to do."""
_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit"}

SUBMIT_TEXTS = ("message", "summary", "result", "answer", "final_answer", "text", "output", "notes")
"""Arguments of `submit` that are text for a reader: they belong to the reflection."""

_WRAPPERS = ("args", "arguments", "input", "parameters", "params", "kwargs")
_RANGES = (("start_line", "end_line"), ("start", "end"), ("line_start", "line_end"), ("first_line", "last_line"))
_SHELLS = frozenset({"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash"})
_THOUGHTS = frozenset({"think", "thinking", "plan", "todo", "todo_write", "update_plan", "write_todos"})


def tool_kind(name: str, given: dict[str, Any]) -> str | ProtocolError:
    """The tool that a call of `name` means; the `command` of an editor is taken out of `given`."""
    plain = plain_name(name)
    if (kind := kind_of(name)) is not None:
        return kind
    if plain in EDITORS:
        command = given.pop("command", None)
        if isinstance(command, str) and command in _COMMANDS:
            return _COMMANDS[command]
        what = f"`{plain}` with the command `{str(command)[:80]}` is not one of the tools: use `edit`, and give as `old` the line beside the place."
        return ProtocolError(text=f"{what} Nothing was done.", kind="edit")
    found = next((kind for kind, others in TOOL_NAMES.items() if plain in others), None)
    return found if found is not None else _unknown(name, plain)


def names_a_tool(name: str) -> bool:
    """Whether a call of this name is understood."""
    plain = plain_name(name)
    return kind_of(name) is not None or plain in EDITORS or any(plain in others for others in TOOL_NAMES.values())


def _unknown(name: str, plain: str) -> ProtocolError:
    near = nearest(name)
    if plain in _THOUGHTS:
        use = ". Give thoughts and plans as the arguments `reflection` and `planning` of another call"
    else:
        use = f"; use `{near}`" if near else ""
    text = f"There is no tool `{name.strip()[:80]}`{use}. The tools are {', '.join(FORMS)}. Nothing was done."
    return ProtocolError(text=text, kind="" if plain in _THOUGHTS else near)


def unwrapped(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments themselves where they stand within the only argument of a call."""
    [only] = given if len(given) == 1 else [""]
    return dict(given[only]) if only in _WRAPPERS and isinstance(given[only], dict) else given


def submit_text(given: dict[str, Any]) -> str:
    """The text for a reader among the arguments of `submit`, taken out of them."""
    names = [name for name in given if plain_name(name) in SUBMIT_TEXTS and isinstance(given[name], str | None)]
    return "\n".join(filter(None, (given.pop(name) for name in names)))


def translated(kind: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call in the spelling of this agent's tools."""
    made = dict(given)
    if kind == "run":
        for name in ("command", "cmd"):
            if name in made:
                made[name] = _shell_text(made[name])
    if kind == "read":
        for name in ("paths", "files", "file_paths"):
            one = made.get(name)
            if isinstance(one, list) and len(one) == 1 and isinstance(one[0], str) and "path" not in made:
                made["path"] = one[0]
                del made[name]
        _translate_lines(made)
    return made


def _shell_text(command: object) -> object:
    if not isinstance(command, list) or not command or not all(isinstance(each, str) for each in command):
        return command
    if len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc"):
        return command[2]
    return shlex.join(command)


def _translate_lines(made: dict[str, Any]) -> None:
    """Gives the range of a `read` as `lines`, where it is written with two numbers."""
    lines = made.get("lines")
    if isinstance(lines, dict) and lines and set(lines) <= {"start", "end"}:
        _lines(made, lines, "start", "end")
        return
    if isinstance(lines, str):
        made["lines"] = re.sub(r"(?<=[-:])\s*end\s*\Z", "", lines)
    names = {plain_name(name): name for name in made}
    if any(made.get(each) for each in ("lines", "view_range", "line_range", "range")):
        return
    for first, last in (*_RANGES, ("offset", "limit")):
        pair = {plain: made[names[plain]] for plain in (first, last) if plain in names}
        if pair and _lines(made, pair, first, last):
            for plain in pair:
                del made[names[plain]]
            return


def _lines(made: dict[str, Any], pair: Mapping[str, Any], first: str, last: str) -> bool:
    """Sets `lines` from two numbers, either of which may be left out; False where they are none."""
    begin, end = (_number(pair.get(name)) for name in (first, last))
    if begin is False or end is False:
        return False
    if begin is None and end is None:
        made.pop("lines", None)
        return True
    start = 1 if begin is None else begin
    if first == "offset":
        start = max(start, 1) if start >= 0 else start
        end = None if end is None else start + end - 1
    made["lines"] = lines_from(start, end)
    return True


def _number(value: object) -> int | bool | None:
    """A whole number, None where none is given, False for anything else."""
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    text = str(value).strip()
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else False
