"""What stands in a Slot of a file: lay an answer in, take one out. Texts are lines that end in a line feed."""

from __future__ import annotations

import ast
import warnings

from pytest_recode.task import Parts, Slot


def laid(text: str, slot: Slot, answer: str) -> str:
    """`text`, the file of the repository, with `answer` as it stands in place of the placeholder.

    An answer whose lines all end in CRLF is one in another convention, and takes over that of the file.
    """
    rows = text.split("\n")
    given = answer.removesuffix("\n").split("\n")
    if all(row.endswith("\r") for row in given[:-1] or given):
        given = [row.removesuffix("\r") for row in given]
    if slot.stop > slot.start and rows[slot.start].endswith("\r"):
        given = [row if row.endswith("\r") else f"{row}\r" for row in given]
    return "\n".join([*rows[: slot.start], *given, *rows[slot.stop :]])


def held(text: str, untouched: str, slot: Slot) -> str | None:
    """What `text` has where `untouched`, the same file as it lies in the repository, has the placeholder; None where the
    files differ elsewhere too."""
    rows, before = text.split("\n"), untouched.split("\n")
    after = len(before) - slot.stop
    stop = len(rows) - after
    same = rows[: slot.start] == before[: slot.start] and rows[max(stop, 0) :] == before[slot.stop :]
    return "\n".join(rows[slot.start : stop]) if same and stop >= slot.start else None


def original(parts: Parts) -> str | None:
    """The authors' lines for the slot of `parts`; None where there is no slot."""
    slot = parts.slot
    if slot is None:
        return None
    reference, repo = (files[slot.path].decode("utf-8", "surrogateescape") for files in (parts.reference, parts.repo))
    return held(reference, repo, slot)


def emptied(text: str, slot: Slot) -> str:
    """`text` with the placeholder as it is, and `pass` behind it where the file is no Python without."""
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
    """`answer` moved as a whole so that its shallowest line of code stands at `indent`; the same text where it does.

    Where the first line alone is too shallow (it was begun right behind the fence), the others are taken to stand where they
    should. Nothing is parsed: that a line opens a block or a bracket is told by its end.
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
