"""The matrix of tasks and rows, whose cells lead to episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt, Row
from pytest_recode.render.html.names import Pages, episode_key
from pytest_recode.render.report_table import Rows
from pytest_recode.render.words import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEntry:
    """An episode in a cell. `page`: the key of its page."""

    page: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """The episodes of a row at a task. `sort`: solved earlier is more, then unsolved by cases, then errors, then none.

    `summary`: of several episodes how many solved the task, else ""; `outcome`: solved, unsolved or error if all of them have it.
    """

    entries: tuple[CellEntry, ...]
    sort: float
    summary: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixLine:
    """A task. `solved`: the number of rows that solved it. `kinds`: what a filter asks for."""

    task: str
    cells: tuple[MatrixCell, ...]
    solved: int
    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """`several`: a cell may have several episodes, one for each attempt."""

    heads: tuple[str, ...]
    several: bool
    lines: tuple[MatrixLine, ...]


def matrix(rows: Rows, names: Mapping[Row, str], pages: Pages) -> Matrix:
    """The matrix of `rows`. `pages`: the key of each episode's page."""
    by_task: dict[tuple[str, str], dict[Row, list[Attempt]]] = {}
    for row, attempts in rows.items():
        for attempt in attempts:
            by_task.setdefault((row.format, attempt.task), {}).setdefault(row, []).append(attempt)
    several = len({row.format for row in rows}) > 1
    lines = [
        _line(f"{task} ({task_format})" if several else task, [found.get(row, []) for row in rows], pages)
        for (task_format, task), found in sorted(by_task.items(), key=lambda item: item[0])
    ]
    return Matrix(
        heads=tuple(names[row] for row in rows),
        several=any(len(cell.entries) > 1 for line in lines for cell in line.cells),
        lines=tuple(lines),
    )


def _line(task: str, cells: Sequence[Sequence[Attempt]], pages: Pages) -> MatrixLine:
    played = [
        any(attempt.solved_within() for attempt in cell) for cell in cells if any(attempt.played for attempt in cell)
    ]
    kinds = []
    if len(set(played)) > 1:
        kinds.append("differ")
    if played and not any(played):
        kinds.append("unsolved")
    if any(not attempt.played for cell in cells for attempt in cell):
        kinds.append("error")
    return MatrixLine(
        task=task, cells=tuple(_cell(cell, pages) for cell in cells), solved=sum(played), kinds=tuple(kinds)
    )


def _cell(attempts: Sequence[Attempt], pages: Pages) -> MatrixCell:
    entries = tuple(
        CellEntry(page=pages[episode_key(attempt)], outcome=attempt.outcome, text=_entry_text(attempt))
        for attempt in sorted(attempts, key=lambda attempt: attempt.number)
    )
    outcomes = {attempt.outcome for attempt in attempts}
    return MatrixCell(
        entries=entries,
        sort=sum(map(_worth, attempts)) / len(attempts) if attempts else -2.0,
        summary=_summary(attempts) if len(attempts) > 1 else "",
        outcome=outcomes.pop() if len(outcomes) == 1 else "",
    )


def _summary(attempts: Sequence[Attempt]) -> str:
    """Such as "2/3"; episodes that ended with an error are in no share."""
    played = [each for each in attempts if each.played]
    errors = len(attempts) - len(played)
    parts = [f"{sum(each.solved_within() for each in played)}/{len(played)}"] if played else []
    return ", ".join([*parts, *([plural(errors, "error")] if errors else [])])


def outcome_text(attempt: Attempt) -> str:
    """The outcome in a few words: the turn that solved it, or the cases that pass after the last turn."""
    return f"solved in {_solving_turn(attempt)}" if attempt.solved_turn is not None else _unsolved_text(attempt)


def _entry_text(attempt: Attempt) -> str:
    """As short as a column is narrow; the page explains it."""
    if attempt.solved_turn is not None:
        return f"✓ {_solving_turn(attempt)}"
    return _unsolved_text(attempt).removesuffix(" cases")


def _solving_turn(attempt: Attempt) -> str:
    number = attempt.solved_turn or 0
    level = attempt.turns[number - 1].level if 0 < number <= len(attempt.turns) else None
    return f"turn {number}{f', {level}' if level else ''}"


def _unsolved_text(attempt: Attempt) -> str:
    if attempt.outcome == "error":
        return "error"
    last = attempt.turns[-1] if attempt.turns else None
    return f"{last.passed} of {last.total} cases" if last else "unsolved"


def _worth(attempt: Attempt) -> float:
    if attempt.outcome == "error":
        return -1.0
    if attempt.solved_turn is not None:
        return 1.0 + 1.0 / attempt.solved_turn
    last = attempt.turns[-1] if attempt.turns else None
    return last.passed / last.total if last and last.total else 0.0
