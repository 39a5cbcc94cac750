"""Tables of a report as values for a template: texts of cells, with the values by which a script sorts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_recode.render.report_table import Column, Table
from pytest_recode.render.table_formats import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    text: str
    number: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`sort`: the value for sorting; "" if there is none. `items`: of a list, which is shown collapsed."""

    text: str
    sort: str = ""
    number: bool = False
    items: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """`caption`: the title, with the columns that have one value. `zeros`: the table found nothing, all its numbers are 0."""

    name: str
    title: str
    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    zeros: bool


def table_view(table: Table) -> TableView:
    """All rows of a table. Columns without a value are omitted; a column that may be folded is, into the caption, if all its values are equal,
    and so is the model if other texts name the rows."""
    heads: list[Column] = []
    folded: list[str] = []
    for column in table.columns:
        values = [row.get(column.key) for row in table.rows]
        if table.rows and not any(value not in (None, "", []) for value in values):
            continue
        if (column.fold or (column.key == "model" and _others_differ(table))) and len(set(values)) == 1:
            folded.append(f"{column.head} {values[0]}")
        else:
            heads.append(column)
    return TableView(
        name=table.name,
        title=table.title,
        caption=table.title + (f" ({', '.join(folded)})" if folded else ""),
        heads=tuple(Head(text=column.head, number=_is_number(column)) for column in heads),
        rows=tuple(tuple(_cell(column, row) for column in heads) for row in table.rows),
        notes=table.notes,
        zeros=_only_zeros(table, heads),
    )


def _others_differ(table: Table) -> bool:
    texts = [column.key for column in table.columns if column.kind == "text" and column.key != "model"]
    return any(len({row.get(key) for row in table.rows}) > 1 for key in texts)


def _only_zeros(table: Table, shown_columns: Sequence[Column]) -> bool:
    """Whether a table has numbers, and of those that it is about none but 0. Intervals and p values belong to other numbers."""
    kinds = {"count", "percent", "rate", "number", "money", "points"}
    keys = table.counted or [column.key for column in shown_columns if column.kind in kinds]
    values = [row.get(key) for key in keys for row in table.rows]
    return any(value is not None for value in values) and not any(values)


def _cell(column: Column, row: Mapping[str, Any]) -> Cell:
    value = row.get(column.key)
    if value is None:
        return Cell(text="-", number=_is_number(column))
    if column.kind == "list":
        return Cell(text=str(len(value)), sort=str(len(value)), items=tuple(map(str, value)))
    text = shown(column.kind, value)
    if column.kind == "text":
        return Cell(text=text, sort=text)
    return Cell(text=text, sort=repr(value[0] if column.kind == "interval" else value), number=True)


def _is_number(column: Column) -> bool:
    return column.kind not in ("text", "list")
