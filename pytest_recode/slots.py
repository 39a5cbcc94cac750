"""Insert an answer into the Slot of a file, and extract it. Lines of texts end in a line feed."""

from __future__ import annotations

import ast
import warnings

from pytest_recode.task import Parts, Slot


def laid(text: str, slot: Slot, answer: str) -> str:
    """`text`, the file of the repository, with the placeholder replaced by `answer`, unchanged.

    If all lines of the answer end in CRLF, its line ends are converted to those of the file.
    """
    rows = text.split("\n")
    given = answer.removesuffix("\n").split("\n")
    if all(row.endswith("\r") for row in given[:-1] or given):
        given = [row.removesuffix("\r") for row in given]
    if slot.stop > slot.start and rows[slot.start].endswith("\r"):
        given = [row if row.endswith("\r") else f"{row}\r" for row in given]
    return "\n".join([*rows[: slot.start], *given, *rows[slot.stop :]])


def held(text: str, untouched: str, slot: Slot) -> str | None:
    """The lines of `text` in place of the placeholder of `untouched`, the same file in the repository; None if the files also
    differ elsewhere."""
    rows, before = text.split("\n"), untouched.split("\n")
    after = len(before) - slot.stop
    stop = len(rows) - after
    same = rows[: slot.start] == before[: slot.start] and rows[max(stop, 0) :] == before[slot.stop :]
    return "\n".join(rows[slot.start : stop]) if same and stop >= slot.start else None


def original(parts: Parts) -> str | None:
    """The authors' lines for the slot of `parts`; None if there is no slot."""
    slot = parts.slot
    if slot is None:
        return None
    reference, repo = (files[slot.path].decode("utf-8", "surrogateescape") for files in (parts.reference, parts.repo))
    return held(reference, repo, slot)


def emptied(text: str, slot: Slot) -> str:
    """`text` with its placeholder, followed by `pass` if the file is not valid Python without it."""
    if parses(text):
        return text
    rows = text.split("\n")
    return "\n".join([*rows[: slot.stop], f"{slot.indent}pass", *rows[slot.stop :]])


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def reindented(answer: str, indent: str) -> str:
    """`answer` indented as a whole so that its shallowest line of code is at `indent`; the same text if it already is.

    If only the first line is too shallow (it started directly after the fence), the other lines are assumed to be correct. Nothing is
    parsed: whether a line opens a block or a bracket is inferred from its end.
    """
    rows = answer.expandtabs(8).split("\n") if "\t" in answer and "\t" not in indent else answer.split("\n")
    at = [number for number, row in enumerate(rows) if row.strip()]
    if not at:
        return answer
    first, others = at[0], at[1:]
    opens = rows[first].partition("#")[0].rstrip().endswith((":", "(", "[", "{", ",", "\\"))
    if others and _depth(rows[first]) < min(_depth(rows[each]) for each in others) and not opens:
        moved = [*rows[:first], indent + rows[first].lstrip(), *_moved(rows[first + 1 :], indent)]
    elif others and opens and _depth(rows[first]) < len(indent) < _depth(rows[others[0]]):
        moved = [*rows[:first], indent + rows[first].lstrip(), *rows[first + 1 :]]
    else:
        moved = _moved(rows, indent)
    return (
        answer if [row.rstrip() for row in moved] == [row.rstrip() for row in answer.split("\n")] else "\n".join(moved)
    )


def _moved(rows: list[str], indent: str) -> list[str]:
    least = min((_depth(row) for row in rows if row.strip()), default=0)
    return [indent + row[least:] if row.strip() else "" for row in rows]


def _depth(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))
