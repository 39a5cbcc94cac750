"""Short names of rows: what distinguishes them, for figures, headings and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.render.html.chart import short


def labels(rows: Iterable[Row]) -> dict[Row, str]:
    """Model and feedback of each row, and the further parts in which the rows differ."""
    parts = {row: _parts(row) for row in rows}
    return _joined(parts, {*_ALWAYS, *_differing(parts)})


def short_labels(rows: Iterable[Row]) -> dict[Row, str]:
    """The parts in which the rows differ, for a page that has `common` above; model and feedback if they differ in nothing."""
    parts = {row: _parts(row) for row in rows}
    differing = _differing(parts)
    if not differing:
        return _joined(parts, _ALWAYS)
    # A part may be empty: only the model names every row
    whole = all(any(own[place] for place in differing) for own in parts.values())
    return _joined(parts, differing if whole else {0, *differing})


def common(rows: Iterable[Row]) -> str:
    """What `short_labels` leave out of the names of several rows; "" if that is nothing."""
    parts = {row: _parts(row) for row in rows}
    if len(parts) < 2:
        return ""
    differing, [first, *_] = _differing(parts), parts.values()
    heads = {0: "", 1: "feedback ", _AGENT: "agent "}
    return ", ".join(
        f"{head}{first[place]}" for place, head in heads.items() if first[place] and place not in differing
    )


_ALWAYS = frozenset({0, 1})
_AGENT = 3


def _joined(parts: Mapping[Row, tuple[str, ...]], places: Set[int]) -> dict[Row, str]:
    def shown(row: Row, place: int) -> bool:
        return place in places and not (
            place == _AGENT and row.agent == row.model
        )  # without a model, it has the agent's name

    return {
        row: ", ".join(part for place, part in enumerate(own) if part and shown(row, place))
        for row, own in parts.items()
    }


def _differing(parts: Mapping[Row, tuple[str, ...]]) -> frozenset[int]:
    return frozenset(place for place, values in enumerate(zip(*parts.values(), strict=True)) if len(set(values)) > 1)


def _parts(row: Row) -> tuple[str, ...]:
    return (
        row.model + (" (simulated)" if row.simulated else "") + (" (impossible twins)" if row.impossible else ""),
        _feedback(row.feedback),
        "with paper" if row.paper else "without paper",
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
