"""Short names of rows: what distinguishes them, for figures, headings and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_recode.metrics.attempt import Attempt, Row


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
        row.feedback,
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
