"""Find the tagged blocks of an annotated file: `# <paper2code name="X">` … `# </paper2code name="X">`.

Blocks nest. Only a line feed ends a line, so that line numbers agree with those of an editor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.task import Slot

_OPEN = re.compile(r'\s*#\s*<paper2code\s+name="(?P<name>[^"]+)">\s*')
_CLOSE = re.compile(r'\s*#\s*</paper2code\s+name="(?P<name>[^"]+)">\s*')
_LIKE = re.compile(r"\s*#\s*<\s*/?\s*paper2code\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block. `start` and `stop` are the lines of its tags, from 0; `outer` is the innermost block around it, or ""."""

    name: str
    start: int
    stop: int
    indent: str  # of its shallowest line
    lines: int  # lines that are neither blank nor only a comment
    outer: str


def blocks(path: Path, text: str) -> tuple[Block, ...]:
    """The blocks of `text` in the order of their opening tags. Raises a `UserError` with the file and line of the first invalid tag."""
    rows = text.split("\n")
    stack: list[tuple[str, int]] = []
    opened: dict[str, int] = {}
    complete: list[Block] = []
    for at, row in enumerate(rows):
        if opening := _OPEN.fullmatch(row):
            name = opening["name"]
            if name in opened:
                raise _wrong(
                    path,
                    at,
                    f'the name "{name}" is already used by the block at line {opened[name] + 1}; choose another name',
                )
            opened[name] = at
            stack.append((name, at))
        elif closing := _CLOSE.fullmatch(row):
            complete.append(_closed(path, rows, at, closing["name"], stack))
        elif _LIKE.match(row):
            raise _wrong(path, at, 'not a valid tag; write # <paper2code name="X"> or # </paper2code name="X">')
    if stack:
        name, at = stack[-1]
        raise _wrong(path, at, f'the block "{name}" has no closing tag; add # </paper2code name="{name}"> after it')
    return tuple(sorted(complete, key=lambda block: block.start))


def _closed(path: Path, rows: Sequence[str], at: int, name: str, stack: list[tuple[str, int]]) -> Block:
    if name not in (held for held, _ in stack):
        raise _wrong(
            path, at, f'the closing tag of "{name}" has no opening tag; remove it, or add an opening tag before it'
        )
    last, start = stack.pop()
    if last != name:
        raise _wrong(
            path,
            at,
            f'"{name}" is closed before "{last}", which is opened inside it at line {start + 1}; close "{last}" first',
        )
    if _indent(rows[start]) != _indent(rows[at]):
        blanks = [len(_indent(rows[line])) for line in (start, at)]
        raise _wrong(
            path,
            at,
            f'the tags of "{name}" are indented by {blanks[0]} (line {start + 1}) and {blanks[1]} characters; give both the same indentation',
        )
    body = rows[start + 1 : at]
    indents = [_indent(row) for row in body if row.strip()]
    return Block(
        name=name,
        start=start,
        stop=at,
        indent=min(indents, key=len, default=_indent(rows[start])),
        lines=len(code(body)),
        outer=stack[-1][0] if stack else "",
    )


def code(rows: Sequence[str]) -> list[str]:
    """The lines that are neither blank nor only a comment. The benchmark counts these."""
    return [row for row in rows if row.strip() and not row.lstrip().startswith("#")]


def within(text: str, block: Block) -> list[str]:
    """The lines between the tags."""
    return text.split("\n")[block.start + 1 : block.stop]


def plain(text: str) -> str:
    """`text` without any tag."""
    return "\n".join(row for row in text.split("\n") if not _is_tag(row))


def without(text: str, block: Block, path: str) -> tuple[str, Slot]:
    """`text` without tags and with `block` replaced by a comment of two lines, and the Slot of those two lines."""
    rows = text.split("\n")
    end = "\r" if rows[block.start].endswith("\r") else ""
    before = [row for row in rows[: block.start] if not _is_tag(row)]
    after = [row for row in rows[block.stop + 1 :] if not _is_tag(row)]
    comment = (f'# TODO: Implement block "{block.name}"', f"# Approximately {block.lines} line(s) of code.")
    placeholder = [f"{block.indent}{line}{end}" for line in comment]
    slot = Slot(path=path, start=len(before), stop=len(before) + len(placeholder), indent=block.indent)
    return "\n".join([*before, *placeholder, *after]), slot


def _is_tag(row: str) -> bool:
    return _OPEN.fullmatch(row) is not None or _CLOSE.fullmatch(row) is not None


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip(" \t"))]


def _wrong(path: Path, at: int, problem: str) -> UserError:
    return UserError(f"{path}:{at + 1}: {problem}")
