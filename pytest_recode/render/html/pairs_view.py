"""Pairs of rows: the paired test, and the tasks whose result changed, side by side and aligned by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pytest_recode.metrics.attempt import Attempt, Row, TurnScore
from pytest_recode.metrics.compare import Comparison
from pytest_recode.metrics.intervals import holm
from pytest_recode.metrics.rows import differences
from pytest_recode.render.html.answer import LEVEL
from pytest_recode.render.html.matrix import outcome_text
from pytest_recode.render.html.names import Pages, episode_key
from pytest_recode.render.report_pairs import compared
from pytest_recode.render.report_table import Rows
from pytest_recode.render.table_formats import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A task in one of the two rows: an episode, and the outcome of the task in `text`."""

    page: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A task whose result differs. `attempt`: which one of several its episodes are, or "". `turns`: for each turn what happened in the two
    episodes, "" if it had ended."""

    task: str
    attempt: str
    first: Side
    second: Side
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPair:
    """Two rows, of which the first is not worse. Shares and `difference`, which is first minus second, are percentages and points; `p_adjusted`: for
    all pairs."""

    first: str
    second: str
    differ: str
    first_share: str
    second_share: str
    difference: str
    interval: str
    p: str
    p_adjusted: str
    test: str
    numbers: tuple[tuple[str, str], ...]
    won: tuple[Changed, ...]
    lost: tuple[Changed, ...]


def pair_views(rows: Rows, names: Mapping[Row, str], pages: Pages) -> tuple[RowPair, ...]:
    """The pairs of the user's own rows that differ in one thing. Their p values are adjusted for their number."""
    known = [(one, other, result) for one, other, result, _ in compared(rows)]
    adjusted = holm([result.p for _, _, result in known])
    return tuple(
        RowPair(
            first=names[one],
            second=names[other],
            differ="; ".join(differences((one, rows[one]), (other, rows[other]))) or "nothing recorded",
            first_share=shown("percent", 100 * result.first),
            second_share=shown("percent", 100 * result.second),
            difference=shown("points", 100 * result.difference),
            interval=shown("interval", (100 * result.interval[0], 100 * result.interval[1])),
            p=shown("p", result.p),
            p_adjusted=shown("p", p),
            test=_test(names[one], names[other], result, p),
            numbers=_numbers(names[one], names[other], result),
            won=tuple(_changed(result.only_first, rows[one], rows[other], pages)),
            lost=tuple(_changed(result.only_second, rows[one], rows[other], pages)),
        )
        for (one, other, result), p in zip(known, adjusted, strict=True)
    )


def _test(first: str, second: str, result: Comparison, p: float) -> str:
    ends = tuple(100 * end for end in result.interval)
    if result.difference == 0:
        begin = "Both rows solve equally much"
    else:
        begin = f"{first} solves {100 * result.difference:.2f} points more than {second}; this is {'' if p < LEVEL else 'not '}significant"
    return (
        f"{begin} (95 % interval: {shown('interval', ends)}; p = {shown('p', result.p)}, adjusted for all pairs on this page:"
        f" {shown('p', p)}; paired test of {result.units})."
    )


def _numbers(first: str, second: str, result: Comparison) -> tuple[tuple[str, str], ...]:
    return (
        ("tasks that both played", str(result.pairs)),
        ("solved equally often", str(result.both)),
        (f"solved more often by {first}", str(len(result.only_first))),
        (f"solved more often by {second}", str(len(result.only_second))),
        ("solved by neither", str(result.neither)),
        ("played by only one of them, not counted", str(result.unpaired)),
    )


def _changed(
    tasks: Sequence[str], first: Sequence[Attempt], second: Sequence[Attempt], pages: Pages
) -> Iterator[Changed]:
    for task in tasks:
        first_played, second_played = _played(first, task), _played(second, task)
        one, other = _different(first_played, second_played)
        yield Changed(
            task=task,
            attempt=f"attempt {one.number}" if len(first_played) > 1 and one.number == other.number else "",
            first=_side(one, first_played, pages),
            second=_side(other, second_played, pages),
            turns=tuple((_turn_text(here), _turn_text(there)) for here, there in zip_longest(one.turns, other.turns)),
        )


def _played(attempts: Sequence[Attempt], task: str) -> list[Attempt]:
    return sorted(
        (attempt for attempt in attempts if attempt.task == task and attempt.played), key=lambda attempt: attempt.number
    )


def _different(first: Sequence[Attempt], second: Sequence[Attempt]) -> tuple[Attempt, Attempt]:
    """The first attempt of the same number of which one row solved the task and the other did not; otherwise the first of each."""
    beside = {each.number: each for each in second}
    both = [(each, beside[each.number]) for each in first if each.number in beside]
    return next(
        ((one, other) for one, other in both if one.solved_within() != other.solved_within()), (first[0], second[0])
    )


def _side(attempt: Attempt, attempts: Sequence[Attempt], pages: Pages) -> Side:
    solved = sum(each.solved_within() for each in attempts)
    text = outcome_text(attempt) if len(attempts) == 1 else f"solved in {solved} of {len(attempts)} attempts"
    return Side(page=pages[episode_key(attempt)], outcome=attempt.outcome, text=text)


def _turn_text(turn: TurnScore | None) -> str:
    return "" if turn is None else f"{turn.level or 'no feedback'}: {turn.passed} of {turn.total} cases"
