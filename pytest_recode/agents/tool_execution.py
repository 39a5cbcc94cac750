"""Execute one action of an agent in its Workspace, and describe the result for the model.

Called in the pytest process, by the agent `recode`, for actions of both protocols. Files are read and written by the `Workspace`, in the
sandbox; what only reads their text (`search`, notes on syntax) is done here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_recode.agents import CommandResult, Refused, Workspace
from pytest_recode.agents.actions import Action
from pytest_recode.agents.arguments import lines_of, seconds_of
from pytest_recode.agents.edits import edit
from pytest_recode.agents.prompt_texts import cut, printable
from pytest_recode.agents.target_checks import note_on_change
from pytest_recode.wording import some_of

MAX_RESULT = 16_000
"""Characters of one result, some 4,000 tokens: enough for most files of a repository."""
MAX_RESULTS = 40_000
"""Characters of all results of one answer together."""


_SEVERAL = re.compile(r"\w\.\w+(?:[ ]*,[ ]*|[ ]+)[\w./-]*\w\.\w+\Z")
"""A path that may be meant as several: `a.py, b.py`. Not refused before, since a file may be called so."""


T = TypeVar("T")
Search = Callable[[str], str]
"""Returns the results of a search for these words, as text."""


@dataclass(frozen=True, slots=True)
class ActionOutcome:
    """What became of an action. `done`: False if the workspace refused it. `text`: for the model. `failed`: a command that was executed and
    did not succeed."""

    done: bool
    text: str
    failed: bool = False


def execute(action: Action, workspace: Workspace, search: Search, *, among: int = 1) -> ActionOutcome:
    """Execute any action except `submit`. `among` is the number of actions that share `MAX_RESULTS`."""
    room = min(MAX_RESULT, MAX_RESULTS // among)
    try:
        head, text, failed = "", "", False
        if action.kind == "run":
            done = workspace.run(action.arguments["command"], timeout := _timeout(action))
            head, text, failed = f"{_ending(done, timeout)}\n", done.output or "(no output)", done.status != 0
        else:
            text = _execute(action, workspace, search)
        shown, note = printable(text)
        return ActionOutcome(True, cut(f"{head}{shown}", room) + (f"\n{note}" if note else ""), failed)
    except Refused as refused:
        missing = str(refused).startswith("there is no ")
        more = _instead(action.arguments.get("path", ""), workspace) if missing else ""
        if missing and "*" in action.arguments.get("path", ""):
            more = f". `path` names one file or directory, and is no pattern{more}"
        elif missing and _SEVERAL.search(action.arguments.get("path", "")):
            refused = Refused(f"`{action.kind}` takes one path, and `path` was `{action.arguments['path']}`")
        return ActionOutcome(False, cut(printable(f"Refused: {refused}{more}")[0], room))


def _execute(action: Action, workspace: Workspace, search: Search) -> str:
    arguments = action.arguments
    path = arguments.get("path", ".")
    if action.kind == "list":
        return "\n".join(workspace.list(path)) or f"No file below {path}."
    if action.kind == "read":
        span = _asked(lines_of, arguments["lines"]) if "lines" in arguments else None
        try:
            text = workspace.read(path)
        except Refused as refused:
            if not str(refused).endswith(" is a directory: list it"):
                raise
            return f"{path} is a directory. Its files:\n" + "\n".join(workspace.list(path))
        return _lines(path, text, *span) if span else text or f"{path} is empty."
    if action.kind == "search":
        return search(arguments["query"])
    if action.kind == "grep":
        return "\n".join(workspace.grep(arguments["pattern"], path)) or "No line matches."
    if action.kind == "write":
        text, note = arguments["text"], ""
        if text and not text.endswith("\n"):  # only a call can give such a text: the lines of a block are whole
            every = text.count("\n")
            end = "\r\n" if every and text.count("\r\n") == every else "\n"
            text, note = f"{text}{end}", " A newline was added at its end."
        before = _before(workspace, path)
        workspace.write(path, text)
        count = text.count("\n")
        return f"Wrote {path} ({count} {'line' if count == 1 else 'lines'}).{note}{note_on_change(path, before, text)}"
    if action.kind == "edit":
        everywhere = arguments.get("replace_all") == "true"
        return edit(
            workspace, path, arguments["old"], arguments["new"], everywhere=everywhere, whole_lines=action.whole_lines
        )
    raise AssertionError(f"unknown action {action.kind!r}")


def _instead(path: str, workspace: Workspace) -> str:
    """What to do about a path at which there is nothing: the files with the same name, or `list`."""
    name = path.rstrip("/").rpartition("/")[2]
    try:
        alike = [each for each in workspace.list() if name and each.rpartition("/")[2] == name]
    except Refused:  # too many files to be listed
        alike = []
    return f". There is {some_of(alike, 3)}." if alike else ". `list` shows the files."


def _before(workspace: Workspace, path: str) -> str | None:
    try:
        return workspace.read(path)
    except Refused:
        return None


def _asked(read: Callable[[str], T], value: str) -> T:
    try:
        return read(value)
    except ValueError as error:
        raise Refused(f"{error}. Nothing of this action was done.") from None


def _lines(path: str, text: str, first: int, last: int | None) -> str:
    """The lines `first` to `last` of a file, below a line with their numbers."""
    lines = text.removesuffix("\n").split("\n") if text else []
    if first > len(lines):
        raise Refused(f"{path} has {len(lines)} {'line' if len(lines) == 1 else 'lines'}, and no line {first}.")
    last = min(last or len(lines), len(lines))
    return f"Lines {first} to {last} of {len(lines)}:\n" + "\n".join(lines[first - 1 : last])


def _timeout(action: Action) -> float | None:
    return _asked(seconds_of, action.arguments["timeout"]) if "timeout" in action.arguments else None


def _ending(done: CommandResult, timeout: float | None) -> str:
    """How a command ended. `timeout`: the seconds that the model gave."""
    if done.timed_out:
        limit = "its `timeout`"
        if timeout is None or done.seconds < timeout:
            limit = "the limit of a command" + ("" if timeout is None else ", which `timeout` cannot raise")
        return f"Stopped after {done.seconds:.0f} s, {limit}; all it had started was ended."
    return f"Ended by signal {-done.status}." if done.status < 0 else f"Exit status {done.status}."
