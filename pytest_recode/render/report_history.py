"""The table `history`: runs of one setting in chronological order, such as nightly runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_recode.metrics.history import Point, history
from pytest_recode.render.report_table import (
    Column,
    Rows,
    Table,
    columns,
    cost_notes,
    identities,
    identity,
    listed,
    missing,
    name,
    percent,
    percents,
)


def tables(rows: Rows) -> dict[str, Callable[[], Table | None]]:
    """The function that creates the table of rows of runs (not of published results), by name. It returns None without dates."""
    return {"history": lambda: _history(rows)} if rows else {}


def _history(rows: Rows) -> Table | None:
    points = [point for series in history(rows) for point in series]
    if not points:
        return None
    undated = [name(row) for row in rows if row not in {point.row for point in points}]
    notes = ["change: percentage points since the run before with equal settings; comparisons tests differences"]
    if undated:
        notes.append(f"no date, because an earlier version wrote the records: {listed(undated, 'and')}")
    lacking = missing(rows, {})
    return Table(
        name="history",
        title="History: runs of equal settings, by the time when their last episode ended (UTC)",
        columns=(
            *(replace(column, fold=True) for column in identities(rows) if column.key != "source"),
            *columns("text", ended="ended", source="run"),
            *columns("count", solved="solved", played="of"),
            *columns("percent", recall="%"),
            *columns("interval", recall_interval="95 %"),
            Column(key="change", head="change", kind="points"),
            *columns("number", mean_turns="mean turns"),
            *columns("count", tokens="tokens"),
            *columns("money", cost_usd="cost $"),
            *columns("count", errors="errors", missing="missing"),
        ),
        rows=tuple(_line(point, lacking[point.row]) for point in points),
        notes=(*notes, *cost_notes([point.numbers.cost_usd for point in points])),
    )


def _line(point: Point, lacking: int) -> Mapping[str, Any]:
    return {
        **identity(point.row),
        "ended": point.ended[:16].replace("T", " "),
        "solved": point.numbers.solved,
        "played": point.numbers.played,
        "recall": percent(point.share),
        "recall_interval": percents(point.numbers.interval),
        "change": percent(point.change),
        "mean_turns": point.numbers.mean_turns,
        "tokens": point.numbers.tokens,
        "cost_usd": point.numbers.cost_usd,
        "errors": point.numbers.errors,
        "missing": lacking,
    }
