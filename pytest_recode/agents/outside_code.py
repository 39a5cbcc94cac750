"""Find code in an answer outside of its actions, and decide whether it would be lost.

Called in the pytest process: by `protocol` and `tools` for the text of an answer, by `step_checks` and `recode` when the files are known. Pure.
Code would be lost if a line of it is in none of the texts that the model was shown or wrote to a file. Code that names its file must be
there when the answer is read, all code when the answer submits.
"""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from pytest_recode.agents.actions import Action, Code
from pytest_recode.agents.code_examples import is_elided, is_example, is_module, is_paraphrase
from pytest_recode.agents.fences import PYTHONS, SHELLS, language_in
from pytest_recode.agents.headings import NAMED_FILE, interface_in, path_in
from pytest_recode.agents.python_source import ends_in_a_string, holds_code
from pytest_recode.agents.shell_script import HERE
from pytest_recode.agents.value_reader import SEARCH
from pytest_recode.agents.values import FENCE

MAX_READ = 1_000_000
"""Characters of a text in which code is looked for."""

_COMMENT = re.compile(r"#[ \t]*((?:[\w.-]+/)*[\w-]+\.py)[ \t]*", re.ASCII)
_SOURCE_FILE = re.compile(r"(?<![\w./-])(?:[\w-]+/){0,8}[\w-]{1,80}\.py(?![\w/])", re.ASCII)
_QUOTED = re.compile(r"^(?:[ \t]*>)+[ ]?")
_LISTED = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+")
_DEFINITION = re.compile(r"(?P<indent>[ \t]*)(?:async )?(?:def|class)[ \t]+\w+.*:[ \t]*(?:#.*)?$")
_INTO = re.compile(
    r"(?:(?<![<\d&>])>{1,2}[ \t]*|\btee[ \t]+(?:-a[ \t]+)?|\bsed[ \t]+-i\b[^|;&\n]{0,400}[ \t])['\"]?(?P<path>[\w./-]*\w)"
)
_DIFF_FILE = re.compile(r"(?:\+\+\+[ \t]+(?:b/)?|\*\*\*[ \t]+(?:Update|Add)[ \t]+File:[ \t]*)(?P<path>[^\t\n]+)")
_IN_DIFF = re.compile(r"[ +@\\-]|$|diff |index |(?:new|deleted) file |rename |similarity |\*\*\* ")
"""How the lines of a diff begin; an empty one may be a line of a file."""
_PROMPT = re.compile(r">>>(?:[ \t]|$)", re.MULTILINE)
_CONFLICT = re.compile(r"[ \t]*(?:<{5,9}|={5,9}|>{5,9})(?:[ \t].*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the model was shown or wrote: `lines`, stripped. `targets` and `interfaces` are those of the task, `sources` the texts that the
    targets have or get."""

    lines: Set[str] = frozenset()
    sources: Sequence[str] = ()
    targets: Sequence[str] = ()
    interfaces: Sequence[str] = ()

    def also(self, texts: Iterable[str]) -> Known:
        return replace(self, lines=self.lines | lines_of(texts))

    def with_targets(self, texts: Sequence[str]) -> Known:
        return replace(self.also(texts), sources=(*self.sources, *texts))


def lines_of(texts: Iterable[str]) -> frozenset[str]:
    """The lines of texts, stripped."""
    return frozenset(line.strip() for text in texts for line in text.split("\n"))


def lines_of_files(files: Iterable[bytes]) -> frozenset[str]:
    """The lines of files, stripped."""
    return lines_of(data.decode("utf-8", "replace") for data in files)


# Find


def outside_code(text: str) -> tuple[Code, ...]:
    """The code in a text: what its fences hold (also in lists and quotations), and definitions outside of fences."""
    lines = text[:MAX_READ].split("\n")
    rows = [line if line.startswith(">>>>>") else _QUOTED.sub("", line) for line in lines]
    pieces: list[Code] = []
    outside: list[str] = []
    at = 0
    while at < len(rows):
        opened = FENCE.match(_LISTED.sub("", rows[at]))
        if opened is None:
            outside.append(rows[at])
            at += 1
            continue
        within = rows if lines[at].lstrip()[:1] == ">" else lines  # `>>> ` begins a line of a session
        depth = within[at].index(opened["ticks"])
        end = next((row for row in range(at + 1, len(rows)) if _closes(within[row], opened["ticks"], depth)), len(rows))
        pieces += _in_fence(within, at, end, opened["info"])
        at = end + 1
    return (*pieces, *_without_fence(outside), *(Code(text=each) for each in _definitions(outside)))


def file_named_near(lines: Sequence[str], opened: int) -> str:
    """The file named by the line above a fence, or by a comment at the start of its code; "" if there is none. `opened` is the index of
    the line that opens the fence."""
    above = next((line for line in reversed(lines[max(opened - 2, 0) : opened]) if line.strip()), "")
    first = next((line for line in lines[opened + 1 :] if line.strip()), "")
    comment = _COMMENT.fullmatch(first.strip()[:300])
    named = NAMED_FILE.match(above[:300])
    return comment[1] if comment else named["path"] if named else ""


def _file_in_sentence(lines: Sequence[str], opened: int) -> str:
    """The only file that the sentence above a fence names: `Here is the updated `solver.py`:`; "" if there is none."""
    above = next((line for line in reversed(lines[max(opened - 2, 0) : opened]) if line.strip()), "")[:300]
    named = set(_SOURCE_FILE.findall(above))
    return named.pop() if len(named) == 1 else ""


def _in_fence(rows: Sequence[str], at: int, end: int, info: str) -> Iterator[Code]:
    body = textwrap.dedent("\n".join(rows[at + 1 : end]))
    language = language_in(info)
    path = "" if interface_in(info) else path_in(info) or file_named_near(rows, at)  # feedback writes interfaces
    first = body.lstrip().partition("\n")[0]
    if _PROMPT.match(body.lstrip()):
        return
    if language in ("diff", "patch") or first.startswith(("*** Begin Patch", "--- a/", "diff --git")):
        yield from _in_diff(body, path)
    elif _CONFLICT.match(first):
        yield Code(text="\n".join(_new_lines(body)), path=path, change=True)
    elif language in SHELLS or (not language and HERE.search(first)):
        yield from _in_shell(body)
    elif not path and language in ("", *PYTHONS) and is_module(body) and (named := _file_in_sentence(rows, at)):
        yield Code(text=body, path=named)
    elif path or language in PYTHONS or (not language and (holds_code(body) or ends_in_a_string(body))):
        yield Code(text=body, path=path)
    elif not language:
        yield from (Code(text=each) for each in _definitions(body.split("\n")))


def _without_fence(rows: Sequence[str]) -> Iterator[Code]:
    """Diffs, texts between conflict markers and here-documents that write a file, in lines outside of fences."""
    last = {row.strip("\t"): number for number, row in enumerate(rows)}  # so that no search is in vain
    at = 0
    while at < len(rows):
        end = at + 1
        if _opens_diff(rows, at):
            end = next((row for row in range(at + 1, len(rows)) if not _IN_DIFF.match(rows[row])), len(rows))
            yield from _in_diff("\n".join(rows[at:end]), "")
        elif SEARCH.match(rows[at].strip()):
            end = next((row + 1 for row in range(at + 1, len(rows)) if rows[row].lstrip()[:5] == ">>>>>"), len(rows))
            yield Code(text="\n".join(_new_lines("\n".join(rows[at:end]))), change=True)
        elif (here := HERE.search(rows[at])) is not None and last.get(here["tag"], 0) > at:
            end = next(row + 1 for row in range(at + 1, len(rows)) if rows[row].strip("\t") == here["tag"])
            yield from _in_shell("\n".join(rows[at:end]))
        at = end


def _opens_diff(rows: Sequence[str], at: int) -> bool:
    line = rows[at]
    return line.startswith(("diff --git ", "*** Begin Patch")) or (
        line.startswith("--- ") and at + 1 < len(rows) and rows[at + 1].startswith("+++ ")
    )


def _in_diff(body: str, path: str) -> Iterator[Code]:
    """The lines that a diff adds, for each file; if it adds none, those that it removes, with their sign."""
    added: list[str] = []
    removed: list[str] = []
    for line in body.split("\n"):
        if found := _DIFF_FILE.match(line):
            if added or removed:
                yield Code(text="\n".join(added or removed), path=path, change=True)
            path, added, removed = found["path"].strip(), [], []
        elif line[:1] == "+":
            added.append(line[1:])
        elif line[:1] == "-" and not line.startswith("--- "):
            removed.append(line)
    if added or removed:
        yield Code(text="\n".join(added or removed), path=path, change=True)


def _new_lines(body: str) -> Iterator[str]:
    """The new lines of texts between conflict markers."""
    new = False
    for line in body.split("\n"):
        if _CONFLICT.match(line):
            new = line.lstrip()[0] == "="
        elif new:
            yield line


def _in_shell(body: str) -> Iterator[Code]:
    """The here-documents of a script, and its other commands that write a file."""
    lines = body.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        into = _INTO.search(line)
        path = into["path"] if into else ""
        at += 1
        if (here := HERE.search(line)) is None:
            if path and path != "/dev/null":
                yield Code(text=line, path=path, command=True)
            continue
        end = next((row for row in range(at, len(lines)) if lines[row].strip("\t") == here["tag"]), len(lines))
        text = "\n".join(lines[at:end])
        if path or "*** Begin Patch" in text:
            yield from _in_diff(text, path) if "*** Begin Patch" in text else [Code(text=text, path=path)]
        at = end + 1


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


def _closes(line: str, ticks: str, depth: int) -> bool:
    """Whether a line ends a fence whose ticks begin in column `depth`: a line that is four columns deeper is a line of the code."""
    bare = line.strip()
    return len(bare) >= len(ticks) and not bare.strip(ticks[0]) and line.index(bare[0]) <= depth + 3


# Decide


def lost_line(code: Code, known: Known) -> str:
    """The first line of the code that is not known; "" if all are. Comments do not count, nor do lines with an ellipsis, which are no code."""
    for line in code.text.split("\n"):
        said = line.strip()
        bare = said.partition("  #")[0].rstrip()
        if (
            said
            and not said.startswith("#")
            and not is_elided(said)
            and not _PROMPT.match(said)
            and said not in known.lines
            and bare not in known.lines
        ):
            return said
    return ""


def lost_file(found: Sequence[Code], actions: Sequence[Action], known: Known) -> tuple[Code, str] | None:
    """The first piece that names a file which no action writes, or that describes a change while no action changes a file, and its first
    line that is not known."""
    for code in found:
        if not (code.path or code.change) or not _is_concerned(code, known) or _is_carried_out(code, actions):
            continue
        if line := lost_line(code, known):
            return code, line
    return None


def lost_code(found: Sequence[Code], known: Known) -> str:
    """The first line of code that a submission would lose; "" if there is none."""
    for code in found:
        if not _is_concerned(code, known) or (not code.path and is_no_part(code.text, known)):
            continue
        if line := lost_line(code, known):
            return line
    return ""


def is_no_part(text: str, known: Known) -> bool:
    """Whether code can be no part of the targets: it only uses them, or says in other names what they have."""
    return is_example(text, known.targets, known.interfaces, known.sources) or is_paraphrase(text, known.sources)


def _is_concerned(code: Code, known: Known) -> bool:
    """Whether the code may be content of a file; of commands, only those that write a target."""
    return not code.command or any(same_file(code.path, target) for target in known.targets)


def _is_carried_out(code: Code, actions: Sequence[Action]) -> bool:
    """Whether an action may write the file of the code. A `write` or an `edit` carries out no command and no change but its own, whose lines are
    known."""
    if code.command or code.change:
        actions = [each for each in actions if each.kind == "run"]
    return bool(code.path) and _is_written(code.path, actions)


def _is_written(path: str, actions: Sequence[Action]) -> bool:
    """Whether an action may write this file."""
    written = [each.arguments["path"] for each in actions if each.kind in ("write", "edit")]
    commands = [each.arguments["command"] for each in actions if each.kind == "run"]
    return any(same_file(path, other) for other in written) or any(
        _may_write(command, posixpath.basename(path)) for command in commands
    )


def _may_write(command: str, name: str) -> bool:
    """Whether a command that names a file may write it: by a redirection, or with a program that writes files."""
    file = re.escape(name)
    return name in command and bool(
        re.search(
            rf">[ \t]*\S{{0,200}}{file}|\b(?:tee|cp|mv|sed)\b[^|;&\n]{{0,400}}{file}|\b(?:patch|apply|write|open)",
            command,
        )
    )


def same_file(one: str, other: str) -> bool:
    """Whether two paths may name one file: models omit leading directories or write absolute paths."""
    first, second = (posixpath.normpath(path).strip("/") for path in (one, other))
    return first == second or first.endswith(f"/{second}") or second.endswith(f"/{first}")
