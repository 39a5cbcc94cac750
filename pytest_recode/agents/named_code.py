"""Find code in an answer's prose that names a file, and check that an action of the answer writes that file. Otherwise the code would be
lost.

Called in the pytest process by `protocol` for text answers and by `tools` for text next to native calls. Pure.
"""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from pytest_recode.agents.actions import Action
from pytest_recode.agents.fences import PYTHON, language_in
from pytest_recode.agents.headings import NAMED_FILE, path_in
from pytest_recode.agents.python_source import holds_code
from pytest_recode.agents.values import FENCE, closes_fence

MAX_READ = 1_000_000
"""Characters of a text in which named code is looked for."""

_COMMENT = re.compile(r"#[ \t]*((?:[\w.-]+/)*[\w-]+\.py)[ \t]*", re.ASCII)
_QUOTED = re.compile(r"^(?:[ \t]*>)+[ ]?")
_LISTED = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+")
_DEFINITION = re.compile(r"(?P<indent>[ \t]*)(?:async )?(?:def|class)[ \t]+\w+.*:[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCode:
    """A code fence in prose that names its file. `line` (from 1) opens it."""

    line: int
    path: str


def file_named_near(lines: Sequence[str], opened: int) -> str:
    """The file named by the line above a fence, or by a comment at the start of its code; "" if there is none. `opened` is the index of
    the line that opens the fence."""
    above = next((line for line in reversed(lines[max(opened - 2, 0) : opened]) if line.strip()), "")
    first = next((line for line in lines[opened + 1 :] if line.strip()), "")
    comment = _COMMENT.fullmatch(first[:300])
    named = NAMED_FILE.match(above[:300])
    return comment[1] if comment else named["path"] if named else ""


def named_code(text: str) -> tuple[NamedCode, ...]:
    """The fences that name a file: in their info string, in the line above, or in a comment at the start of the code."""
    found: list[NamedCode] = []
    lines = text[:MAX_READ].split("\n")
    fence = None
    for at, line in enumerate(lines):
        opened = FENCE.match(line)
        if fence is not None:
            fence = None if closes_fence(line, fence) else fence
        elif opened is not None:
            fence = opened["ticks"]
            if path := path_in(opened["info"]) or file_named_near(lines, at):
                found.append(NamedCode(line=at + 1, path=path))
    return tuple(found)


def quoted_code(text: str) -> tuple[str, ...]:
    """The Python code in a text: in fences that name no other language (also in lists and quotations), and in unfenced definitions."""
    rows = [_QUOTED.sub("", line) for line in text[:MAX_READ].split("\n")]
    pieces: list[str] = []
    outside: list[str] = []
    at = 0
    while at < len(rows):
        opened = FENCE.match(_LISTED.sub("", rows[at]))
        if opened is None:
            outside.append(rows[at])
            at += 1
            continue
        end = next((row for row in range(at + 1, len(rows)) if _closes(rows[row], opened["ticks"])), len(rows))
        if language_in(opened["info"]) in (*PYTHON, ""):
            pieces.append(textwrap.dedent("\n".join(rows[at + 1 : end])))
        at = end + 1
    return (*(piece for piece in pieces if holds_code(piece)), *_definitions(outside))


def _definitions(rows: Sequence[str]) -> list[str]:
    """The functions and classes in lines of prose, each with the indented lines below it."""
    found: list[str] = []
    at = 0
    while at < len(rows):
        head = _DEFINITION.match(rows[at])
        end = at + 1
        if head is not None:
            while end < len(rows) and (
                not rows[end].strip() or rows[end].startswith((head["indent"] + " ", head["indent"] + "\t"))
            ):
                end += 1
            if any(map(str.strip, rows[at + 1 : end])):
                found.append("\n".join(rows[at:end]))
        at = end
    return found


def _closes(line: str, ticks: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(ticks) and not bare.strip(ticks[0])


def lost_line(quoted: Sequence[str], known: Set[str]) -> str:
    """The first line of the code that is not among the known lines; "" if all are. Comments and ellipses do not count."""
    lines = (line.strip() for code in quoted for line in code.split("\n"))
    return next((line for line in lines if line and line not in known and not line.startswith(("#", "...", ">>>"))), "")


def lines_of_files(files: Iterable[bytes]) -> frozenset[str]:
    """The lines of files, stripped."""
    return frozenset(line.strip() for data in files for line in data.decode("utf-8", "replace").split("\n"))


def unwritten(found: Sequence[NamedCode], actions: Sequence[Action]) -> NamedCode | None:
    """The first piece of code whose file no action writes or edits; None if there is none."""
    written = [each.arguments["path"] for each in actions if each.kind in ("write", "edit")]
    commands = [each.arguments["command"] for each in actions if each.kind == "run"]
    for code in found:
        by_command = any(_may_write(command, posixpath.basename(code.path)) for command in commands)
        if not by_command and not any(_same_file(code.path, path) for path in written):
            return code
    return None


def _may_write(command: str, name: str) -> bool:
    """Whether a command that names a file may write it: by a redirection, or with a program that writes files."""
    file = re.escape(name)
    return name in command and bool(
        re.search(
            rf">[ \t]*\S{{0,200}}{file}|\b(?:tee|cp|mv|sed)\b[^|;&\n]{{0,400}}{file}|\b(?:patch|apply|write|open)",
            command,
        )
    )


def _same_file(one: str, other: str) -> bool:
    """Whether two paths may name one file: models omit leading directories or write absolute paths."""
    first, second = (posixpath.normpath(path).strip("/") for path in (one, other))
    return first == second or first.endswith(f"/{second}") or second.endswith(f"/{first}")
