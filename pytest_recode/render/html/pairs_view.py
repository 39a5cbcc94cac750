"""Pairs of rows: the paired test, and the tasks whose result changed, side by side and aligned by turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from pytest_recode.metrics.attempt import Attempt, Row, TurnScore
from pytest_recode.metrics.compare import Comparison, compare
from pytest_recode.metrics.intervals import holm
from pytest_recode.metrics.rows import differences
from pytest_recode.render.html.matrix import outcome_text
from pytest_recode.render.html.names import Pages, episode_key
from pytest_recode.render.report import shown
from pytest_recode.render.report_pairs import default_pairs
from pytest_recode.render.report_table import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An episode of one of the two rows."""

    page: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A task whose result differs. `turns`: for each turn what happened in the two episodes, "" if it had ended."""

    task: str
    first: Side
    second: Side
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    first: str
    second: str
    differ: str
    test: str
    numbers: tuple[tuple[str, str], ...]
    lost: tuple[Changed, ...]
    won: tuple[Changed, ...]


def pair_views(rows: Rows, names: Mapping[Row, str], pages: Pages) -> tuple[Pair, ...]:
    """The pairs of the user's own rows that differ in one thing. Their p values are adjusted for their number."""
    found = [(one, other, compare(rows[one], rows[other])) for one, other in default_pairs(rows)]
    known = [(one, other, result) for one, other, result in found if result is not None]
    adjusted = holm([result.p for _, _, result in known])
    return tuple(
        Pair(
            first=names[one],
            second=names[other],
            differ="; ".join(differences((one, rows[one]), (other, rows[other]))) or "nothing recorded",
            test=_test(names[one], names[other], result, p),
            numbers=_numbers(names[one], names[other], result),
            lost=tuple(_changed(result.only_first, rows[one], rows[other], pages)),
            won=tuple(_changed(result.only_second, rows[one], rows[other], pages)),
        )
        for (one, other, result), p in zip(known, adjusted, strict=True)
    )


def _test(first: str, second: str, result: Comparison, p: float) -> str:
    low, high = (100 * end for end in result.interval)
    points = abs(100 * result.difference)
    if result.difference == 0:
        begin = "Both rows solve equally much"
    else:
        better, worse = (second, first) if result.difference > 0 else (first, second)
        certain = "this is not a chance result" if p < 0.05 else "a difference of this size also occurs by chance"
        begin = f"{better} solves {points:.1f} points more than {worse}; {certain}"
    return (
        f"{begin}. Second minus first: {shown('points', 100 * result.difference)} points, 95 %: {shown('interval', (low, high))},"
        f" p = {shown('p', p)} (adjusted for all pairs on this page), test by {result.units}."
    )


def _numbers(first: str, second: str, result: Comparison) -> tuple[tuple[str, str], ...]:
    return (
        ("tasks that both played", str(result.pairs)),
        ("solved by both", str(result.both)),
        (f"only, or more often, by {first}", str(len(result.only_first))),
        (f"only, or more often, by {second}", str(len(result.only_second))),
        ("solved by neither", str(result.neither)),
        ("tasks that only one of them played, in no number above", str(result.unpaired)),
    )


def _changed(
    tasks: Sequence[str], first: Sequence[Attempt], second: Sequence[Attempt], pages: Pages
) -> Iterator[Changed]:
    for task in tasks:
        one, other = _played(first, task), _played(second, task)
        yield Changed(
            task=task,
            first=_side(one, pages),
            second=_side(other, pages),
            turns=tuple((_turn_text(here), _turn_text(there)) for here, there in zip_longest(one.turns, other.turns)),
        )


def _played(attempts: Sequence[Attempt], task: str) -> Attempt:
    return next(each for each in attempts if each.task == task and each.played)


def _side(attempt: Attempt, pages: Pages) -> Side:
    return Side(page=pages[episode_key(attempt)], outcome=attempt.outcome, text=outcome_text(attempt))


def _turn_text(turn: TurnScore | None) -> str:
    return "" if turn is None else f"{turn.level or 'no feedback'}: {turn.passed} of {turn.total} cases"
