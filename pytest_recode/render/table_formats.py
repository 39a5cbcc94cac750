"""Tables as text, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_recode.render.report_table import Column, Table
from pytest_recode.render.report_width import LEFT, Cells, aligned, in_parts, narrowed, within
from pytest_recode.verdict import legible
from pytest_recode.wording import dollars, some_of

_LISTED = 5
_MOST_LISTS = 6
"""With more rows, the lists of names below the table would be longer than the table."""


def text(tables: Sequence[Table], notes: Sequence[str], width: int | None = None) -> str:
    """Tables as text, wrapped to `width` characters except for longer words; None: no limit."""
    blocks = []
    for table in tables:
        columns, folded, rows = folded_columns(table)
        if width is not None and rows:
            columns, folded, rows = narrowed(columns, folded, rows, width)
        lines = [*within(caption(table, folded), width), ""]
        if rows:
            lines += aligned(columns, rows) if width is None else in_parts(columns, rows, width)
        blocks.append("\n".join([*lines, *(line for note in notes_of(table) for line in within(note, width))]))
    lines = [line for note in notes for line in within(note, width)]
    return legible("\n\n\n".join([*blocks, *(["\n".join(lines)] if lines else [])])) + "\n"


def markdown(tables: Sequence[Table], notes: Sequence[str]) -> str:
    blocks = []
    for table in tables:
        columns, folded, rows = folded_columns(table)
        lines = [f"## {_escaped(caption(table, folded))}", ""]
        if rows:
            lines.append("| " + " | ".join(column.head for column in columns) + " |")
            lines.append("|" + "|".join("---" if column.kind in LEFT else "--:" for column in columns) + "|")
            lines += ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
            lines.append("")
        blocks.append("\n".join([*lines, *(f"- {_escaped(note)}" for note in notes_of(table))]).rstrip())
    return legible("\n\n".join([*blocks, *(f"- {_escaped(note)}" for note in notes)])) + "\n"


def as_csv(table: Table) -> str:
    """One table with all rows; intervals are two columns, and all shares are percentages."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for column in table.columns:
        head += [f"{column.key}_low", f"{column.key}_high"] if column.kind == "interval" else [column.key]
    writer.writerow(head)
    for row in table.rows:
        cells: list[str] = []
        for column in table.columns:
            value = row.get(column.key)
            if column.kind == "interval":
                cells += ["", ""] if value is None else [f"{value[0]:.2f}", f"{value[1]:.2f}"]
            else:
                cells.append(_raw(column, value))
        writer.writerow(map(legible, cells))
    return out.getvalue()


def as_json(tables: Sequence[Table], notes: Sequence[str]) -> str:
    """All tables and rows, unrounded; all shares are percentages."""
    whole = {
        "schema": 1,
        "notes": list(notes),
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "notes": list(table.notes),
                "columns": [{"key": column.key, "head": column.head, "kind": column.kind} for column in table.columns],
                "rows": [dict(row) for row in table.rows],
            }
            for table in tables
        ],
    }
    return json.dumps(whole, indent=1, ensure_ascii=True) + "\n"


def folded_columns(table: Table) -> tuple[list[Column], list[str], Cells]:
    """The columns in which rows differ; the common values of the other columns; the formatted cells."""
    rows = [row for row in table.rows if table.shown is None or row["row"] in table.shown]
    columns, folded = [], []
    for column in table.columns:
        values = {row.get(column.key) for row in rows} if column.fold else set()
        if column.kind == "list":
            continue
        if column.fold and not any(values):
            continue
        if column.fold and len(values) == 1:
            folded.append(f"{column.head} {values.pop()}")
        else:
            columns.append(column)
    return columns, folded, [[_cell(column, row.get(column.key)) for column in columns] for row in rows]


def caption(table: Table, folded: Sequence[str]) -> str:
    """The title of a table, with the values that all its rows share."""
    return table.title + (f" ({', '.join(folded)})" if folded and table.rows else "")


def notes_of(table: Table) -> list[str]:
    """The lines below a table: its lists of names, its notes, and how to see more."""
    hidden = table.shown is not None and any(row["row"] not in table.shown for row in table.rows)
    more = [table.more] if hidden else []
    heads = [column.head for column in table.columns if column.kind == "list"]
    if heads and len(table.rows) > _MOST_LISTS:
        return [*table.notes, *more, f"--format=json names the tasks: {', '.join(heads)}"]
    lists = [
        f"{row.get('label', row[table.columns[0].key])}: {column.head} ({len(names)}): {some_of(names, _LISTED)}"
        for row in table.rows
        for column in table.columns
        if column.kind == "list" and (names := row.get(column.key))
    ]
    return [*lists, *table.notes, *more]


def _cell(column: Column, value: Any) -> str:
    return "-" if value is None else shown(column.kind, value)


def _raw(column: Column, value: Any) -> str:
    if value is None:
        return ""
    if column.kind == "list":
        return "; ".join(map(str, value))
    if column.kind == "count":
        return str(round(value))
    if column.kind == "money":
        return f"{value:.6f}".rstrip("0").rstrip(".")  # to a millionth of a dollar
    return shown(column.kind, value)


def shown(kind: str, value: Any) -> str:
    """Format a value for people."""
    return _FORMATS[kind](value)


def _number(value: float) -> str:
    return f"{value:.2f}"


def _end(value: float) -> str:
    """Round an end of an interval without moving it across 0."""
    return f"{value:.1f}" if value == 0 or abs(value) >= 0.05 else f"{value:.1g}"


_FORMATS: Mapping[str, Callable[[Any], str]] = {
    "text": str,
    "count": lambda value: f"{value:,.0f}",
    "percent": lambda value: f"{value:.2f}",
    "rate": lambda value: f"{value:.3f}",
    "points": lambda value: f"{value:+.2f}",
    "number": _number,
    "money": dollars,
    "p": lambda value: f"{value:.2g}" if abs(value - 0.05) > 0.0025 else f"{value:.6f}".rstrip("0"),
    "interval": lambda value: f"{_end(value[0])} to {_end(value[1])}",
}


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
