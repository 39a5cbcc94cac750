"""Extract files from fenced code in an answer, for the `one-shot` agent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_recode.agents.headings import NAMED_FILE, interface_in
from pytest_recode.agents.python_source import Names, ends_in_a_string, names_in, without
from pytest_recode.agents.values import DamagedError, shown
from pytest_recode.task import Files
from pytest_recode.wording import some_of

_OPEN = re.compile(r" {0,3}(?P<ticks>`{3,}|~{3,})(?P<info>[^`\r]*)\r?$")
PYTHON = {"python", "py", "python3"}
PYTHONS = (*PYTHON, "py3", "python2", "ipython", "ipython3", "pycon")
"""Languages of a fence whose lines no shell runs, though some look like commands or arguments."""
SHELLS = ("bash", "sh", "shell", "console", "zsh", "ksh", "dash", "shell-session", "shellsession", "terminal")
"""Languages of a fence whose lines are a command."""
_COMMENT = re.compile(r"#\s*(?:(?:path|file|filename)\s*[:=])?\s*(?P<path>\S+)", re.IGNORECASE)
_HEADING = re.compile(r"^(?:#|\*\*|__).*$", re.MULTILINE)
_LONGEST_LABEL = 1_000

_DIFFS = ("diff", "patch")
_CHANGES = {
    "a search and replace block": re.compile(r"[<-]{5,9} ?(?:search|original|head)\b", re.IGNORECASE),
    "a diff": re.compile(r"(?:diff --git .*\n(?:.*\n){0,3})?--- .+\n\+\+\+ .+\n@@ |@@ -\d|\*\*\* Begin Patch"),
}
"""How texts begin that describe changes of a file. None is Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One piece of fenced code. `closed` is False if the answer ends within it. `before` is the text between it and the one above; `line`
    is the line that opens it (from 1), `depth` its indentation, which `text` still has; `inner` are the lines that open fences within it."""

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
        fault = f"The code fence that line {self.line} opens is not closed: the answer was cut off, or the closing line is missing."
        if not self.inner:
            return fault
        rows = self.text.split("\n")
        lines = [f"line {at} ({shown(rows[at - self.line - 1])})" for at in self.inner]
        return (
            f"{fault} A closing line holds nothing else: one with words opens another fence, as here {some_of(lines, 3)}. If the code itself"
            " has such a line, use a fence of four backticks."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFiles:
    """Text by target, and the faults of the answer, for the model."""

    files: Mapping[str, str]
    problems: tuple[str, ...]


def fences(text: str) -> tuple[Fence, ...]:
    """All fences in order. Within a fence, a line of backticks with words opens a nested one (a docstring may contain an example)."""
    pieces: list[Fence] = []
    lines = text.split("\n")
    at = ended = 0
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
        pieces.append(
            Fence(
                info=opener["info"].strip(),
                text="\n".join(body),
                closed=not depth,
                before="\n".join(lines[ended : opened - 1]).strip(),
                line=opened,
                depth=len(opener[0]) - len(opener[0].lstrip()),
                inner=tuple(inner),
            )
        )
        ended = at
    return tuple(pieces)


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
    return _is_python(piece) and ends_in_a_string(piece.text)


def files(text: str, targets: Sequence[str], repo: Files | None = None) -> ExtractedFiles:
    """The block of each target: of those that are whole, the one that is named most surely, and of several such the last.

    A block is for the target that its fence or its first line names, else for the one that the text directly above names. With a single
    target, a block that names no file may be it, too. Where the end of one block is unclear, none counts.
    """
    try:
        pieces = whole(text)
    except DamagedError as damage:
        return ExtractedFiles(files={}, problems=(f"{damage} Nothing was written.",))
    claims = [(piece, *_claim(piece, targets)) for piece in pieces]
    chosen: dict[str, Fence] = {}
    problems: dict[str, str] = {}
    for path in targets:
        module = PurePosixPath(path).stem
        blocks = [
            _Block(piece=piece, rank=rank, names=names_in("" if _change(piece) else piece.text, module))
            for piece, target, rank in claims
            if target == path
        ]
        answer, problem = _answer(path, blocks, (repo or {}).get(path, b"").decode("utf-8", "replace"))
        chosen |= {path: answer} if answer else {}
        problems |= {path: problem} if problem else {}
    missing = [path for path in targets if path not in chosen and path not in problems]
    notes = list(problems.values())
    if missing:
        head = "No block of your answer names" if pieces else "Your answer has no fenced code for"
        notes.append(
            f"{head} {', '.join(missing)}: unchanged. Begin the fence with a line such as ```python {missing[0]}"
        )
    unused = [
        str(piece.line)
        for piece, _, rank in claims
        if rank > _ABOVE and piece not in chosen.values() and _is_python(piece) and names_in(piece.text).defines
    ]
    if unused and (chosen or missing):
        used = ", ".join(f"{path} is the block that begins in line {piece.line}" for path, piece in chosen.items())
        remainder = "the block of line" if len(unused) == 1 else "the blocks of lines"
        notes.append(
            f"{f'In your answer, {used}. ' if used else ''}Not used, because no target is named: {remainder} {', '.join(unused)}."
        )
    return ExtractedFiles(files={path: _outdented(piece) for path, piece in chosen.items()}, problems=tuple(notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """A piece that may be a target: `rank` says how it names it, the surest first."""

    piece: Fence
    rank: int
    names: Names


_EXACT, _ENDING, _ABOVE, _UNNAMED, _BARE, _OTHER = range(6)
"""How a piece names a target: in its fence or first line with its path, or with a path that ends like it; in the text above; not at all,
as Python or without a language; it is for no target."""


def _claim(piece: Fence, targets: Sequence[str]) -> tuple[str, int]:
    """The target that a piece may be, and how it names it."""
    python_only = all(target.endswith(".py") for target in targets)
    if language(piece) in SHELLS and python_only:
        return "", _OTHER
    words = [word.strip("\"'`") for word in re.split(r"[\s:={},]+", piece.info) if word]
    paths = [word for word in words if "." in word or word in targets]
    if not paths and (first := _COMMENT.match(piece.text.lstrip()[:300])):
        paths = list(filter(None, [_target(first["path"].strip("\"'`:,"), targets)]))
    if paths:
        target = next(filter(None, (_target(path, targets) for path in paths)), None) or ""
        exact = target in {path.removeprefix("./") for path in paths}
        return target, (_EXACT if exact else _ENDING) if target else _OTHER
    above = piece.before[-_LONGEST_LABEL:]
    alone = NAMED_FILE.match(above.rpartition("\n")[2])
    if (alone and not _target(alone["path"], targets)) or (
        python_only and language(piece) not in {*PYTHON, "", *_DIFFS}
    ):
        return "", _OTHER
    for label in (re.split(r"\n[ \t]*\n", above)[-1], *_HEADING.findall(above)[-1:]):
        words = re.split(r"[^\w./-]+", label)
        if named := set(filter(None, (_target(word.rstrip("."), targets) for word in words))):
            return (named.pop(), _ABOVE) if len(named) == 1 else ("", _OTHER)
    if len(targets) > 1 or (piece.info and language(piece) not in PYTHON):
        return "", _OTHER
    return targets[0], _UNNAMED if piece.info else _BARE


def _answer(path: str, blocks: Sequence[_Block], file: str) -> tuple[Fence | None, str]:
    """The piece that is a target, and what to tell the model of the others."""
    faults = [_fault(block, blocks, names_in(file)) for block in blocks]
    sound = [block for block, fault in zip(blocks, faults, strict=True) if not fault]
    rank = min((block.rank for block in sound or blocks), default=_OTHER)
    best = [block for block in sound or blocks if block.rank == rank]
    if not best:
        return None, ""
    answer, line = best[-1], best[-1].piece.line
    if not sound:
        fault = faults[blocks.index(answer)]
        return None, (
            f"The code that begins in line {line} is {fault}, and a block replaces the whole of {path}: unchanged. Write the whole content"
            f" of {path}: ```python {path}."
        )
    if rank > _ABOVE and len(best) > 1:
        return None, (
            f"Your answer has {len(best)} blocks of code (lines {some_of([str(block.piece.line) for block in best], 10)}), and it is unclear"
            f" which one is {path}: none names it in the line of its fence, in its first line or in the text above. Nothing was written. Write"
            f" the whole file in one block, and begin its fence with a line such as ```python {path}."
        )
    rivals = [block for block in blocks if block.rank <= _ABOVE and (block in sound or block.rank == rank)]
    if rivals in ([], [answer]):
        return answer.piece, ""
    last = rivals[-1]
    fault = faults[blocks.index(last)]
    used = "only the last one" if last is answer else f"that of line {line}"
    why = f": that of line {last.piece.line} is {fault}" if fault else ""
    return answer.piece, f"Your answer had {len(rivals)} blocks for {path}; {used} was used{why}."


def _fault(block: _Block, blocks: Sequence[_Block], file: Names) -> str:
    """Why a block is not a whole file: it describes changes, or is an excerpt of the repository's file or of a block that is named as surely."""
    if change := _change(block.piece):
        return change
    own = block.names
    for other in (file, *(each.names for each in blocks if each.rank <= block.rank)):
        lost = without(other, own)
        interfaces = lost & file.defines
        if other is file:  # a file may lose some on purpose; what the text above calls a file has one of them, at least
            interfaces = lost if block.rank == _ABOVE and lost == file.defines else frozenset()
        if lost and (own.needs & other.binds or not own.binds or interfaces):
            return f"an excerpt, without {some_of(sorted(lost), 5)}"
    return ""


def _change(piece: Fence) -> str:
    """What a piece that describes changes is; "" for any other."""
    if interface := interface_in(piece.info):
        return f"the correction of one interface (`interface={interface[:80]}`)"
    return "a diff" if language(piece) in _DIFFS else form_of_change(piece.text)


def _is_python(piece: Fence) -> bool:
    return language(piece) in {*PYTHON, ""}


def _outdented(piece: Fence) -> str:
    """The text of a whole file without the indentation of its fence, as within an item of a list."""
    lines = piece.text.split("\n")
    if all(not line.strip() or line[: piece.depth].isspace() for line in lines) and piece.depth:
        return "\n".join(line[piece.depth :] for line in lines)
    return piece.text


def form_of_change(text: str) -> str:
    """The form in which a text describes changes of a file, instead of its content; "" if it does not."""
    begins = text.lstrip("\n")
    return next((form for form, mark in _CHANGES.items() if mark.match(begins)), "")


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
