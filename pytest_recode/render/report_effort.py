"""The table of effort: solved at the first turn, pass^k, and how much help was needed. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.effort import Effort, common_attempts, effort
from pytest_recode.render.report_table import (
    COUNTS,
    Rows,
    Table,
    columns,
    identities,
    identity,
    percent,
    percents,
)
from pytest_recode.settings import NO_FEEDBACK


def table(rows: Rows, beside: Mapping[Row, Mapping[str, int]]) -> Table | None:
    """None if no row had feedback or several attempts: the table `episodes` has all its numbers then. `beside`: the cells of COUNTS."""
    k = common_attempts(list(rows.values()))
    if k < 2 and all(row.feedback == NO_FEEDBACK for row in rows):
        return None
    by_row = {row: effort(attempts, k) for row, attempts in rows.items()}
    several = (
        (
            *columns("percent", all_first=f"pass^{k} at turn 1", all_solved=f"pass^{k}"),
            *columns("count", tasks="of tasks"),
        )
        if k > 1
        else ()
    )
    faulty = any(one["errors"] for one in beside.values())
    notes = ["half solved by, highest level: of feedback, none in the first turn; -: fewer are solved"]
    if any(one.feedback_tokens is not None for one in by_row.values()):
        notes.append("feedback tokens: mean over episodes until solved or until the end, estimated from characters")
    return Table(
        name="effort",
        title="Effort: solved at the first turn, and the help that was needed",
        columns=(
            *identities(by_row),
            *columns("percent", first_turn="solved at turn 1"),
            *columns("interval", first_turn_interval="95 %"),
            *several,
            *columns("text", half_level="half solved by", highest_level="highest level"),
            *columns("count", feedback_tokens="feedback tokens"),
            *COUNTS,
            *(columns("percent", first_turn_at_least="errors as failed, turn 1") if faulty else ()),
        ),
        rows=tuple({**identity(row), **_numbers(one, beside[row]), **beside[row]} for row, one in by_row.items()),
        notes=tuple(notes),
    )


def _numbers(one: Effort, counts: Mapping[str, int]) -> dict[str, object]:
    everything = counts["played"] + counts["errors"]
    return {
        "first_turn_at_least": percent((one.first_turn or 0.0) * counts["played"] / everything) if everything else None,
        "first_turn": percent(one.first_turn),
        "first_turn_interval": percents(one.interval),
        "all_first": percent(one.all_first),
        "all_solved": percent(one.all_solved),
        "tasks": one.tasks,
        "half_level": one.half_level,
        "highest_level": one.highest_level,
        "feedback_tokens": one.feedback_tokens,
    }
