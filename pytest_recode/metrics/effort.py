"""Effort: how much help the episodes of a row needed. The numbers that tell apart models that solve nearly everything in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt
from pytest_recode.metrics.episodes import LEVELS, most_attempts, pass_all, share_of, tries
from pytest_recode.metrics.intervals import Interval
from pytest_recode.models.prompt_size import CHARACTERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The numbers of one row, over its played episodes. Shares are None if nothing was played.

    Levels are those of `LEVELS`, of which "none" is an episode without feedback. `all_first` and `all_solved` are pass^k, at the first
    turn and in any turn; None if no task has k attempts.
    """

    first_turn: float | None  # share of the episodes solved at the first turn
    interval: Interval | None  # of that share
    attempts: int  # the k of pass^k
    tasks: int  # with k played attempts or more
    all_first: float | None
    all_solved: float | None
    half_level: str | None  # the lowest one within which half of the episodes are solved; None: half of them are not
    highest_level: str | None  # that any solved episode needed; None: none is solved
    feedback_tokens: float | None  # mean until solved, or until the end; None: not recorded


def effort(attempts: Sequence[Attempt], k: int) -> Effort:
    """The effort of a row, with pass^k for this k."""
    played = [attempt for attempt in attempts if attempt.played]
    first = share_of(played, lambda attempt: attempt.solved_within(1))
    at_first, at_last = (pass_all(tries(played, within=within), k) for within in (1, None))
    characters = [attempt.feedback_characters for attempt in played]
    known = [number for number in characters if number is not None]
    needed = [attempt.highest_level or LEVELS[0] for attempt in played if attempt.solved_within()]
    return Effort(
        first_turn=first and first[0],
        interval=first and first[1],
        attempts=k,
        tasks=at_last[1] if at_last else 0,
        all_first=at_first and at_first[0],
        all_solved=at_last and at_last[0],
        half_level=_half_level(needed, len(played)),
        highest_level=max(needed, key=LEVELS.index, default=None),
        feedback_tokens=sum(known) / len(known) / CHARACTERS if known and len(known) == len(played) else None,
    )


def common_attempts(rows: Sequence[Sequence[Attempt]]) -> int:
    """The k of pass^k for rows that are shown together: the largest number of played attempts at one task."""
    return max(map(most_attempts, rows), default=0)


def _half_level(needed: Sequence[str], played: int) -> str | None:
    counts = Counter(needed)
    solved = 0
    for level in LEVELS:
        solved += counts[level]
        if solved and 2 * solved >= played:
            return level
    return None
