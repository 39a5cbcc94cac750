"""Which blocks of a text are the targets, for `one-shot`: those that name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_recode.agents.markdown import PYTHON, Fence, UnclearError, fences, within
from pytest_recode.agents.python_source import ends_in_a_string, names_in
from pytest_recode.wording import some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedFiles:
    """Text by target, and the faults of the answer, for the model."""

    files: Mapping[str, str]
    problems: tuple[str, ...]


def files_in(text: str, targets: Sequence[str], interfaces: Sequence[str]) -> ExtractedFiles:
    """The block of each target: of those that name it the last, but for excerpts (`_whole`). Where the answer names none and there is one
    target, it is chosen from the blocks of Python. Where the end of one block is unclear, none counts. Every other block of code is told."""
    try:
        pieces = fences(text)
        _check(pieces)
    except UnclearError as unclear:
        return ExtractedFiles(files={}, problems=(f"{unclear} Nothing was written.",))
    around = {path: piece for piece in pieces for part in within(piece) if (path := _target(part.path, targets))}
    files = [piece for piece in pieces if not _is_change(piece) and (piece.path or piece not in around.values())]
    named = {path: [piece for piece in files if _target(piece.path, targets) == path] for path in targets}
    if len(targets) == 1 and not any(named.values()):
        named = {
            targets[0]: [piece for piece in files if _is_python(piece) and not piece.path and "=" not in piece.info]
        }
    chosen = {path: _whole(path, blocks, interfaces) for path, blocks in named.items() if blocks}
    problems = [_absent(path, around.get(path)) for path in targets if path not in chosen]
    unused = [
        piece for piece in pieces if piece not in chosen.values() and (_is_code(piece) or _target(piece.path, targets))
    ]
    if unused:
        used = ", ".join(f"{path} is the block that line {piece.line} opens" for path, piece in chosen.items())
        names = some_of([f"{piece.line} (```{piece.info[:80]})" for piece in unused], 8)
        problems.append(f"{f'In your answer, {used}. ' if used else ''}Not used: the code of line {names}.")
    return ExtractedFiles(files={path: piece.text for path, piece in chosen.items()}, problems=tuple(problems))


def named_paths(text: str) -> tuple[str, ...]:
    """The paths that the blocks of an answer name, for a task of which every file is a target."""
    try:
        return tuple(dict.fromkeys(piece.path for piece in fences(text) if piece.path))
    except UnclearError:
        return ()


def _absent(path: str, around: Fence | None) -> str:
    """What is told of a target that no block is. `around`: a block that has one for it in its text."""
    if around is None:
        return f"Your answer had no block for {path}: unchanged. Begin its fence with ```python {path}"
    return f"In your answer, the block for {path} lies within {around.opening}: unchanged. Write it outside of any other block"


def _whole(path: str, pieces: Sequence[Fence], interfaces: Sequence[str]) -> Fence:
    """The last block that defines every interface that one of the blocks for the file defines: no excerpt of it, and no example of its use."""
    absent = [missing(path, piece.text, interfaces) for piece in pieces]
    wanted = {each for each in interfaces if not all(each in names for names in absent)}
    whole = [piece for piece, names in zip(pieces, absent, strict=True) if wanted.isdisjoint(names)]
    return (whole or pieces)[-1]


def missing(path: str, text: str, interfaces: Iterable[str]) -> list[str]:
    """The interfaces that a text of the Python file at `path` does not define."""
    names = names_in(text, PurePosixPath(path).stem)
    known = names.defines | names.binds
    return [each for each in interfaces if not any(each == name or each.endswith(f".{name}") for name in known)]


def _check(pieces: Sequence[Fence]) -> None:
    """Raises UnclearError for a block that is cut off, or whose end may be a line of its text."""
    for number, piece in enumerate(pieces):
        if not piece.closed:
            raise UnclearError(piece.unclosed)
        if number + 1 < len(pieces) and _is_python(piece) and ends_in_a_string(piece.text):
            raise UnclearError(
                f"The end of {piece.opening} is unclear: a line of backticks is in one of its strings. Use a fence of four backticks."
            )


def _target(path: str, targets: Sequence[str]) -> str:
    """The target that a path names, if only by its end; "" if it names none."""
    if path in targets or not path:
        return path
    ending = [target for target in targets if path.endswith(f"/{target}") or target.endswith(f"/{path}")]
    return ending[0] if len(ending) == 1 else ""


def _is_change(piece: Fence) -> bool:
    return piece.is_diff or piece.is_change


def _is_python(piece: Fence) -> bool:
    return piece.language in PYTHON or not piece.info or piece.path.endswith(".py")


def _is_code(piece: Fence) -> bool:
    """Whether a model that asks why its code was not used would mean this block."""
    return _is_change(piece) or (piece.language in PYTHON and bool(names_in(piece.text).defines))
