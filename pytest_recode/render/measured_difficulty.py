"""The measured difficulty of a task in words: what blind solvers did. Pure functions of the attempts in its `task.yaml`."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.task import BlindAttempt


def at_first(attempts: Sequence[BlindAttempt]) -> int:
    """The number of attempts that solved the task at the first turn."""
    return sum(one.solved and one.turns == 1 for one in attempts)


def at_first_words(attempts: Sequence[BlindAttempt]) -> str:
    """Solved at the first turn, of all attempts: "1 of 4"; "not measured" without any."""
    return f"{at_first(attempts)} of {len(attempts)}" if attempts else "not measured"


def later_words(attempts: Sequence[BlindAttempt]) -> str:
    """How the other attempts ended: "turn 3 with L2, unsolved in 10 turns with L4"; "" if there are none."""
    others = [one for one in attempts if not (one.solved and one.turns == 1)]
    others.sort(key=lambda one: (not one.solved, one.turns, one.level))
    return ", ".join(
        (f"turn {one.turns}" if one.solved else f"unsolved in {one.turns} turn{'s' * (one.turns > 1)}")
        + (f" with {one.level}" if one.level else "")
        for one in others
    )


def sentence(attempts: Sequence[BlindAttempt]) -> str:
    """One line on all attempts, with the dates of the first and of the last."""
    if not attempts:
        return "not measured"
    dates = sorted({one.date for one in attempts})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    later = later_words(attempts)
    return f"{at_first_words(attempts)} blind attempts solved it at turn 1{f'; the others: {later}' if later else ''} ({days})"
