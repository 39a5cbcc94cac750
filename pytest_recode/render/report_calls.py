"""The table of model calls: number, waits, and the provider's speed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from pytest_recode.metrics.calls import calls
from pytest_recode.metrics.transcripts import FROM_FILES, TranscriptReader
from pytest_recode.render.report_table import IDENTITY, Column, Rows, Table, columns, identity

_NOTES = (
    "replayed: calls that a cassette answered, at no cost; recorded: what these answers cost when they were recorded",
    "waited: seconds for rate limits, other calls and retries, in all calls of the row; longest: of one call",
    "answering: median seconds that the provider needed for an answer; tokens/s: of answers, in that time",
)


def tables(rows: Rows, transcripts: TranscriptReader = FROM_FILES) -> dict[str, Callable[[], Table | None]]:
    """The function that creates the table. It returns None without calls."""
    return {"calls": lambda: _calls(rows, transcripts)}


def _calls(rows: Rows, transcripts: TranscriptReader) -> Table | None:
    lines: list[dict[str, Any]] = []
    for row, attempts in rows.items():
        found = list(chain.from_iterable(transcripts.calls(attempt.transcript) for attempt in attempts))
        for model in dict.fromkeys(line["model"] for line in found):
            sums = calls(line for line in found if line["model"] == model)
            lines.append({**identity(row), "called": model, **{key: getattr(sums, key) for key in sums.__slots__}})
    if not lines:
        return None
    return Table(
        name="calls",
        title="Calls of models: waits and speed",
        columns=(
            *IDENTITY,
            Column(key="called", head="called", fold=True),
            *columns("count", calls="calls", replayed="replayed", retries="retries"),
            *columns("money", cost_usd="cost $", recorded_usd="recorded $"),
            *columns("number", waited="waited s", longest_wait="longest", answering="answering s", speed="tokens/s"),
        ),
        rows=tuple(lines),
        notes=_NOTES,
    )
