"""Rows: what is told apart in a report, and what is one experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_recode.metrics.attempt import Attempt, Row


def rows(attempts: Sequence[Attempt]) -> dict[Row, tuple[Attempt, ...]]:
    """Attempts by Row: runs in the order in which they are given, and within a run by model and level, whatever ended first.

    Runs of one setting that share no (task, attempt) are parts of one experiment and become one row, named after both.
    """
    found: dict[Row, list[Attempt]] = {}
    for attempt in attempts:
        found.setdefault(attempt.row, []).append(attempt)
    merged: list[list[Attempt]] = []
    for group in found.values():
        for other in merged:
            if _one_experiment(other, group):
                other += group
                break
        else:
            merged.append(list(group))
    runs = {source: place for place, source in enumerate(dict.fromkeys(row.source for row in found))}
    return dict(map(_named, sorted(merged, key=lambda group: (runs[group[0].row.source], *_order(group[0].row)))))


def _order(row: Row) -> tuple[str, ...]:
    return (
        ()
        if row.published
        else (row.format, row.model, row.agent, row.feedback, row.setup, "" if row.paper else "without")
    )


def _one_experiment(one: Sequence[Attempt], other: Sequence[Attempt]) -> bool:
    first, second = one[0].row, other[0].row
    return replace(first, source="") == replace(second, source="") and not (
        {(attempt.task, attempt.number) for attempt in one} & {(attempt.task, attempt.number) for attempt in other}
    )


def _named(group: Sequence[Attempt]) -> tuple[Row, tuple[Attempt, ...]]:
    row = replace(group[0].row, source=" + ".join(dict.fromkeys(attempt.row.source for attempt in group)))
    return row, tuple(replace(attempt, row=row) for attempt in group)
