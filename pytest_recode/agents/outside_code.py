"""Find code in an answer outside of its actions, and decide whether it would be lost.

Called in the pytest process: by `protocol` and `tools` for the text of an answer, by `step_checks` and `recode` when the files are known. Pure.
Code would be lost if a line of it is in none of the texts that the model was shown or wrote to a file. Code that names its file must be
there when the answer is read, all code when the answer submits.
"""

from __future__ import annotations

import ast
import posixpath
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from pytest_recode.agents.actions import Action, Code
from pytest_recode.agents.fences import PYTHONS, SHELLS, language_in
from pytest_recode.agents.headings import NAMED_FILE, interface_in, path_in
from pytest_recode.agents.python_source import ends_in_a_string, holds_code, syntax_error
from pytest_recode.agents.values import FENCE

MAX_READ = 1_000_000
"""Characters of a text in which code is looked for."""

_COMMENT = re.compile(r"#[ \t]*((?:[\w.-]+/)*[\w-]+\.py)[ \t]*", re.ASCII)
_QUOTED = re.compile(r"^(?:[ \t]*>)+[ ]?")
_LISTED = re.compile(r"^[ \t]*(?:[-*+]|\d{1,2}[.)])[ \t]+")
_DEFINITION = re.compile(r"(?P<indent>[ \t]*)(?:async )?(?:def|class)[ \t]+\w+.*:[ \t]*(?:#.*)?$")
_HERE = re.compile(r"(?<!<)<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)\\?(?P<tag>[A-Za-z_]\w*)(?P=quote)(?!\w)", re.ASCII)
_INTO = re.compile(
    r"(?:(?<![<\d&>])>{1,2}[ \t]*|\btee[ \t]+(?:-a[ \t]+)?|\bsed[ \t]+-i\b[^|;&\n]{0,400}[ \t])['\"]?(?P<path>[\w./-]*\w)"
)
_DIFF_FILE = re.compile(r"(?:\+\+\+[ \t]+(?:b/)?|\*\*\*[ \t]+(?:Update|Add)[ \t]+File:[ \t]*)(?P<path>[^\t\n]+)")
_PROMPT = re.compile(r">>>(?:[ \t]|$)", re.MULTILINE)
_CONFLICT = re.compile(r"[ \t]*(?:<{5,9}|={5,9}|>{5,9})(?:[ \t].*)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the model was shown or wrote: `lines`, stripped. `targets` and `interfaces` are those of the task."""

    lines: Set[str] = frozenset()
    targets: Sequence[str] = ()
    interfaces: Sequence[str] = ()

    def also(self, texts: Iterable[str]) -> Known:
        return replace(self, lines=self.lines | lines_of(texts))


def lines_of(texts: Iterable[str]) -> frozenset[str]:
    """The lines of texts, stripped."""
    return frozenset(line.strip() for text in texts for line in text.split("\n"))


def lines_of_files(files: Iterable[bytes]) -> frozenset[str]:
    """The lines of files, stripped."""
    return lines_of(data.decode("utf-8", "replace") for data in files)


# Find


def outside_code(text: str) -> tuple[Code, ...]:
    """The code in a text: what its fences hold (also in lists and quotations), and definitions outside of fences."""
    rows = [_QUOTED.sub("", line) for line in text[:MAX_READ].split("\n")]
    pieces: list[Code] = []
    outside: list[str] = []
    at = 0
    while at < len(rows):
        opened = FENCE.match(_LISTED.sub("", rows[at]))
        if opened is None:
            outside.append(rows[at])
            at += 1
            continue
        end = next((row for row in range(at + 1, len(rows)) if _closes(rows[row], opened["ticks"])), len(rows))
        pieces += _in_fence(rows, at, end, opened["info"])
        at = end + 1
    return (*pieces, *(Code(text=each) for each in _definitions(outside)))


def file_named_near(lines: Sequence[str], opened: int) -> str:
    """The file named by the line above a fence, or by a comment at the start of its code; "" if there is none. `opened` is the index of
    the line that opens the fence."""
    above = next((line for line in reversed(lines[max(opened - 2, 0) : opened]) if line.strip()), "")
    first = next((line for line in lines[opened + 1 :] if line.strip()), "")
    comment = _COMMENT.fullmatch(first.strip()[:300])
    named = NAMED_FILE.match(above[:300])
    return comment[1] if comment else named["path"] if named else ""


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
        yield Code(text="\n".join(_new_lines(body)), path=path)
    elif language in SHELLS or (not language and _HERE.search(first)):
        yield from _in_shell(body)
    elif path or language in PYTHONS or (not language and (holds_code(body) or ends_in_a_string(body))):
        yield Code(text=body, path=path)
    elif not language:
        yield from (Code(text=each) for each in _definitions(body.split("\n")))


def _in_diff(body: str, path: str) -> Iterator[Code]:
    """The lines that a diff adds, for each file."""
    added: list[str] = []
    for line in body.split("\n"):
        if found := _DIFF_FILE.match(line):
            if added:
                yield Code(text="\n".join(added), path=path)
            path, added = found["path"].strip(), []
        elif line[:1] == "+":
            added.append(line[1:])
    if added:
        yield Code(text="\n".join(added), path=path)


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
        if (here := _HERE.search(line)) is None:
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


def _closes(line: str, ticks: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(ticks) and not bare.strip(ticks[0])


# Decide


def lost_line(code: Code, known: Known) -> str:
    """The first line of the code that is not known; "" if all are. Comments and ellipses do not count."""
    for line in code.text.split("\n"):
        said = line.strip()
        bare = said.partition("  #")[0].rstrip()
        if (
            said
            and not said.startswith(("#", "..."))
            and not _PROMPT.match(said)
            and said not in known.lines
            and bare not in known.lines
        ):
            return said
    return ""


def lost_file(found: Sequence[Code], actions: Sequence[Action], known: Known) -> tuple[str, str]:
    """File and line of the first piece that names a file which no action writes; ("", "") if there is none."""
    for code in found:
        if not code.path or not _is_concerned(code, known) or _is_written(code.path, actions):
            continue
        if line := lost_line(code, known):
            return code.path, line
    return "", ""


def lost_code(found: Sequence[Code], known: Known) -> str:
    """The first line of code that a submission would lose; "" if there is none."""
    for code in found:
        if not _is_concerned(code, known) or (not code.path and is_example(code.text, known)):
            continue
        if line := lost_line(code, known):
            return line
    return ""


def _is_concerned(code: Code, known: Known) -> bool:
    """Whether the code may be content of a file; of commands, only those that write a target."""
    return not code.command or any(same_file(code.path, target) for target in known.targets)


def is_example(text: str, known: Known) -> bool:
    """Whether code only uses the targets, so that it can be no part of them: it defines nothing, and it imports the only target, or shows
    what interfaces return."""
    source = textwrap.dedent(text)
    if syntax_error(source) is not None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(source.removeprefix("\ufeff")).body
    if any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in ast.walk(ast.Module(body=body, type_ignores=[]))
    ):
        return False
    shows = [node for node in body if _shows(node, known)]
    imports = any(_imports_target(node, known.targets) for node in body)
    if imports and (len(known.targets) == 1 or shows):
        return all(isinstance(node, _OF_AN_EXAMPLE) for node in body)
    return bool(body) and len(shows) == len(body)


_OF_AN_EXAMPLE = (
    *(ast.Import, ast.ImportFrom, ast.Expr, ast.Assert, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Pass),
)


def _imports_target(node: ast.stmt, targets: Sequence[str]) -> bool:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        modules = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    names = [target.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for target in targets]
    return any(f".{name}".endswith(f".{module}") for module in modules for name in names)


def _shows(node: ast.stmt, known: Known) -> bool:
    """Whether a statement prints or asserts something, or calls an interface and drops what it returns."""
    if isinstance(node, ast.Assert):
        return any(isinstance(each, ast.Call) and _called(each) in _names(known) for each in ast.walk(node))
    called = _called(node.value) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else ""
    return called == "print" or called in _names(known)


def _names(known: Known) -> set[str]:
    return {interface.rpartition(".")[2] for interface in known.interfaces}


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _is_written(path: str, actions: Sequence[Action]) -> bool:
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
