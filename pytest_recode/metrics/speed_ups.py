"""Speed-ups over a benchmark's reference, as hidden tests measured them, and AlgoTune's score of a row.

Source: AlgoTune (Press et al., arXiv:2507.15887, Section 3): the score is the harmonic mean over tasks, and a solver that is invalid or slower than
the reference counts as the reference, 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, harmonic_mean

from pytest_recode.metrics.attempt import Attempt, MeasuredSpeed

FASTER = 1.1
"""The speed-up from which on a solver counts as faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedScore:
    """AlgoTune's score of a row. `valid` and `faster` count tasks; `low` and `high` are the score of the bounds of all tasks, so noise of the clock alone."""

    tasks: int
    valid: float
    faster: float
    score: float
    low: float | None = None
    high: float | None = None


def speed_score(attempts: Sequence[Attempt]) -> SpeedScore | None:
    """The score of a row; a task with several attempts counts with their mean. None if no attempt has a speed-up to measure. Errors are left out."""
    by_task: dict[str, list[MeasuredSpeed]] = {}
    for attempt in attempts:
        if attempt.speed is not None and attempt.played:
            by_task.setdefault(attempt.task, []).append(attempt.speed)
    if not by_task:
        return None
    speeds = list(by_task.values())
    return SpeedScore(
        tasks=len(speeds),
        valid=sum(fmean(one.speed_up is not None for one in of_task) for of_task in speeds),
        faster=sum(fmean((one.speed_up or 0.0) >= FASTER for one in of_task) for of_task in speeds),
        score=_score(fmean(_merciful(one.speed_up) for one in of_task) for of_task in speeds),
        low=_score(fmean(_merciful(one.low) for one in of_task) for of_task in speeds),
        high=_score(fmean(_merciful(one.high) for one in of_task) for of_task in speeds),
    )


def published_scores(attempts: Iterable[Attempt]) -> dict[str, SpeedScore]:
    """The scores of the published models over the tasks of these attempts, the best first."""
    by_task = {attempt.task: attempt.speed.published for attempt in attempts if attempt.speed is not None}
    models = {model for published in by_task.values() for model in published}
    scores = {}
    for model in models:
        speeds = [published.get(model) for published in by_task.values()]
        scores[model] = SpeedScore(
            tasks=len(speeds),
            valid=sum(one is not None for one in speeds),
            faster=sum((one or 0.0) >= FASTER for one in speeds),
            score=_score(map(_merciful, speeds)),
        )
    return dict(sorted(scores.items(), key=lambda item: (-item[1].score, item[0])))


def overlap(first: SpeedScore, second: SpeedScore) -> bool:
    """Whether the clock cannot tell two rows apart: their intervals have a number in common."""
    bounds = (first.low, first.high, second.low, second.high)
    if any(bound is None for bound in bounds):
        return False
    return (first.low or 0.0) <= (second.high or 0.0) and (second.low or 0.0) <= (first.high or 0.0)


def _merciful(speed_up: float | None) -> float:
    return max(speed_up or 1.0, 1.0)


def _score(speed_ups: Iterable[float]) -> float:
    return harmonic_mean(list(speed_ups))
