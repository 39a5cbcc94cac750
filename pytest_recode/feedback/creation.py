"""Creates a Feedback from the items of any researcher: audited, with the text of a level."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.episode import Feedback, FeedbackItem, Turn
from pytest_recode.feedback.audit import Secrets, audited
from pytest_recode.feedback.levels import render
from pytest_recode.feedback.model_answers import Style
from pytest_recode.task import Task


def written(
    task: Task,
    hidden: Secrets,
    turn: Turn,
    level: int,
    items: Sequence[FeedbackItem],
    source: str,
    style: Style = Style(),  # noqa: B008  a frozen value
) -> Feedback:
    """Create a Feedback: audited, and cut to `level`. Its usage is zero.

    Every researcher's feedback is created here.
    """
    audited_items, audit = audited(items, hidden, turn.targets, style)
    text = render(turn.verdict, audited_items, level, turn.number, targets=task.targets, candidate=turn.targets)
    return Feedback(level=level, text=text, turn=turn.number, items=audited_items, source=source, audit=audit)
