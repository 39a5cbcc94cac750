"""Read from the `test.sh` of an annotation of RECODE-H how its tests run. The script itself is never executed.

Read are the activated environment, the folder of the repository, the working directory, the files copied to the repository,
PYTHONPATH and pytest's --timeout. Other lines (echo, mkdir, source …), and all lines after pytest runs, are ignored.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.document import text_of

SCRIPT = "test.sh"
LARGEST = 256 * 1024
HERE = "SCRIPT_DIR"

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_ENDS = ("&&", ";", "||", "|", "&")
_NAME = re.compile(r"[\w.+-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """How the tests run. Paths are POSIX and relative to the repository; "." is its root.

    `copies`: the destination of each file of the annotation that is copied. `seconds`: the limit of one test, or None.
    """

    environment: str
    cwd: str
    pythonpath: tuple[str, ...]
    copies: Mapping[str, str]
    seconds: float | None


@dataclass(slots=True, kw_only=True)
class _Reading:
    path: Path
    folder: str  # the repository's name
    line: int = 0
    variables: dict[str, str] = field(default_factory=lambda: {HERE: "."})
    environment: str = ""
    target: str | None = None
    cwd: str | None = None
    pythonpath: tuple[str, ...] = ()
    copies: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    done: bool = False

    def wrong(self, text: str) -> UserError:
        return UserError(f"{self.path}:{self.line}: {text}")

    def expanded(self, word: str) -> str:
        """`word` with the variables replaced that the script has set. Raises `UserError`."""

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self.variables:
                raise self.wrong(f"${{{name}}} is not set in this script; write the path relative to ${{SCRIPT_DIR}}")
            return self.variables[name]

        text = _VARIABLE.sub(value, word)
        if "$" in text or "`" in text:
            raise self.wrong(
                f"{word}: cannot be evaluated without running the script; write the path relative to ${{SCRIPT_DIR}}"
            )
        return text

    def within(self, word: str, what: str) -> str:
        """`word` as a path relative to the repository; a path without a variable is relative to the current `cd`. Raises `UserError`."""
        text = self.expanded(word)
        if not _starts_here(word, self.variables):
            if text.startswith(("/", "~")) or self.cwd is None:
                raise self.wrong(
                    f"{what} {word}: is outside the repository; write the path relative to ${{TARGET_DIR}}"
                )
            text = posixpath.join(self.folder, self.cwd, text)
        inside = posixpath.relpath(posixpath.normpath(text), self.folder)
        if inside == ".." or inside.startswith("../"):
            raise self.wrong(
                f"{what} {word}: is outside the repository {self.folder}; write the path relative to ${{TARGET_DIR}}"
            )
        return inside


def read_script(path: Path, folder: str) -> Script:
    """Read `path`; `folder` is the name of the repository's folder next to it. Raises a `UserError` with the line."""
    reading = _Reading(path=path, folder=folder)
    for number, line in _lines(text_of(path, most=LARGEST)):
        reading.line = number
        if reading.done:
            break
        _line(reading, line)
    for value, what, how in (
        (reading.environment, "activates no environment", "conda activate NAME"),
        (reading.target, "does not set TARGET_DIR", f'TARGET_DIR="${{SCRIPT_DIR}}/{folder}"'),
        (reading.cwd, "does not change to the repository", 'cd "${TARGET_DIR}/." || exit'),
    ):
        if not value:
            raise UserError(f"{path}: {what}; add the line {how}")
    assert reading.cwd is not None
    return Script(
        environment=reading.environment,
        cwd=reading.cwd,
        pythonpath=reading.pythonpath,
        copies=reading.copies,
        seconds=reading.seconds,
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The commands of a script with their line number, from 1. Continuation lines are joined; blank lines and comments are omitted."""
    begun, start = "", 0
    for number, row in enumerate(text.splitlines(), 1):
        start = start or number
        begun += row
        if begun.endswith("\\"):
            begun = f"{begun[:-1]} "
            continue
        line = begun.strip()
        if line and not line.startswith("#"):
            yield start, line
        begun, start = "", 0
    if begun.strip():
        yield start, begun.strip()


def _line(reading: _Reading, line: str) -> None:
    if re.match(rf"(export\s+)?{HERE}=", line):
        return  # the script's own folder, however it is computed
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        if re.search(r"\b(pytest|cd|cp|conda|PYTHONPATH|TARGET_DIR)\b", line):
            raise reading.wrong(f"{line}: a quotation mark is not closed; close it") from None
        return
    command: list[str] = []
    for word in [*words, ";"]:
        if word not in _ENDS:
            command.append(word)
            continue
        _command(reading, command)
        if word == "||" or reading.done:
            return  # commands after || run only on failure
        command = []


def _command(reading: _Reading, words: Sequence[str]) -> None:
    rest = list(words)
    if rest[:1] == ["export"]:
        rest = rest[1:]
    while rest and (found := _ASSIGNMENT.fullmatch(rest[0])):
        _assigned(reading, found[1], found[2])
        rest = rest[1:]
    if not rest:
        return
    first = rest[0]
    if any(word.rpartition("/")[2] in ("pytest", "py.test") for word in rest) and first not in ("echo", "pip", "which"):
        _pytest(reading, rest)
    elif first in ("conda", "source", "mamba", "micromamba") and rest[1:2] == ["activate"]:
        _environment(reading, rest[2:])
    elif first in ("cd", "pushd"):
        _cd(reading, rest[1:])
    elif first == "cp":
        _cp(reading, [word for word in rest[1:] if not word.startswith("-")])
    elif first in ("mv", "ln"):
        raise reading.wrong(f"{' '.join(rest)}: {first} is not supported; use cp")
    elif re.fullmatch(r"python[\d.]*", first.rpartition("/")[2]):
        raise reading.wrong(
            f"{' '.join(rest)}: pytest is the only Python program that is supported; run the tests with pytest"
        )


def _assigned(reading: _Reading, name: str, value: str) -> None:
    if name == "PYTHONPATH":
        entries = [entry for entry in value.split(":") if entry and "PYTHONPATH" not in entry]
        reading.pythonpath = tuple(reading.within(entry, "PYTHONPATH") for entry in entries)
    elif name == "TARGET_DIR":
        reading.target = posixpath.normpath(reading.expanded(value))
        reading.variables[name] = reading.target
        if not f"{reading.target}/".startswith(f"{reading.folder}/"):
            raise reading.wrong(
                f"TARGET_DIR is {reading.target}, but repo_dir_name of this annotation is {reading.folder};"
                " correct one of the two"
            )
    elif "$(" not in value and "`" not in value:
        try:
            reading.variables[name] = reading.expanded(value)
        except UserError:
            reading.variables.pop(name, None)  # reported only if the variable is used


def _environment(reading: _Reading, words: Sequence[str]) -> None:
    if len(words) != 1 or not _NAME.fullmatch(words[0]):
        raise reading.wrong(f"activate {' '.join(words)}: is not the name of an environment; write conda activate NAME")
    reading.environment = words[0]


def _cd(reading: _Reading, words: Sequence[str]) -> None:
    if len(words) != 1:
        raise reading.wrong(f'cd {" ".join(words)}: is not supported; write cd "${{TARGET_DIR}}/FOLDER" || exit')
    if _starts_here(words[0], reading.variables) and posixpath.normpath(reading.expanded(words[0])) == ".":
        return  # the folder of the script
    reading.cwd = reading.within(words[0], "cd")


def _cp(reading: _Reading, words: Sequence[str]) -> None:
    if len(words) < 2:
        raise reading.wrong(
            f'cp {" ".join(words)}: is not supported; write cp "${{SCRIPT_DIR}}/FILE" "${{TARGET_DIR}}/FOLDER"'
        )
    *sources, into = words
    for word in sources:
        source = posixpath.normpath(reading.expanded(word))
        if "/" in source or source == ".":
            raise reading.wrong(f"cp {word}: is not a file next to this script; only such files can be copied")
        place = reading.within(into, "cp to")
        named = place.endswith(".py") and not into.endswith("/")
        reading.copies[source] = place if named else posixpath.normpath(posixpath.join(place, source))


def _pytest(reading: _Reading, words: Sequence[str]) -> None:
    if words[0] in ("conda", "mamba", "micromamba") and words[1:2] == ["run"]:
        for option, value in pairwise(words):
            if option in ("-n", "--name"):
                _environment(reading, [value])
    for place, word in enumerate(words):
        if word == "--timeout" or word.startswith("--timeout="):
            seconds = word.partition("=")[2] or " ".join(words[place + 1 : place + 2])
            if not re.fullmatch(r"\d+(\.\d+)?", seconds) or not float(seconds):
                raise reading.wrong(f"--timeout {seconds}: must be a number of seconds above 0")
            reading.seconds = float(seconds)
    reading.done = True


def _starts_here(word: str, variables: Mapping[str, str]) -> bool:
    """Whether a path starts with a variable. The values of all variables are relative to the script's folder."""
    found = _VARIABLE.match(word)
    return found is not None and (found[1] or found[2]) in variables
