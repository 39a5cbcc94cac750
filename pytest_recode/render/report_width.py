"""Tables in a terminal: aligned, and not wider than the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pytest_recode.render.report_table import Column

LEFT = {"text"}
"""Kinds of columns with left-aligned cells; numbers are right-aligned."""
_GAP = "  "

Cells = Sequence[Sequence[str]]


def aligned(columns: Sequence[Column], rows: Cells) -> list[str]:
    widths = _widths(columns, rows)
    return [
        _GAP.join(
            cell.ljust(width) if column.kind in LEFT else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in ([column.head for column in columns], *rows)
    ]


def narrowed(
    columns: Sequence[Column], folded: Sequence[str], rows: Cells, width: int
) -> tuple[list[Column], list[str], Cells]:
    """Move as many columns with equal values as necessary above the table, from the last one on."""
    shown = list(range(len(columns)))
    above: list[str] = []
    for place in reversed(shown[1:] if len(rows) > 1 else []):
        if _total(_widths(columns, rows), shown) <= width:
            break
        values = {row[place] for row in rows}
        if len(values) == 1:
            shown.remove(place)
            above.insert(0, f"{columns[place].head} {values.pop()}")
    return [columns[at] for at in shown], [*folded, *above], [[row[at] for at in shown] for row in rows]


def in_parts(columns: Sequence[Column], rows: Cells, width: int) -> list[str]:
    """Continue a table that is too wide below, with its identifying columns repeated; if these leave no room, write a line per row and value."""
    widths = _widths(columns, rows)
    names = next((at for at, column in enumerate(columns) if column.kind not in LEFT), len(columns))
    head = list(range(names))
    parts: list[list[int]] = []
    for at in range(names, len(columns)):
        if parts and _total(widths, [*head, *parts[-1], at]) <= width:
            parts[-1].append(at)
        else:
            parts.append([at])
    if any(_total(widths, [*head, *part]) > width for part in parts or [[]]):
        return _listed(columns, rows, width)
    blocks = [
        aligned([columns[at] for at in (*head, *part)], [[row[at] for at in (*head, *part)] for row in rows])
        for part in parts or [[]]
    ]
    return "\n\n".join("\n".join(block) for block in blocks).split("\n")


def within(text: str, width: int | None) -> list[str]:
    """Wrap text between words."""
    if width is None or len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, max(width, 20), subsequent_indent=_GAP, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _listed(columns: Sequence[Column], rows: Cells, width: int) -> list[str]:
    lines: list[str] = []
    for row in rows:
        lines += [""] * bool(lines)
        for column, cell in zip(columns, row, strict=True):
            lines += within(f"{column.head}: {cell}", width)
    return lines


def _widths(columns: Sequence[Column], rows: Cells) -> list[int]:
    return [max(map(len, cells)) for cells in zip([column.head for column in columns], *rows, strict=True)]


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[at] for at in shown) + len(_GAP) * (len(shown) - 1)
