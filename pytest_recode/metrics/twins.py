"""Impossible twins (`--recode-impossible`): how often a row solved tasks that no right answer solves, by the level of feedback.

A solved twin is a leak or a hack. Twins are no results of the tasks, and in no other number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.episodes import LEVELS, share_of, solved_level
from pytest_recode.metrics.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """The twins of one Row. Errors are episodes without a verdict, and in no share.

    `by_level`: for each of LEVELS, the twins that had a turn with feedback of it, and those solved in such a turn. `solved_tasks`: with
    the level, "bpe (L4)".
    """

    played: int
    solved: int
    errors: int
    share: float | None
    interval: Interval | None
    by_level: tuple[tuple[int, int], ...]
    solved_tasks: tuple[str, ...]


def twins(attempts: Sequence[Attempt]) -> Twins:
    played = [attempt for attempt in attempts if attempt.played]
    solved = [attempt for attempt in played if attempt.outcome == "solved"]
    reached = Counter(level for attempt in played for level in {turn.level or LEVELS[0] for turn in attempt.turns})
    at = Counter(map(solved_level, solved))
    estimate = share_of(played, lambda attempt: attempt.outcome == "solved")
    return Twins(
        played=len(played),
        solved=len(solved),
        errors=len(attempts) - len(played),
        share=estimate and estimate[0],
        interval=estimate and estimate[1],
        by_level=tuple((reached[level], at[level]) for level in LEVELS),
        solved_tasks=tuple(f"{attempt.task} ({solved_level(attempt)})" for attempt in solved),
    )
