"""Execute one action of an agent in its Workspace, and describe the result for the model.

Called in the pytest process, by the agent `recode`, for actions of both protocols. Files are read and written by the `Workspace`, in the
sandbox; what only reads their text (`search`, notes on syntax) is done here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_recode.agents import CommandResult, Refused, Workspace
from pytest_recode.agents.actions import Action
from pytest_recode.agents.arguments import lines_of, seconds_of
from pytest_recode.agents.prompts import cut, printable
from pytest_recode.agents.target_checks import lost_definitions, not_python
from pytest_recode.wording import some_of

MAX_RESULT = 16_000
"""Characters of one result, some 4,000 tokens: enough for most files of a repository."""
MAX_RESULTS = 40_000
"""Characters of all results of one answer together."""

MAX_COMPARED = 3_000
"""Lines of a file that are compared with a line that does not occur in it."""

_ESCAPE = re.compile(r"\\(?:r|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NUMBERED = re.compile(r"[ \t]*\d{1,6}(?:\t|[ ]?[:|\u2192][ ]?)")
_SEVERAL = re.compile(r"\w\.\w+(?:[ ]*,[ ]*|[ ]+)[\w./-]*\w\.\w+\Z")
"""A path that may be meant as several: `a.py, b.py`. Not refused before, since a file may be called so."""


T = TypeVar("T")
Search = Callable[[str], str]
"""Returns the results of a search for these words, as text."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an action. `done`: False if the workspace refused it. `text`: for the model. `failed`: a command that was executed and
    did not succeed."""

    done: bool
    text: str
    failed: bool = False


def execute(action: Action, workspace: Workspace, search: Search, *, among: int = 1) -> Result:
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
        return Result(True, cut(f"{head}{shown}", room) + (f"\n{note}" if note else ""), failed)
    except Refused as refused:
        missing = str(refused).startswith("there is no ")
        more = _instead(action.arguments.get("path", ""), workspace) if missing else ""
        if missing and "*" in action.arguments.get("path", ""):
            more = f". `path` names one file or directory, and is no pattern{more}"
        elif missing and _SEVERAL.search(action.arguments.get("path", "")):
            refused = Refused(f"`{action.kind}` takes one path, and `path` was `{action.arguments['path']}`")
        return Result(False, cut(printable(f"Refused: {refused}{more}")[0], room))


def _execute(action: Action, workspace: Workspace, search: Search) -> str:
    given = action.arguments
    path = given.get("path", ".")
    if action.kind == "list":
        return "\n".join(workspace.list(path)) or f"No file below {path}."
    if action.kind == "read":
        wanted = _asked(lines_of, given["lines"]) if "lines" in given else None
        try:
            text = workspace.read(path)
        except Refused as refused:
            if not str(refused).endswith(" is a directory: list it"):
                raise
            return f"{path} is a directory. Its files:\n" + "\n".join(workspace.list(path))
        return _lines(path, text, *wanted) if wanted else text or f"{path} is empty."
    if action.kind == "search":
        return search(given["query"])
    if action.kind == "grep":
        return "\n".join(workspace.grep(given["pattern"], path)) or "No line matches."
    if action.kind == "write":
        text, said = given["text"], ""
        if text and not text.endswith("\n"):  # only a call can give such a text: the lines of a block are whole
            every = text.count("\n")
            end = "\r\n" if every and text.count("\r\n") == every else "\n"
            text, said = f"{text}{end}", " A newline was added at its end."
        before = _before(workspace, path)
        workspace.write(path, text)
        count = text.count("\n")
        return f"Wrote {path} ({count} {'line' if count == 1 else 'lines'}).{said}{note_on_change(path, before, text)}"
    if action.kind == "edit":
        everywhere = given.get("replace_all") == "true"
        return edit(workspace, path, given["old"], given["new"], everywhere=everywhere, whole_lines=action.whole_lines)
    raise AssertionError(f"unknown action {action.kind!r}")


def edit(
    workspace: Workspace, path: str, old: str, new: str, *, everywhere: bool = False, whole_lines: bool = False
) -> str:
    """Replace the only occurrence of `old`, or all of them. `whole_lines`: it begins at the beginning of a line. Raises `Refused` with
    advice."""
    name = "SEARCH text" if whole_lines else "old text"
    text = workspace.read(path)
    said, given = old, new
    added = (
        "" if not whole_lines or text.endswith("\n") else "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
    )
    text += added  # so that its last line is a whole one
    count = len(_places(text, old, whole_lines))
    if "\r\n" in text and (not count or text.count("\r\n") == text.count("\n")):  # it may be shown with line feeds
        old, new = (piece.replace("\r\n", "\n").replace("\n", "\r\n") for piece in (old, new))
        count = len(_places(text, old, whole_lines))
    converted = " Its lines end in CRLF, and so do the new ones." if new != given else ""
    if not count:
        why = (
            _escaped(text, said)
            or _other_line_ends(text, said)
            or (_within_a_line(text, old) if whole_lines else "")
            or _alike(text, said)
            or f"{_near(text, old)}. It must be exact, blanks included"
        )
        if new.strip() and text.count(new) == 1:
            why += f". The new text is there already, at line {text[: text.index(new)].count(chr(10)) + 1}: it may be edited already"
        raise Refused(f"the {name} does not occur in {path}{why}.")
    if count > 1 and not everywhere:
        every = "" if whole_lines else ", or `replace_all: true` to replace it in every place"
        raise Refused(
            f"the {name} occurs {count} times in {path}. Give more lines around it, so that it is unique{every}."
        )
    places = _places(text, old, whole_lines)
    line = text[: places[0]].count("\n") + 1
    changed = text
    for at in reversed(places):
        changed = f"{changed[:at]}{new}{changed[at + len(old) :]}"
    if changed == text:
        raise Refused(f"the old and the new text are the same, so that nothing in {path} was changed.")
    if not whole_lines and (joined := _joined_lines(text, old, new)):
        raise Refused(joined)
    workspace.write(path, changed)
    where = f"at line {line}" if count == 1 else f"in {count} places, the first at line {line}"
    return f"Edited {path} {where}.{converted}{_empty_line(text, old, new)}{note_on_change(path, text, changed)}"


def _places(text: str, old: str, whole_lines: bool) -> list[int]:
    """Where `old` begins in a text. `whole_lines`: only at the beginning of a line."""
    begin = "^" if whole_lines else ""
    return [found.start() for found in re.finditer(begin + re.escape(old), text, re.MULTILINE)]


def _instead(path: str, workspace: Workspace) -> str:
    """What to do about a path at which there is nothing: the files with the same name, or `list`."""
    name = path.rstrip("/").rpartition("/")[2]
    try:
        alike = [each for each in workspace.list() if name and each.rpartition("/")[2] == name]
    except Refused:  # too many files to be listed
        alike = []
    return f". There is {some_of(alike, 3)}." if alike else ". `list` shows the files."


def _joined_lines(text: str, old: str, new: str) -> str:
    """What is wrong with an edit that would take the line break between two lines away, because only the old text begins or ends with one; ""
    if it would not. Nobody means that, and a comment would swallow the next line."""
    for found in re.finditer(re.escape(old), text):
        first, last = found.span()
        before, after = text[max(first - 1, 0) : first], text[last : last + 1]
        ends = old[-1:] == "\n" and (before + new)[-1:] not in ("", "\n") and after not in ("", "\r", "\n")
        begins = old[:1] in ("\r", "\n") and before not in ("", "\n") and new[:1] not in ("", "\r", "\n")
        if ends or begins:
            line = text.count("\n", 0, first) + (old.count("\n") if ends else 1)
            return (
                f"`old` {'ends' if ends else 'begins'} with a line break and `new` does not, so that lines {line} and {line + 1} would become one. "
                "Give `new` the same line break, or leave it out of `old`."
            )
    return ""


def _empty_line(text: str, old: str, new: str) -> str:
    """A note if an edit removed all of a line except its line break; "" otherwise."""
    at = text.index(old)
    after = text[at + len(old) : at + len(old) + 1]
    alone = at == 0 or text[at - 1] == "\n"
    if new or not old.strip() or old.endswith("\n") or not alone or after != "\n":
        return ""
    line = text[:at].count("\n") + 1
    return f" Note: line {line} is empty now. To remove it, give `old` with its line break."


def note_on_change(path: str, before: str | None, after: str) -> str:
    """A note for the model if a change emptied a file, made it invalid Python, took functions or classes from it, or put control characters
    into it; "" otherwise. `before` is None for a new file."""
    if not after.strip():
        return f" Note: {path} is empty now." if before is None or before.strip() else ""
    control = next((found for found in _CONTROL.findall(after) if found not in (before or "")), "")
    if control:
        control = f" Note: {path} holds the control character U+{ord(control):04X} now; a backslash of the code is written \\\\ in JSON."
    wrong = not_python(path, after)
    if wrong and before is not None and before.strip() and not not_python(path, before):
        wrong += "; before this change it was valid"
    note = wrong or lost_definitions(path, before or "", after)
    return f"{control} Note: {note}." if note else control


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


def _escaped(text: str, old: str) -> str:
    """A hint if the old text occurs in the file once its escapes are decoded; "" otherwise."""
    shown = [found for found in set(_ESCAPE.findall(old)) if printable(_character(found))[0] == found]
    meant = _ESCAPE.sub(lambda found: _character(found[0]) if found[0] in shown else found[0], old)
    if not shown or meant not in text:
        return ""
    first = min(shown, key=old.index)
    return (
        f" as it is written: `{first}` is how the character U+{ord(_character(first)):04X} is shown, and the file holds that character. "
        "Give the character itself in `old`, or change the file with a command"
    )


def _other_line_ends(text: str, old: str) -> str:
    """A hint if the old text occurs in the file but for its CRLF; "" otherwise."""
    if "\r\n" not in old or old.replace("\r\n", "\n") not in text:
        return ""
    return " with these line ends: its lines end in line feeds alone, and those of `old` in CRLF"


def _within_a_line(text: str, old: str) -> str:
    """A hint if lines occur in the file but for the beginning of the first one, such as its indentation; "" otherwise."""
    at = text.find(old)
    if at < 0:
        return ""
    line = text.count("\n", 0, at) + 1
    whole = text.split("\n")[line - 1].removesuffix("\r")
    return f" as whole lines: its first line is only the end of line {line}, {whole[:200]!r}. Give the lines with their indentation"


_ALIKE = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u201c\u201d", '"')
    | {"\u00a0": " ", "\u202f": " "}
)
"""Characters that look like one of ASCII, which models write in its place, or the other way round."""


def _alike(text: str, old: str) -> str:
    """A hint if the old text occurs in the file but for characters that look alike; "" otherwise."""
    at = text.translate(_ALIKE).find(old.translate(_ALIKE))
    differs = next((n for n, character in enumerate(old) if at >= 0 and character != text[at + n]), None)
    if differs is None:
        return ""
    line = text.count("\n", 0, at + differs) + 1
    has, said = text[at + differs], old[differs]
    return f" as it is written: line {line} of the file has {_named(has)} where `old` has {_named(said)}"


def _named(character: str) -> str:
    return f"`{character}`" if character.isascii() and character.strip() else f"the character U+{ord(character):04X}"


def _character(escape: str) -> str:
    return escape.encode().decode("unicode_escape")


def _near(text: str, old: str) -> str:
    """A hint at the lines of the file that are most similar to the old text; "" if there are none."""
    wanted = old.split("\n")
    bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in wanted)
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and bare in text:
        return " with the numbers of its lines. Leave the numbers out"
    lines = text.split("\n")
    skipped = next((at for at, line in enumerate(wanted) if line.strip()), 0)
    best, same = _longest_beginning(lines, wanted[skipped:])
    if same and wanted[skipped].strip() and best + same < len(lines) and skipped + same < len(wanted):
        return (
            f" (from line {best + 1} on it is the same for {same} {'line' if same == 1 else 'lines'}, and then line {best + same + 1} is "
            f"{lines[best + same][:200]!r}, not {wanted[skipped + same][:200]!r})"
        )
    first = "".join(wanted[skipped].split())
    for number, line in enumerate(lines, 1):
        if first and "".join(line.split()) == first:
            return f" (line {number} is like its first line: {line[:200]!r})"
    if first and len(lines) <= MAX_COMPARED and len(first) <= 300:
        short = [line.strip() if len(line) <= 300 else "" for line in lines]
        for match in difflib.get_close_matches(wanted[skipped].strip(), short, 1, 0.75):
            number = short.index(match) + 1
            return f" (nearest to its line {wanted[skipped].strip()[:200]!r} is line {number}: {lines[number - 1][:200]!r})"
    return ""


def _longest_beginning(lines: list[str], wanted: list[str]) -> tuple[int, int]:
    """Where the longest run of the first lines of `wanted` begins in `lines`, and its length. Knuth-Morris-Pratt search: linear in the
    length of the file."""
    back, state = [0] * len(wanted), 0
    for at in range(1, len(wanted)):
        while state and wanted[at] != wanted[state]:
            state = back[state - 1]
        state += wanted[at] == wanted[state]
        back[at] = state
    best, same, state = 0, 0, 0
    for at, line in enumerate(lines):
        while state and (state == len(wanted) or line != wanted[state]):
            state = back[state - 1]
        state += line == wanted[state]
        if state > same:
            best, same = at - state + 1, state
    return best, same
