"""A history: rows of runs that differ only in the run, in the order in which the runs ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.episodes import Episodes, episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A row at the time when its last episode ended.

    `change`: the difference between its solved share and that of the point before, from -1 to 1; None: there is none.
    """

    row: Row
    ended: str  # ISO 8601, UTC
    numbers: Episodes
    change: float | None

    @property
    def share(self) -> float | None:
        """The share of played episodes that were solved; None if nothing was played."""
        return self.numbers.recall[-1] if self.numbers.recall else (0.0 if self.numbers.played else None)


Series = tuple[Point, ...]


def history(rows: Mapping[Row, Sequence[Attempt]]) -> tuple[Series, ...]:
    """The series of rows that differ only in the run, each in chronological order. Rows without a date are missing."""
    dated: dict[Row, list[tuple[str, str, Row]]] = {}
    for row, attempts in rows.items():
        ended = max((attempt.ended for attempt in attempts), default="")
        if ended:
            dated.setdefault(replace(row, source="", differs=""), []).append((ended, row.source, row))
    return tuple(tuple(_points(sorted(runs, key=lambda run: run[:2]), rows)) for runs in dated.values())


def _points(runs: Sequence[tuple[str, str, Row]], rows: Mapping[Row, Sequence[Attempt]]) -> Iterator[Point]:
    before: float | None = None
    for ended, _, row in runs:
        point = Point(row=row, ended=ended, numbers=episodes(rows[row]), change=None)
        if before is not None and point.share is not None:
            point = replace(point, change=point.share - before)
        before = before if point.share is None else point.share
        yield point
