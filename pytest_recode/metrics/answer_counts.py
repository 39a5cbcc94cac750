"""Answers of a model that could not be used, in any selection of episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCounts:
    """Numbers of answers in turns that the episodes played. `unusable` ones were not executed; `asked_again` of these were no step."""

    answers: int
    unusable: int
    asked_again: int

    @property
    def steps_lost(self) -> int:
        return self.unusable - self.asked_again


def answer_counts(attempts: Iterable[Attempt]) -> AnswerCounts:
    """Episodes of earlier versions, which did not record these numbers, are left out."""
    counted = [attempt for attempt in attempts if attempt.answers is not None]
    return AnswerCounts(
        answers=sum(attempt.answers or 0 for attempt in counted),
        unusable=sum(attempt.unparsed or 0 for attempt in counted),
        asked_again=sum(attempt.asked_again for attempt in counted),
    )
