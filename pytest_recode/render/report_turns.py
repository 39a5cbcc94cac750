"""The table of rows against each other by the turns until solved. Pure functions."""

from __future__ import annotations

from typing import Any

from pytest_recode.metrics.attempt import Row
from pytest_recode.metrics.episodes import episodes
from pytest_recode.metrics.turns_until_solved import compare_turns
from pytest_recode.render.report_episodes import turns_given
from pytest_recode.render.report_pairs import pairs_of, with_adjusted_p
from pytest_recode.render.report_table import Column, Rows, Table, columns, name


def table(rows: Rows, base: Row | None) -> Table | None:
    """The pairs of `comparisons` in which both rows may have several turns; None without one."""
    limits = {row: turns_given(row, episodes(attempts)) for row, attempts in rows.items() if not row.published}
    lines: list[dict[str, Any]] = []
    for one, other in pairs_of(rows, base):
        limit = min(limits.get(one, 1), limits.get(other, 1))
        result = compare_turns(rows[one], rows[other], limit) if limit > 1 else None
        if result is not None and result.difference > 0 and base is None:
            one, other, result = other, one, result.swapped()
        if result is not None:
            lines.append(
                {
                    "first": name(one),
                    "second": name(other),
                    "limit": result.limit,
                    "tasks": result.tasks,
                    "first_turns": result.first,
                    "second_turns": result.second,
                    "difference": result.difference,
                    "low": result.interval[0],
                    "high": result.interval[1],
                    "p": result.p,
                }
            )
    if not lines:
        return None
    first, second = ("row", "base") if base else ("better", "other")
    return Table(
        name="turns",
        title="Turns until solved, of rows against each other, on the tasks that both played",
        columns=(
            Column(key="first", head=first, fold=len(lines) > 1 and base is None),
            Column(key="second", head=second, fold=len(lines) > 1 and base is not None),
            *columns("count", limit="turns at most", tasks="tasks"),
            *columns("number", first_turns=f"{first} turns", second_turns=f"{second} turns"),
            *columns("number", difference=f"{first} - {second}", low="95 % from", high="to"),
            *columns("p", p="p", **({"p_holm": "p adjusted"} if len(lines) > 1 else {})),
        ),
        rows=tuple(with_adjusted_p(lines)),
        notes=("an unsolved episode counts as one turn more than the limit; fewer turns are better",),
    )
