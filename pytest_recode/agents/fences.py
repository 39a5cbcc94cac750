"""Extract files from fenced code in an answer, for the `one-shot` agent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from pytest_recode.agents.headings import NAMED_FILE, interface_in
from pytest_recode.agents.python_source import ends_in_a_string
from pytest_recode.agents.values import DamagedError, shown
from pytest_recode.wording import some_of

_OPEN = re.compile(r" {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^`\r]*)\r?$")
PYTHON = {"python", "py", "python3"}
PYTHONS = (*PYTHON, "py3", "python2", "ipython", "ipython3", "pycon")
"""Languages of a fence whose lines no shell runs, though some look like commands or arguments."""
SHELLS = ("bash", "sh", "shell", "console", "zsh", "ksh", "dash", "shell-session", "shellsession", "terminal")
"""Languages of a fence whose lines are a command."""
_COMMENT = re.compile(r"#\s*(?:(?:path|file|filename)\s*[:=])?\s*(?P<path>\S+)\s*$", re.IGNORECASE)

_CHANGES = {
    "a search and replace block": re.compile(r"[<-]{5,9} ?(?:search|original|head)\b", re.IGNORECASE),
    "a diff": re.compile(r"(?:diff --git .*\n(?:.*\n){0,3})?--- .+\n\+\+\+ .+\n@@ |@@ -\d|\*\*\* Begin Patch"),
}
"""How texts begin that describe changes of a file. None is Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One piece of fenced code. `closed` is False if the answer ends within it. `before` is the last non-blank line above it; `line` is
    the line that opens it (from 1), `depth` its indentation, which `text` still has; `inner` are the lines that open fences within it."""

    info: str
    text: str
    closed: bool
    before: str = ""
    line: int = 0
    depth: int = 0
    inner: tuple[int, ...] = ()

    @property
    def unclosed(self) -> str:
        """What to tell the model of a piece that is not closed. Only a line of backticks alone closes a fence, as in CommonMark."""
        told = f"The code fence that line {self.line} opens is not closed: the answer was cut off, or the closing line is missing."
        if not self.inner:
            return told
        rows = self.text.split("\n")
        lines = [f"line {at} ({shown(rows[at - self.line - 1])})" for at in self.inner]
        return (
            f"{told} A closing line holds nothing else: one with words opens another fence, as here {some_of(lines, 3)}. If the code itself"
            " has such a line, use a fence of four backticks."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Text by target, and the faults of the answer, for the model."""

    files: Mapping[str, str]
    problems: tuple[str, ...]


def fences(text: str) -> tuple[Fence, ...]:
    """All fences in order. Within a fence, a line of backticks with words opens a nested one (a docstring may contain an example)."""
    found: list[Fence] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        opener = _OPEN.match(lines[at])
        at += 1
        if opener is None:
            continue
        opened = at
        body: list[str] = []
        inner: list[int] = []
        ticks, depth = opener["ticks"], 1
        while at < len(lines) and depth:
            line = _OPEN.match(lines[at])
            if line is not None and line["ticks"].startswith(ticks):
                depth += 1 if line["info"].strip() else -1
                inner += [at + 1] if line["info"].strip() else []
            if depth:
                body.append(lines[at])
            at += 1
        before = next((line for line in reversed(lines[max(opened - 4, 0) : opened - 1]) if line.strip()), "")
        found.append(
            Fence(
                info=opener["info"].strip(),
                text="\n".join(body),
                closed=not depth,
                before=before.strip(),
                line=opened,
                depth=len(opener[0]) - len(opener[0].lstrip()),
                inner=tuple(inner),
            )
        )
    return tuple(found)


def whole(text: str) -> tuple[Fence, ...]:
    """The pieces of an answer. Raises DamagedError if one is truncated or its end is unclear."""
    pieces = fences(text)
    for number, piece in enumerate(pieces):
        if not piece.closed:
            raise DamagedError(piece.unclosed)
        if number + 1 < len(pieces) and unsure(piece):
            raise DamagedError(
                f"The code fences do not tell where the code that begins in line {piece.line} ends: a line of backticks is in one of "
                "its strings.",
                advice="Use a fence of four backticks.",
            )
    return pieces


