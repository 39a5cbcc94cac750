"""Insert an answer into the Slot of a file, and extract it. Lines of texts end in a line feed."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Sequence, Set

from pytest_recode.task import Parts, Slot


def laid(text: str, slot: Slot, answer: str) -> str:
    """`text`, the file of the repository, with the placeholder replaced by `answer`, unchanged.

    If all lines of the answer end in CRLF, its line ends are converted to those of the file.
    """
    rows = text.split("\n")
    lines = answer.removesuffix("\n").split("\n")
    if all(row.endswith("\r") for row in lines[:-1] or lines):
        lines = [row.removesuffix("\r") for row in lines]
    if slot.stop > slot.start and rows[slot.start].endswith("\r"):
        lines = [row if row.endswith("\r") else f"{row}\r" for row in lines]
    return "\n".join([*rows[: slot.start], *lines, *rows[slot.stop :]])


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
    """`answer` indented as a whole so that its shallowest statement is at `indent`; the same text if it already is.

    If only the first line is too shallow (it started directly after the fence), the other lines are assumed to be correct. Comments and
    continued lines move with the statements. Lines within a string stay as they are. Nothing is parsed: whether a line opens a block or a
    bracket is inferred from its end.
    """
    texts, statements = _kinds_of_lines(answer)
    rows = answer.split("\n")
    if "\t" not in indent:
        rows = [
            row if number in texts else row[: _depth(row)].expandtabs(8) + row[_depth(row) :]
            for number, row in enumerate(rows)
        ]
    at = [number for number, row in enumerate(rows) if row.strip() and number not in texts]
    if not at:
        return answer
    first, others = at[0], [number for number in at[1:] if number in statements]
    opens = rows[first].partition("#")[0].rstrip().endswith((":", "(", "[", "{", ",", "\\"))
    if others and _depth(rows[first]) < min(_depth(rows[each]) for each in others) and not opens:
        moved = _moved(rows, indent, texts, others)
        moved[first] = indent + rows[first].lstrip()
    elif at[1:] and opens and _depth(rows[first]) < len(indent) < _depth(rows[at[1]]):
        moved = [*rows[:first], indent + rows[first].lstrip(), *rows[first + 1 :]]
    else:
        moved = _moved(rows, indent, texts, [number for number in at if number in statements] or at)
    return (
        answer if [row.rstrip() for row in moved] == [row.rstrip() for row in answer.split("\n")] else "\n".join(moved)
    )


def _moved(rows: list[str], indent: str, texts: Set[int], statements: Sequence[int]) -> list[str]:
    """All rows but those of `texts`, moved so that the shallowest of `statements` is at `indent`."""
    least = min(_depth(rows[number]) for number in statements)
    moved = []
    for number, row in enumerate(rows):
        depth = _depth(row)
        if number in texts:
            moved.append(row)
        elif not row.strip():
            moved.append("")
        elif depth >= least:
            moved.append(indent + row[least:])
        else:
            moved.append(indent[: max(len(indent) + depth - least, 0)] + row[depth:])
    return moved


def _kinds_of_lines(code: str) -> tuple[Set[int], Set[int]]:
    """Numbers of the lines that begin within a string, and of those that begin a statement: all lines, if the code has no tokens."""
    texts: set[int] = set()
    statements: set[int] = set()
    lines = code.split("\n")
    depth, opened = 0, [0]
    try:
        # In brackets, because the tokenizer refuses indentation that has to be corrected
        for token in tokenize.generate_tokens(io.StringIO(f"(\n{code}\n)").readline):
            name, first, last = tokenize.tok_name[token.type], token.start[0] - 2, token.end[0] - 2
            if name.endswith("STRING_START"):
                opened.append(first)
            elif name == "STRING" or name.endswith("STRING_END"):
                texts.update(range((first if name == "STRING" else opened.pop()) + 1, last + 1))
            continued = 0 < first < len(lines) and lines[first - 1].endswith("\\")
            if depth == 1 and first not in texts and not continued and name not in ("COMMENT", "NL"):
                statements.add(first)
            depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
    except (tokenize.TokenError, SyntaxError):
        return set(), set(range(len(lines)))
    return texts, statements


def _depth(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))
