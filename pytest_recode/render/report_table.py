"""The type of a report's tables, with raw values, and the columns that identify rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pytest_recode.metrics import published
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.intervals import Interval
from pytest_recode.metrics.rows import changed_tasks, set_of
from pytest_recode.wording import some_of

Rows = Mapping[Row, Sequence[Attempt]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a Table.

    `kind`: "text", "count", "percent", "points" (percentage points, with a sign), "rate" (0 to 1), "number" (two digits), "money"
    (US dollars), "p", "interval" (two percentages), "list" (of texts, shown below the table in text and Markdown).
    """

    key: str
    head: str
    kind: str = "text"
    fold: bool = False  # moved above the table if all rows have the same value


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of a report, with raw values. Rows map the columns' keys to values; None means no value."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()  # keys of columns; if all of them are 0, there was nothing to count. (): all columns
    shown: frozenset[str] | None = None  # values of `row` in text and Markdown; CSV and JSON have every row. None: all
    more: str = "--model=NAME shows other rows, --format=json all of them"  # note if some rows are hidden


def columns(kind: str, **heads: str) -> tuple[Column, ...]:
    """Columns of one kind, head by key."""
    return tuple(Column(key=key, head=head, kind=kind) for key, head in heads.items())


IDENTITY = (
    Column(key="model", head="model"),
    Column(key="source", head="run", fold=True),
    Column(key="agent", head="agent", fold=True),
    Column(key="feedback", head="feedback", fold=True),
    Column(key="paper_shown", head="with paper", fold=True),
    Column(key="settings", head="settings", fold=True),
)


def identities(rows: Iterable[Row]) -> tuple[Column, ...]:
    """The columns that identify `rows`, including the benchmark if there are several."""
    several = len({row.format for row in rows}) > 1
    return (*IDENTITY, *(columns("text", format="benchmark") if several else ()))


def identity(row: Row) -> dict[str, Any]:
    return {
        "model": row.model + (", impossible" if row.impossible else "") + (" *" if row.simulated else ""),
        "source": row.source,
        "agent": row.agent,
        "feedback": row.feedback,
        "format": row.format,
        "paper_shown": "yes" if row.paper else "no",
        "settings": row.differs or None,
        "setup": row.setup,
        "published": row.published,
        "simulated": row.simulated,
    }


def beside_published(rows: Iterable[Row]) -> tuple[dict[Row, str], str]:
    """The cells of `settings`: differences between rows of runs, and from RECODE-H's published rows."""
    published_settings = published.SETTINGS
    settings: dict[Row, str] = {}
    differing: dict[str, None] = {}
    for row in rows:
        own = dict(row.settings)
        other = [
            key
            for key, value in published_settings.items()
            if row.format == published.FORMAT and own.get(key, value) != value
        ]
        differing |= dict.fromkeys(other)
        parts = [*(f"{key} {own[key]}" for key in other), *filter(None, row.differs.split(", "))]
        settings[row] = ", ".join(dict.fromkeys(parts))
    return settings, ", ".join(f"{key} {value}" for key, value in published_settings.items() if key in differing)


def published_identity(model: str, feedback: str, settings: str = "") -> dict[str, Any]:
    """The identity of a row of RECODE-H's published tables."""
    return {
        "settings": settings or None,
        "model": model,
        "source": "published",
        "agent": "ReCodeAgent",
        "feedback": feedback,
        "format": published.FORMAT,
        "paper_shown": "yes",
        "published": True,
        "simulated": False,
    }


def name(row: Row) -> str:
    """One line that identifies a row."""
    differs = f", {row.differs}" if row.differs else ""
    impossible = ", impossible twins" if row.impossible else ""
    return f"{row.model}{impossible}, {row.feedback}, {'with' if row.paper else 'without'} paper, {row.agent}{differs} ({row.source})"


def plain(row: Row) -> str:
    """The name of its model without a provider, capitals and punctuation: `openai/gpt-4.1` is `GPT-4.1`."""
    return re.sub(r"[^a-z0-9]", "", row.model.rpartition("/")[2].lower())


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def percents(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def cost_notes(costs: Sequence[float | None]) -> tuple[str, ...]:
    """The note on unknown costs of rows. A table shows no column in which no row has a value."""
    if None not in costs:
        return ()
    if any(cost is not None for cost in costs):
        return ("cost -: the price of at least one call is unknown",)
    return ("no cost is shown: of each row, the price of at least one call is unknown",)


def listed(names: Sequence[str], last: str, most: int = 3) -> str:
    """Names in a sentence, of which the first `most` are named. `last`: "and" or "or"."""
    if len(names) > most + 1:
        return f"{'; '.join(names[:most])}; {last} {len(names) - most} more"
    if len(names) == 2 and not any("," in each or ";" in each for each in names):
        return f"{names[0]} {last} {names[1]}"
    return names[0] if len(names) == 1 else f"{'; '.join(names[:-1])}; {last} {names[-1]}"


COUNTS = columns("count", played="of", errors="errors", missing="missing")
"""Columns next to every share: its denominator, and what is not in it."""


def counts(attempts: Sequence[Attempt], missing: int) -> dict[str, int]:
    played = sum(attempt.played for attempt in attempts)
    return {"played": played, "errors": len(attempts) - played, "missing": missing}


def missing(rows: Rows, known: Mapping[str, Set[str]]) -> dict[Row, int]:
    """For each row, the number of tasks that it lacks and that another row of its format, or `known` (format -> tasks), has."""
    everything: dict[str, set[str]] = {}
    for row, attempts in rows.items():
        everything.setdefault(row.format, set(known.get(row.format, ()))).update(tasks(attempts))
    return {row: len(everything[row.format] - tasks(attempts)) for row, attempts in rows.items()}


def common(rows: Rows) -> dict[Row, tuple[Attempt, ...]]:
    """Restrict every row to the tasks of which every row of its format has a played attempt."""
    shared: dict[str, set[str]] = {}
    for row, attempts in rows.items():
        played = tasks(attempt for attempt in attempts if attempt.played)
        shared[row.format] = shared.get(row.format, played) & played
    return {row: tuple(one for one in found if one.task in shared[row.format]) for row, found in rows.items()}


def changed_files(rows: Rows) -> list[str]:
    """A note for every row with tasks whose files differ from those of an earlier row."""
    notes = []
    for place, (row, attempts) in enumerate(rows.items()):
        for other, before in list(rows.items())[:place]:
            if other.format == row.format and (changed := changed_tasks(before, attempts)):
                notes.append(f"task files differ: {some_of(changed, 5)} in {name(row)} and in {name(other)}")
                break
    return notes


def task_sets(rows: Rows) -> list[str]:
    """A note with the fingerprint of the tasks of the rows, by format; with the rows of each if they differ."""
    sets: dict[str, dict[str, list[str]]] = {}
    for row, attempts in rows.items():
        if fingerprint := set_of(attempts):
            sets.setdefault(row.format, {}).setdefault(fingerprint, []).append(name(row))
    return [
        f"task set: {fingerprint}" + (f" in {some_of(named, 3)}" if len(by_set) > 1 or len(sets) > 1 else "")
        for by_set in sets.values()
        for fingerprint, named in by_set.items()
    ]


def tasks(attempts: Iterable[Attempt]) -> set[str]:
    return {attempt.task for attempt in attempts}