def unsure(piece: Fence) -> bool:
    """Whether a line of backticks within a piece of Python may have been mistaken for its end."""
    return language(piece) in {*PYTHON, ""} and ends_in_a_string(piece.text)


def files(text: str, targets: Sequence[str]) -> Found:
    """The last piece of code for each target: one that names it or, with a single target, the only Python piece that names no file.

    Where one piece cannot be read, none counts.
    """
    try:
        return _files(whole(text), targets)
    except DamagedError as damage:
        return Found(files={}, problems=(f"{damage} Nothing was written.",))


def _files(pieces: Sequence[Fence], targets: Sequence[str]) -> Found:
    words = [_paths(piece, targets) for piece in pieces]
    exact = {path for paths in words for path in paths} & set(targets)
    named = [(piece, _name(paths, targets, exact)) for piece, paths in zip(pieces, words, strict=True)]
    chosen = {str(name): piece for piece, name in named if name in targets}
    if len(targets) == 1 and not chosen:
        free = [piece for piece, name in named if name is None]
        code = [piece for piece in free if language(piece) in PYTHON] or [piece for piece in free if not piece.info]
        defining = [piece for piece in code if _DEFINITION.search(piece.text)]
        others = [piece for piece in code if piece not in defining]
        if (
            len(defining) == 1
            and _labelled(defining[0].before, targets)
            and all(_imports(each, targets[0]) for each in others)
        ):
            code = defining  # the others are examples of its use
        if len(code) > 1:
            lines = ", ".join(str(piece.line) for piece in code)
            raise DamagedError(
                f"Your answer has {len(code)} blocks of code (lines {lines}), and it is unclear which one is {targets[0]}: none names it in the line"
                " of its fence, in its first line or alone in the line above.",
                advice=f"Write the whole file in one block, and begin its fence with a line such as ```python {targets[0]}.",
            )
        chosen = dict(zip(targets, code, strict=False))
    for path, piece in chosen.items():
        if interface := interface_in(piece.info):
            raise DamagedError(
                f"The code that begins in line {piece.line} is the correction of one interface (`interface={interface[:80]}`), and a "
                f"block replaces the whole of {path}.",
                advice=f"Write the whole file in a fence without `interface=`: ```python {path}.",
            )
        if form := "a diff" if language(piece) in ("diff", "patch") else form_of_change(piece.text):
            raise DamagedError(
                f"The code that begins in line {piece.line} is {form}, and a block replaces the whole of {path}.",
                advice=f"Write the whole content of {path}: ```python {path}.",
            )
    problems = []
    for path, count in Counter(str(name) for _, name in named if name in chosen).items():
        if count > 1:
            problems.append(f"Your answer had {count} blocks for {path}; only the last one was used.")
    unused = [
        str(piece.line)
        for piece, name in named
        if name not in chosen and piece not in chosen.values() and _defines(piece)
    ]
    if unused and chosen:
        used = ", ".join(f"{path} is the block that begins in line {piece.line}" for path, piece in chosen.items())
        remainder = "the block of line" if len(unused) == 1 else "the blocks of lines"
        problems.append(
            f"In your answer, {used}. Not used, because no target is named: {remainder} {', '.join(unused)}."
        )
    missing = [path for path in targets if path not in chosen]
    if missing:
        problems.append(
            f"Your answer has no fenced code for {', '.join(missing)}: unchanged. "
            f"Begin the fence with a line such as ```python {missing[0]}"
        )
    return Found(files={path: _outdented(piece) for path, piece in chosen.items()}, problems=tuple(problems))


def _outdented(piece: Fence) -> str:
    """The text of a whole file without the indentation of its fence, as within an item of a list."""
    lines = piece.text.split("\n")
    if all(not line.strip() or line[: piece.depth].isspace() for line in lines) and piece.depth:
        return "\n".join(line[piece.depth :] for line in lines)
    return piece.text


