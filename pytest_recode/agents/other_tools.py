"""Translate calls of other agents' tools to this agent's tools, in the pytest process, for `tools`.

Only unambiguous calls are translated. Others are refused with a list of the arguments that the tool takes.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from pytest_recode.agents.action_arguments import RANGES, action, lines_from, lines_of, names_lines, whole_number
from pytest_recode.agents.action_names import (
    TOOL_KINDS,
    argument_of,
    in_workspace,
    instead,
    kind_of,
    nearest,
    plain_name,
)
from pytest_recode.agents.actions import Action, ProtocolError
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.value_reader import mark_around

EDITORS = ("str_replace_based_edit_tool", "str_replace_editor")
"""Tools with an argument `command` that says what to do."""
_COMMANDS = {"view": "read", "create": "write", "str_replace": "edit"}

_WRAPPERS = ("args", "arguments", "input", "parameters", "params", "kwargs")
_SHELLS = frozenset({"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash"})
_MILLISECONDS = frozenset({"timeout_ms", "timeout_millis", "timeout_milliseconds"})
_DIRECTORIES = frozenset({"cwd", "workdir", "directory", "dir_path", "working_dir", "working_directory"})
_FENCED = re.compile(r"\s*```(?:bash|sh|shell|console|zsh)?[ \t]*\n(?P<body>.*)\n```\s*", re.DOTALL)
_THOUGHTS = frozenset({"think", "thinking", "plan", "todo", "todo_write", "update_plan", "write_todos"})


def tool_kind(name: str, given: dict[str, Any]) -> str | ProtocolError:
    """The tool that a call of `name` means. Removes the `command` of an editor tool from `given`."""
    plain = plain_name(name)
    if (kind := kind_of(name)) is not None:
        return kind
    if plain in EDITORS:
        command = given.pop("command", None)
        if isinstance(command, str) and command in _COMMANDS:
            new = [given[each] for each in given if argument_of("edit", each) == "new"]
            if command == "str_replace" and all(each is None for each in new):
                given["new_str"] = ""  # as that tool documents it
            return _COMMANDS[command]
        return _no_command(plain, command)
    return TOOL_KINDS.get(plain) or _unknown(name, plain)


def _no_command(editor: str, command: object) -> ProtocolError:
    known = ", ".join(f"`{each}`" for each in _COMMANDS)
    if command == "insert":
        what = f"`{editor}` with the command `insert` is not one of the tools: use `edit`, and give as `old` the line beside the place."
        return ProtocolError(text=f"{what} Nothing was done.", kind="edit")
    if command in (None, ""):
        what = f"`{editor}` needs `command`, which is one of {known}."
    else:
        shown = command if isinstance(command, str) else json.dumps(command)
        what = f"`{editor}` has no command `{shown[:80]}`; its commands are {known}."
    return ProtocolError(text=f"{what} Nothing was done. Or call one of the tools {', '.join(FORMS)}.")


def names_a_tool(name: str) -> bool:
    """Whether a tool of this name is known."""
    plain = plain_name(name)
    return kind_of(name) is not None or plain in EDITORS or plain in TOOL_KINDS


def _unknown(name: str, plain: str) -> ProtocolError:
    near = nearest(name)
    if plain in _THOUGHTS:
        use = ". Give thoughts and plans as the arguments `reflection` and `planning` of another call"
    else:
        use = instead(name)
    text = f"There is no tool `{name.strip()[:80]}`{use}. The tools are {', '.join(FORMS)}. Nothing was done."
    return ProtocolError(text=text, kind="" if plain in _THOUGHTS else near)


def unwrapped(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments, without the single argument that contains all of them."""
    [only] = given if len(given) == 1 else [""]
    return dict(given[only]) if only in _WRAPPERS and isinstance(given[only], dict) else given


