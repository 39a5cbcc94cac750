"""Short names of rows: what distinguishes them, for figures, headings and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.render.html.chart import short


def labels(rows: Iterable[Row]) -> dict[Row, str]:
    """Model and feedback of each row, and the further parts in which the rows differ."""
    found = list(rows)
    parts = {row: _parts(row) for row in found}
    differing = [
        place
        for place in range(_ALWAYS, len(parts[found[0]]) if found else 0)
        if len({parts[row][place] for row in found}) > 1
    ]
    return {
        row: ", ".join(
            part for place, part in enumerate(parts[row]) if part and (place < _ALWAYS or place in differing)
        )
        for row in found
    }


_ALWAYS = 2


def _parts(row: Row) -> tuple[str, ...]:
    return (
        row.model + (" (simulated)" if row.simulated else ""),
        _feedback(row.feedback),
        "" if row.paper else "without paper",
        row.agent,
        row.format,
        row.differs,
        row.source,
    )


EpisodeKey = tuple[Row, str, int]
Pages = Mapping[EpisodeKey, str]
"""The id of the page of each episode."""


def episode_key(attempt: Attempt) -> EpisodeKey:
    """What identifies an episode among the rows of a report."""
    return attempt.row, attempt.task, attempt.number


IDENTITY = ("feedback", "agent", "paper_shown", "settings", "source")


def table_names(rows: Sequence[Mapping[str, Any]], *, without: tuple[str, ...] = ()) -> list[str]:
    """The names of the rows of a report's table: the model of each row, and the parts in which the rows of runs differ. `without`: parts that the figure shows otherwise."""
    own = [row for row in rows if not row["published"]]
    differing = [key for key in IDENTITY if key not in without and len({row[key] for row in own}) > 1]
    names = []
    for row in rows:
        if row["published"]:
            parts = [f"{row['model']} (published)", *(() if row["paper_shown"] == "yes" else ("without paper",))]
        else:
            model = row["model"].removesuffix(" *") + (" (simulated)" if row["simulated"] else "")
            parts = [model, *(_part(key, row[key]) for key in differing if row[key])]
        names.append(short(", ".join(filter(None, parts))))
    return names


def _part(key: str, value: str) -> str:
    if key == "paper_shown":
        return "" if value == "yes" else "without paper"
    return _feedback(value) if key == "feedback" else value


def _feedback(policy: str) -> str:
    return "no feedback" if policy == "none" else policy
