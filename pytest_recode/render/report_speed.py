"""The table of speed-ups, for benchmarks whose hidden tests measure them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from pytest_recode.metrics.speed_ups import FASTER, SpeedScore, overlap, published_scores, speed_score
from pytest_recode.render.report_table import Rows, Table, columns, identities, identity, name, published_identity
from pytest_recode.wording import some_of

FORMAT = "algotune"
_MOST_PAIRS = 5


def tables(rows: Rows) -> dict[str, Callable[[], Table | None]]:
    """The function that creates the table, by name. It returns None if no episode has a speed-up to measure."""
    return {"speed": lambda: _speed(rows)}


def _speed(rows: Rows) -> Table | None:
    scores = {row: score for row, attempts in rows.items() if (score := speed_score(attempts)) is not None}
    if not scores:
        return None
    published = published_scores(attempt for row in scores for attempt in rows[row])
    same = [
        f"{name(one)} and {name(other)}"
        for one, other in combinations(scores, 2)
        if overlap(scores[one], scores[other])
    ]
    notes = [
        "score: harmonic mean over tasks of the best turn's speed-up; invalid or slower than the reference counts as 1",
        f"faster: tasks with a speed-up of {FASTER} or more; low, high: noise of the clock alone (90 %)",
    ]
    if same:
        notes.append(f"cannot be told apart by this measurement: {some_of(same, _MOST_PAIRS)}")
    if published:
        notes.append(
            "published: for the same tasks, on the authors' machine with 100 instances; no published number counts as 1"
        )
    return Table(
        name="speed",
        title="Speed-ups over the reference (AlgoTune's score)",
        columns=(
            *identities(rows),
            *columns("count", speed_tasks="tasks"),
            *columns("number", valid="valid", faster="faster", score="score", low="low", high="high"),
        ),
        rows=(
            *({**identity(row), **_numbers(score)} for row, score in scores.items()),
            *({**_published_identity(model), **_numbers(score)} for model, score in published.items()),
        ),
        notes=tuple(notes),
    )


def _published_identity(model: str) -> dict[str, Any]:
    return {**published_identity(model, "of every step"), "agent": "AlgoTuner", "format": FORMAT, "paper_shown": "no"}


def _numbers(score: SpeedScore) -> Mapping[str, Any]:
    return {
        "speed_tasks": score.tasks,
        "valid": score.valid,
        "faster": score.faster,
        "score": score.score,
        "low": score.low,
        "high": score.high,
    }