def translated(kind: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call under this agent's names."""
    made = dict(given)
    if kind == "run":
        for name in ("command", "cmd"):
            if name in made:
                made[name] = _shell_text(made[name])
        _translate_milliseconds(made)
        _translate_directory(made)
    if kind == "read":
        for name in ("paths", "files", "file_paths"):
            one = made.get(name)
            if isinstance(one, list) and len(one) == 1 and isinstance(one[0], str) and "path" not in made:
                made["path"] = one[0]
                del made[name]
        _translate_lines(made)
    return made


def _shell_text(command: object) -> object:
    """The shell command for an argument that is an array of a program and its arguments (also as JSON text), or text in a code fence."""
    if isinstance(command, str):
        fenced = _FENCED.fullmatch(command)
        if fenced is not None and "```" not in fenced["body"]:
            return fenced["body"]
        said = command.strip()
        if len(said) > 2 and mark_around(said) and not re.search(r"[\\\n]", said):
            return said[1:-1]
        if not command.lstrip().startswith("["):
            return command
        try:
            listed = json.loads(command)
        except ValueError:
            return command
        return (
            _shell_text(listed)
            if isinstance(listed, list) and all(isinstance(each, str) for each in listed)
            else command
        )
    if not isinstance(command, list) or not command or not all(isinstance(each, str) for each in command):
        return command
    if len(command) == 3 and command[0] in _SHELLS and command[1] in ("-c", "-lc"):
        return command[2]
    if len(command) == 1:
        return command[0]
    if any(character.isspace() for character in command[0]):
        return command  # no program: it seems to be a list of commands, and is refused
    return shlex.join(command)


def _translate_milliseconds(made: dict[str, Any]) -> None:
    """Replace a time limit in milliseconds by `timeout`, if that is missing."""
    names = [name for name in made if plain_name(name) in _MILLISECONDS]
    limits = [name for name, value in made.items() if argument_of("run", name) == "timeout" and value is not None]
    if len(names) != 1 or limits:
        return
    if (number := whole_number(made[names[0]])) is not None and number > 0:
        del made[names[0]]
        made["timeout"] = number / 1000


def _translate_directory(made: dict[str, Any]) -> None:
    """Prepend a change to the command's directory."""
    names = [name for name, value in made.items() if plain_name(name) in _DIRECTORIES and value]
    commands = [name for name in made if argument_of("run", name) == "command"]
    if len(names) != 1 or len(commands) != 1 or not all(isinstance(made[name], str) for name in (*names, *commands)):
        return
    directory = in_workspace(made[names[0]].strip())
    if directory not in ("", ".", "./"):
        made[commands[0]] = f"cd {shlex.quote(directory)} || exit\n{made[commands[0]]}"
    del made[names[0]]


_MOVED = re.compile(r"cd (?P<directory>\S+) \|\| exit\n(?P<command>.+)")


def without_directory(command: str) -> str:
    """A command of one line as it was called: `pwd in src` for one that first changes to the directory `src`, as `translated` writes it."""
    moved = _MOVED.fullmatch(command)
    return f"{moved['command']} in {moved['directory']}" if moved else command


def _translate_lines(made: dict[str, Any]) -> None:
    """Replace the first and last line of a `read` by `lines`."""
    lines = made.get("lines")
    if isinstance(lines, dict) and lines and set(lines) <= {"start", "end"}:
        _lines(made, lines, "start", "end")
        return
    if isinstance(lines, str) and lines.strip().lower() == "all":
        del made["lines"]
    elif isinstance(lines, str):
        made["lines"] = re.sub(r"(?<=[-:])\s*end\s*\Z", "", lines)
    names = {plain_name(name): name for name in made}
    given = {name: value for name, value in made.items() if argument_of("read", name) == "lines"}
    for first, last in (*RANGES, ("offset", "limit")):
        pair = {plain: made[names[plain]] for plain in (first, last) if plain in names}
        found: dict[str, Any] = {}
        if not pair or not _lines(found, pair, first, last):
            continue
        if names_lines(given) and found and not _same_lines(given, found["lines"]):
            return  # refused: it is unclear which are meant
        for plain in pair:
            del made[names[plain]]
        if not names_lines(given):
            made.update(found)
        return


def _same_lines(given: Mapping[str, Any], lines: str) -> bool:
    """Whether lines given in another form are the same."""
    made = action("read", {"path": "a", **given})
    return isinstance(made, Action) and lines_of(made.arguments.get("lines", "1-")) == lines_of(lines)


def _lines(made: dict[str, Any], pair: Mapping[str, Any], first: str, last: str) -> bool:
    """Set `lines` from two optional numbers. Returns False if they are not numbers."""
    if any(pair.get(name) not in (None, "") and whole_number(pair[name]) is None for name in (first, last)):
        return False
    begin, end = (whole_number(pair.get(name)) for name in (first, last))
    if begin is None and end is None:
        made.pop("lines", None)
        return True
    start = 1 if begin is None else begin
    if first == "offset":
        start = max(start, 1) if start >= 0 else start
        end = None if end is None else start + end - 1
    made["lines"] = lines_from(start, end)
    return True
