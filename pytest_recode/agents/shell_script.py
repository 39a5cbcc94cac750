"""Find where a shell command of several lines ends: at the end of its here-documents, of a quotation, or of continued lines.

Called by the readers of answers in the pytest process. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pytest_recode.agents.values import DamagedError, Value, closes_fence

HERE = re.compile(r"(?<!<)<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)\\?(?P<tag>[A-Za-z_]\w*)(?P=quote)(?!\w)", re.ASCII)
"""The word that ends a here-document."""
MAX_QUOTED = 200
"""Maximum number of lines of a command within quotation marks."""


def here_document(lines: Sequence[str], at: int, said: str) -> Value:
    """A command with here-documents: its lines up to the end of the last one."""
    end = at + 1
    for here in HERE.finditer(said):
        while end < len(lines):
            line = lines[end].lstrip("\t") if here["dash"] else lines[end]
            end += 1
            if line == here["tag"]:
                break
        else:
            raise DamagedError(
                f"The here-document `{here[0]}` of the command in line {at + 1} has no last line `{here['tag']}`.",
                advice="Write all of the command as a block: `command <<END_OF_COMMAND`, its lines, `END_OF_COMMAND`.",
            )
    last = list(HERE.finditer(said))[-1]["tag"]
    return Value(text="\n".join([said, *lines[at + 1 : end]]), end=end, closer=last, opened=at + 1)


def in_here_documents(lines: Sequence[str], at: int, ticks: str) -> Collection[int]:
    """The lines of the here-documents of a script in a fence. A here-document that has no end in the script, as a heading shows, has none of
    them."""
    inside: set[int] = set()
    while at < len(lines) and not closes_fence(lines[at], ticks):
        here = HERE.search(lines[at])
        at += 1
        if here is None:
            continue
        tag, dash = here["tag"], here["dash"]
        end = at
        while end < len(lines) and (lines[end].lstrip("\t") if dash else lines[end]) != tag:
            if _is_heading(lines[end]):
                return inside
            end += 1
        if end < len(lines):
            inside.update(range(at, end))
            at = end + 1
    return inside


def _is_heading(line: str) -> bool:
    return line.startswith(("### ", "## ", "**")) and "action" in line.lower()


def open_quote(lines: Sequence[str], at: int, said: str) -> Value:
    """A command whose line ends with an opening quotation mark: its lines up to the one with the closing mark."""
    for end in range(at + 2, min(len(lines), at + MAX_QUOTED) + 1):
        command = "\n".join([said, *lines[at + 1 : end]])
        if not is_open(command):
            return Value(text=command, end=end, opened=at + 1)
    raise DamagedError(
        f"The quotation mark at the end of the command in line {at + 1} is not closed: the answer was cut off, or the mark is missing."
    )


def is_open(command: str) -> bool:
    """Whether a command ends within quotation marks."""
    quote, escaped = "", False
    for character in command:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
    return bool(quote)


def is_one_command(command: str) -> bool:
    """Whether all lines of a command belong to its first: a quotation that the last line closes, or a here-document that it ends. No line
    looks like one with a prompt, which would be a copy of a terminal."""
    first, *rest = command.split("\n")
    if any(line.startswith(("$ ", "> ")) or line == ">" for line in rest):
        return False
    if here := HERE.search(first):
        ends = [line.lstrip("\t") if here["dash"] else line for line in rest]
        return ends.count(here["tag"]) == 1 and ends[-1] == here["tag"] and not is_open(first)
    return not is_open(command) and all(is_open("\n".join([first, *rest[:end]])) for end in range(len(rest)))


def prompted_commands(text: str) -> list[str]:
    """The commands of a text in which each line has a prompt and is one whole command; empty for any other text."""
    rows = text.strip("\n").split("\n")
    found = [re.fullmatch(r"[ \t]*\$ +([\w./(\"'].*)", row) for row in rows]
    commands = [each[1] for each in found if each]
    whole = len(commands) == len(rows) and not any(
        each.endswith("\\") or HERE.search(each) or is_open(each) for each in commands
    )
    return commands if whole else []


def continued(lines: Sequence[str], at: int, said: str) -> Value:
    """A command whose lines, except the last, end with a backslash."""
    rows, end = [said], at + 1
    while rows[-1].endswith("\\") and end < len(lines):
        rows.append(lines[end])
        end += 1
    if rows[-1].endswith("\\") or not rows[-1].strip() or HERE.search(rows[-1]) or any(map(_is_heading, rows[1:])):
        raise DamagedError(
            f"The command in line {at + 1} continues after a backslash, and its end is not clear.",
            advice="Write it as a block.",
        )
    return Value(text="\n".join(rows), end=end, opened=at + 1)