def _defines(piece: Fence) -> bool:
    """Whether a piece is Python that defines something, so that it may have been meant as a file."""
    return language(piece) in {*PYTHON, ""} and _DEFINITION.search(piece.text) is not None


def _labelled(line: str, targets: Sequence[str]) -> bool:
    """Whether the line above a fence says that the code is a target: a heading, a line in bold or one that ends in a colon, with this path and no
    words but those of `_LABEL_WORD`. Any other word may say that the code is something else: the old one, an example, a part."""
    found = line.strip()
    paths = set(_PATH.findall(found))
    words = re.findall(r"[^\W\d_]+", _PATH.sub(" ", found.lower()))
    return (
        len(found) <= _LONGEST_LABEL
        and len(paths) == 1
        and paths.pop().removeprefix("./") in targets
        and all(map(_LABEL_WORD.fullmatch, words))
        and (found.startswith(("#", "**", "__")) or found.rstrip("*_`").endswith(":"))
    )


_DEFINITION = re.compile(r"^(?:async def|def|class) ", re.MULTILINE)
_PATH = re.compile(r"(?:[\w.-]+/)*[\w.-]*\w\.[A-Za-z]\w{0,7}(?![\w./])")
_LONGEST_LABEL = 100
_LABEL_WORD = re.compile(
    "here|is|s|the|this|below|file|filename|path|updated|complete|full|whole|new|final|corrected|revised|implementation|contents?|code|module|of|for|in"
)


def _imports(piece: Fence, target: str) -> bool:
    """Whether the code imports the target's module, as an example of its use does."""
    module = re.escape(target.removesuffix(".py").rpartition("/")[2])
    return re.search(rf"^[ \t]*(?:from|import)[ \t][^\n#]*\b{module}\b", piece.text, re.MULTILINE) is not None


def form_of_change(text: str) -> str:
    """The form in which a text describes changes of a file, instead of its content; "" if it does not."""
    begins = text.lstrip("\n")
    return next((form for form, mark in _CHANGES.items() if mark.match(begins)), "")


def _name(paths: Sequence[str], targets: Sequence[str], exact: Set[str]) -> str | None:
    """The target that a piece with these paths is for, or another path that it names, or None. A target that a piece names as it is, in `exact`,
    is not what another piece names that has a file of this name in another directory."""
    others = [target for target in targets if target not in exact]
    found = (path if path in exact else _target(path, others) for path in paths)
    return next((target for target in found if target), paths[0] if paths else None)


def _paths(piece: Fence, targets: Sequence[str]) -> list[str]:
    """What a piece names: in its fence, in its first line or in the line above."""
    if language(piece) in SHELLS and all(target.endswith(".py") for target in targets):
        return [_COMMANDS]
    words = [word for word in re.split(r"[\s:={},]+", piece.info) if word]
    given = [path for word in words if "." in (path := word.strip("\"'`")) or path in targets]
    if not given:
        first = _COMMENT.match(next((line[:300] for line in piece.text.split("\n") if line.strip()), ""))
        given = [first["path"].strip("\"'`")] if first else []
        if not any(_target(word, targets) for word in given):
            given = []  # an ordinary comment
    if not given:
        above = NAMED_FILE.match(piece.before[:300])
        given = [above["path"]] if above else []
    return [word.removeprefix("./") for word in given]


_COMMANDS = "(commands)"
"""Of a piece in a shell's language: it is no file of Python, whatever path it names."""


def _target(word: str, targets: Sequence[str]) -> str | None:
    path = word.removeprefix("./")
    if path in targets:
        return path
    ending = [target for target in targets if path.endswith("/" + target) or target.endswith("/" + path)]
    return ending[0] if len(ending) == 1 else None


def language(piece: Fence) -> str:
    """The language of the fence in lower case; "" if it names none."""
    return language_in(piece.info)


def language_in(info: str) -> str:
    """The first language in a fence's info string, in lower case; "" if it names none."""
    return next(filter(None, re.split(r"[\s:={},.]+", info.lower())), "")
