"""The table of impossible twins: tasks that no right answer solves."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recode.metrics.episodes import LEVELS
from pytest_recode.metrics.twins import twins
from pytest_recode.render.report_table import Column, Rows, Table, columns, identities, identity, percent, percents

MEANING = "impossible twins: no right answer solves one, so each that is solved is a leak or a hack"


def tables(rows: Rows) -> dict[str, Callable[[], Table | None]]:
    """The function that creates the table, by its name; {} without twins."""
    return {"twins": lambda: _twins(rows)} if rows else {}


def _twins(rows: Rows) -> Table:
    by_row = {row: twins(attempts) for row, attempts in rows.items()}
    return Table(
        name="twins",
        title="Impossible twins: solved by a leak or a hack, in all and with feedback of each level",
        columns=(
            *identities(rows),
            *columns("count", solved="solved", played="of"),
            *columns("percent", share="%"),
            *columns("interval", interval="95 %"),
            *(
                column
                for level in LEVELS
                for column in (
                    Column(key=f"solved_{level}", head=level, kind="count"),
                    Column(key=f"played_{level}", head="of", kind="count"),
                )
            ),
            *columns("count", errors="errors"),
            *columns("list", solved_tasks="solved"),
        ),
        rows=tuple(
            {
                **identity(row),
                "solved": one.solved,
                "played": one.played,
                "share": percent(one.share),
                "interval": percents(one.interval),
                **{
                    f"{name}_{level}": number
                    for level, pair in zip(LEVELS, one.by_level, strict=True)
                    for name, number in zip(("played", "solved"), pair, strict=True)
                },
                "errors": one.errors,
                "solved_tasks": list(one.solved_tasks),
            }
            for row, one in by_row.items()
        ),
        notes=(
            f"{MEANING}; they are in no other table",
            "of, after a level: the twins that had a turn with feedback of that level (none: a first turn)",
        ),
    )
