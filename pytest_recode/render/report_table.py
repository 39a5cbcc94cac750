"""A Table: what a report says of one thing, in raw values; how its rows are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.intervals import Interval

Rows = Mapping[Row, Sequence[Attempt]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`kind` says what the values are: "text", "count", "percent", "points" (per cent, with a sign), "rate" (0 to 1), "number" (two digits),
    "money" (US dollars), "p", "interval" (two percents), "list" (of texts: below the table, for people)."""

    key: str
    head: str
    kind: str = "text"
    fold: bool = False  # said once above the table where every row has the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows map the columns' keys to values; None: there is no such number."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    shown: frozenset[str] | None = None  # `row` values that people see; machines get every row. None: all


def columns(kind: str, **heads: str) -> tuple[Column, ...]:
    """Columns of one kind, head by key."""
    return tuple(Column(key=key, head=head, kind=kind) for key, head in heads.items())


IDENTITY = (
    Column(key="model", head="model"),
    Column(key="source", head="run", fold=True),
    Column(key="agent", head="agent", fold=True),
    Column(key="feedback", head="feedback", fold=True),
    Column(key="paper_shown", head="with paper", fold=True),
)


def identities(rows: Iterable[Row]) -> tuple[Column, ...]:
    """What tells `rows` apart; of several benchmarks, which one it is."""
    several = len({row.format for row in rows}) > 1
    return (*IDENTITY, *(columns("text", format="benchmark") if several else ()))


def identity(row: Row) -> dict[str, Any]:
    return {
        "model": row.model + (" *" if row.simulated else ""),
        "source": row.source,
        "agent": row.agent,
        "feedback": row.feedback,
        "format": row.format,
        "paper_shown": "yes" if row.paper else "no",
        "setup": row.setup,
        "published": row.published,
        "simulated": row.simulated,
    }


def published_identity(model: str, feedback: str) -> dict[str, Any]:
    """Of a row of RECODE-H's own tables."""
    return {
        "model": model,
        "source": "published",
        "agent": "ReCodeAgent",
        "feedback": feedback,
        "format": "recode-h",
        "paper_shown": "yes",
        "published": True,
        "simulated": False,
    }


def name(row: Row) -> str:
    """One line that tells a row from the others."""
    return f"{row.model}, {row.feedback}, {'with' if row.paper else 'without'} paper, {row.agent} ({row.source})"


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def percents(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def plural(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 else "s")


COUNTS = columns("count", played="of", errors="errors", missing="missing")
"""What stands beside every share: of how many, and what is not in it."""


def counts(attempts: Sequence[Attempt], missing: int) -> dict[str, int]:
    played = sum(attempt.played for attempt in attempts)
    return {"played": played, "errors": len(attempts) - played, "missing": missing}


def missing(rows: Rows, known: Mapping[str, Set[str]]) -> dict[Row, int]:
    """Of every row, the tasks that it lacks and another row of its format has, or that `known` has: format -> tasks."""
    everything: dict[str, set[str]] = {}
    for row, attempts in rows.items():
        everything.setdefault(row.format, set(known.get(row.format, ()))).update(tasks(attempts))
    return {row: len(everything[row.format] - tasks(attempts)) for row, attempts in rows.items()}


def common(rows: Rows) -> dict[Row, tuple[Attempt, ...]]:
    """Every row on the tasks alone of which every row of its format could play an attempt."""
    shared: dict[str, set[str]] = {}
    for row, attempts in rows.items():
        played = tasks(attempt for attempt in attempts if attempt.played)
        shared[row.format] = shared.get(row.format, played) & played
    return {row: tuple(one for one in found if one.task in shared[row.format]) for row, found in rows.items()}


def tasks(attempts: Iterable[Attempt]) -> set[str]:
    return {attempt.task for attempt in attempts}
