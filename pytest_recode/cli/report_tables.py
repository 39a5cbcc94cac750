"""The rows of runs, and the tables of them: for `pytest-recode report` and `pytest-recode html`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.metrics.passing import passed
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.metrics.transcripts import FROM_FILES, TranscriptReader
from pytest_recode.records.row_filter import RowFilter
from pytest_recode.render import (
    report_calls,
    report_dates,
    report_episodes,
    report_faults,
    report_feedback,
    report_history,
    report_pairs,
    report_snippets,
    report_speed,
    report_table,
    report_tasks,
    report_turns,
    report_twins,
)
from pytest_recode.render.report_table import Rows, Table
from pytest_recode.render.words import plural
from pytest_recode.wording import some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsOfRuns:
    """The rows of the given files. `everything` and `replays` have all of them, `shown` and `replayed` those that were chosen, and `twins`
    the chosen impossible twins, which are in none of the others.

    `chosen`: whether models or agents were chosen by name. `notes` are for the reader of the report.
    """

    attempts: tuple[Attempt, ...]
    everything: Rows
    shown: Rows
    replayed: Rows
    twins: Rows
    chosen: bool
    notes: tuple[str, ...]

    @property
    def own(self) -> dict[Row, Sequence[Attempt]]:
        """The shown rows of runs, without published results."""
        return {row: group for row, group in self.shown.items() if group and not row.published}

    @property
    def simulated(self) -> bool:
        return any(row.simulated for row in [*self.shown, *self.replayed, *self.twins])


ALL = RowFilter()
ON_REQUEST = frozenset({"tasks", "history"})
"""Tables with a line for each task or that repeat others, which text, Markdown and LaTeX show only if they are asked for by name."""

SIMULATED = (
    "* simulated: an offline model that breaks and repairs the reference; its results say nothing about real models"
)


def rows_of(files: Sequence[Path], shows: RowFilter = ALL) -> RowsOfRuns:
    """Read the files. Raises `UserError` if no row is left."""
    sources = read(files)
    notes = [note for source in sources for note in source.notes]
    attempts = [attempt for source in sources for attempt in source.attempts]
    twins = rows([attempt for attempt in attempts if attempt.row.impossible])
    attempts = [attempt for attempt in attempts if not attempt.row.impossible]
    everything = rows([attempt for attempt in attempts if attempt.replay is None])
    replays = rows([attempt for attempt in attempts if attempt.replay is not None])
    shown, replayed, shown_twins = (_chosen(group, shows) for group in (everything, replays, twins))
    if not shown and not replayed and not shown_twins:
        if known := [*everything, *replays, *twins]:
            raise shows.nothing("row", (row.model for row in known), (row.agent for row in known))
        others = [f"and {len(notes) - 2} more"] if len(notes) > 2 else []
        reason = "; ".join([*notes[:2], *others])
        raise UserError("no episode to report" + (f" ({reason})" if reason else ""))
    notes += _left_out([*everything, *replays, *twins], [*shown, *replayed, *shown_twins], shows)
    return RowsOfRuns(
        attempts=tuple(attempts),
        everything=everything,
        shown=shown,
        replayed=replayed,
        twins=shown_twins,
        chosen=shows.given,
        notes=tuple(notes),
    )


def rows_of_tasks(files: Sequence[Path], shows: RowFilter = ALL) -> RowsOfRuns:
    """As `rows_of`, for what needs results of the tasks: raises `UserError` also if there are only impossible twins."""
    rows = rows_of(files, shows)
    if rows.twins and not rows.shown and not rows.replayed:
        raise UserError(
            f"{files[0]}: has impossible twins alone (--recode-impossible), whose results are none of the tasks: give a run without that"
            " option, or read it with pytest-recode report"
        )
    return rows


def only_common(rows: RowsOfRuns) -> RowsOfRuns:
    """Keep only the tasks that every row of a benchmark has. Raises `UserError` if there is none."""
    shown = report_table.common(rows.shown)
    if not any(shown.values()):
        raise UserError("--common: no task has episodes of every row; remove --common, or give fewer files")
    notes = ["--common: only tasks that every row of the same benchmark has"]
    notes += [
        f"--common: {plural(lost, 'task')} of {report_table.name(row)} omitted"
        for row in shown
        if (lost := len(report_table.tasks(rows.shown[row]) - report_table.tasks(shown[row])))
    ]
    return replace(rows, shown=shown, notes=(*rows.notes, *notes))


_ABOVE = ("episodes", "effort", "comparisons", "turns")
"""The tables that answer most questions, so that they are above the long ones."""


def makers(
    rows: RowsOfRuns,
    *,
    known: Mapping[str, Set[str]],
    base: Row | None = None,
    hard_threshold: float = 1 / 3,
    judge: report_feedback.Judge | None = None,
    transcripts: TranscriptReader = FROM_FILES,
) -> dict[str, Callable[[], Table | None]]:
    """The tables by name, except `code`. `known`: format -> its expected tasks; `base`: the row that the others are compared with."""
    shown, own = rows.shown, rows.own
    with_lines = {row: group for row, group in shown.items() if group and all(attempt.snippet for attempt in group)}
    best = max(with_lines, key=lambda row: passed(with_lines[row]).scaled or 0, default=None)
    detail = list(shown) if rows.chosen else [row for row in with_lines if not row.published]
    episodes = report_episodes.tables(own, known)
    played = {row: group for row, group in shown.items() if group}
    pairs = report_pairs.tables(
        played,
        rows.replayed,
        [one for one in rows.attempts if one.replay is None],
        base=base,
    )
    pairs |= {"turns": lambda: report_turns.table(played, base)}
    return {
        **report_snippets.tables(
            with_lines,
            everything={row: group for row, group in rows.everything.items() if row in with_lines or row.published},
            detail=detail or ([best] if best else []),
            hard_threshold=hard_threshold,
            known=known,
        ),
        **report_dates.tables(with_lines, own),
        **{name: table for name, table in {**episodes, **pairs}.items() if name in _ABOVE},
        **episodes,
        **report_speed.tables(own),
        **report_tasks.tables(own),
        **report_history.tables(own),
        **report_faults.tables(own, known),
        **report_calls.tables(own, transcripts),
        **report_feedback.tables(own, judge, transcripts),
        **pairs,
        **report_twins.tables(rows.twins),
    }


def _chosen(rows: Rows, shows: RowFilter) -> dict[Row, Sequence[Attempt]]:
    return {row: attempts for row, attempts in rows.items() if shows.shows(row.model, row.agent)}


def _left_out(rows: Sequence[Row], shown: Sequence[Row], shows: RowFilter) -> list[str]:
    left = [row for row in rows if row not in shown]
    by_agent = len({row.agent for row in rows}) > 1 and bool(shows.agents)
    names = list(dict.fromkeys(f"{row.model} ({row.agent})" if by_agent else row.model for row in left))
    if not names:
        return []
    return [f"{shows}: {len(rows) - len(shown)} of {len(rows)} rows omitted: {some_of(names, 5)}"]
