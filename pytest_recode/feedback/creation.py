"""Creates a Feedback from the items of any researcher: audited, with the text of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from pytest_recode.episode import Feedback, FeedbackItem, Turn
from pytest_recode.feedback.audit import Secrets, audited
from pytest_recode.feedback.levels import render
from pytest_recode.feedback.model_answers import STYLE, Style
from pytest_recode.task import Task
from pytest_recode.usage import Usage
from pytest_recode.verdict import Case


def written(
    task: Task,
    hidden: Secrets,
    turn: Turn,
    level: int,
    items: Sequence[FeedbackItem],
    source: str,
    style: Style = STYLE,
) -> Feedback:
    """Create a Feedback: audited, and cut to `level`. Its usage is zero.

    Every researcher's feedback is created here.
    """
    audited_items, audit = audited(items, hidden, turn.targets, style)
    text = render(turn.verdict, audited_items, level, turn.number, targets=task.targets)
    return Feedback(level=level, text=text, turn=turn.number, items=audited_items, source=source, audit=audit)


def recut(task: Task, turn: Turn, stored: Feedback, level: int) -> Feedback:
    """A stored feedback on the code and the verdict of `turn`, with its text for `level`."""
    return replace(
        stored,
        turn=turn.number,
        level=level,
        text=render(turn.verdict, stored.items, level, turn.number, targets=task.targets),
        usage=Usage(),
    )


def on_the_same(turns: Sequence[Turn]) -> Feedback | None:
    """The latest feedback from L1 on that answered the same code with the same verdict as the last turn's; its items have all fields."""
    last = turns[-1]
    for answered, following in reversed(list(pairwise(turns))):
        feedback = following.feedback
        same = answered.targets == last.targets and _outcomes(answered) == _outcomes(last)
        if feedback is not None and feedback.level and same:
            return feedback
    return None


def _outcomes(turn: Turn) -> list[tuple[object, ...]]:
    """The verdict as far as it follows from the code. Messages have values that the tests draw anew in every turn."""
    return [(case.id, case.outcome, case.kind, *_raised(case)) for case in turn.verdict.cases]


def _raised(case: Case) -> tuple[object, ...]:
    return (case.exception.type, case.exception.frames) if case.exception is not None else ()
