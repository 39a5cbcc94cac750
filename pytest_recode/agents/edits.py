"""Replace a piece of a file, or say why it cannot be found: the places that are nearest to what was given.

Called by `tool_execution`. The file is read and written by the `Workspace`; its text is compared here.
"""

from __future__ import annotations

import difflib
import re

from pytest_recode.agents import Refused, Workspace
from pytest_recode.agents.prompt_texts import printable
from pytest_recode.agents.target_checks import note_on_change

MAX_COMPARED = 3_000
"""Lines of a file that are compared with a line that does not occur in it."""
_ESCAPE = re.compile(r"\\(?:r|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})")
_NUMBERED = re.compile(r"[ \t]*\d{1,6}(?:\t|[ ]?[:|\u2192][ ]?)")
_ALIKE = str.maketrans(
    dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u201c\u201d", '"')
    | {"\u00a0": " ", "\u202f": " "}
)
"""Characters that look like one of ASCII, which models write in its place, or the other way round."""


def edit(
    workspace: Workspace, path: str, old: str, new: str, *, everywhere: bool = False, whole_lines: bool = False
) -> str:
    """Replace the only occurrence of `old`, or all of them. `whole_lines`: it begins at the beginning of a line. Raises `Refused` with
    advice."""
    name = "SEARCH text" if whole_lines else "old text"
    text = workspace.read(path)
    written_old, written_new = old, new
    added = (
        "" if not whole_lines or text.endswith("\n") else "\r\n" if text.count("\r\n") == text.count("\n") > 0 else "\n"
    )
    text += added  # so that its last line is a whole one
    places = _places(text, old, whole_lines)
    if "\r\n" in text and (not places or text.count("\r\n") == text.count("\n")):  # it may be shown with line feeds
        old, new = (piece.replace("\r\n", "\n").replace("\n", "\r\n") for piece in (old, new))
        places = _places(text, old, whole_lines)
    count = len(places)
    converted = " Its lines end in CRLF, and so do the new ones." if new != written_new else ""
    if not count:
        why = (
            _escaped(text, written_old)
            or _other_line_ends(text, written_old)
            or (_within_a_line(text, old) if whole_lines else "")
            or _alike(text, written_old)
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


def _escaped(text: str, old: str) -> str:
    """A hint if the old text occurs in the file once its escapes are decoded; "" otherwise."""
    shown = [escape for escape in set(_ESCAPE.findall(old)) if printable(_character(escape))[0] == escape]
    decoded = _ESCAPE.sub(lambda match: _character(match[0]) if match[0] in shown else match[0], old)
    if not shown or decoded not in text:
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
    old_lines = old.split("\n")
    bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in old_lines)
    if all(_NUMBERED.match(line) for line in old_lines if line.strip()) and bare in text:
        return " with the numbers of its lines. Leave the numbers out"
    lines = text.split("\n")
    skipped = next((at for at, line in enumerate(old_lines) if line.strip()), 0)
    best, same = _longest_beginning(lines, old_lines[skipped:])
    if same and old_lines[skipped].strip() and best + same < len(lines) and skipped + same < len(old_lines):
        return (
            f" (from line {best + 1} on it is the same for {same} {'line' if same == 1 else 'lines'}, and then line {best + same + 1} is "
            f"{lines[best + same][:200]!r}, not {old_lines[skipped + same][:200]!r})"
        )
    first = "".join(old_lines[skipped].split())
    for number, line in enumerate(lines, 1):
        if first and "".join(line.split()) == first:
            return f" (line {number} is like its first line: {line[:200]!r})"
    if first and len(lines) <= MAX_COMPARED and len(first) <= 300:
        short = [line.strip() if len(line) <= 300 else "" for line in lines]
        for match in difflib.get_close_matches(old_lines[skipped].strip(), short, 1, 0.75):
            number = short.index(match) + 1
            return f" (nearest to its line {old_lines[skipped].strip()[:200]!r} is line {number}: {lines[number - 1][:200]!r})"
    return ""


def _longest_beginning(lines: list[str], pattern: list[str]) -> tuple[int, int]:
    """Where the longest run of the first lines of `pattern` begins in `lines`, and its length. Knuth-Morris-Pratt search: linear in the
    length of the file."""
    back, state = [0] * len(pattern), 0
    for at in range(1, len(pattern)):
        while state and pattern[at] != pattern[state]:
            state = back[state - 1]
        state += pattern[at] == pattern[state]
        back[at] = state
    best, same, state = 0, 0, 0
    for at, line in enumerate(lines):
        while state and (state == len(pattern) or line != pattern[state]):
            state = back[state - 1]
        state += line == pattern[state]
        if state > same:
            best, same = at - state + 1, state
    return best, same
