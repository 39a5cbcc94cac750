"""Feedback on a task that its own verifier judges, derived without a model: which of its cases fail, and no more.

Reward and cases are all that is known: the verifier is a script, and the solution another one, from which no correction of a file can be
derived. The last level shows the solution.
"""

from __future__ import annotations

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback.levels import sentence
from pytest_recode.feedback.symptoms import kinds
from pytest_recode.task import Parts
from pytest_recode.verdict import Verdict

NOTHING_MORE = "This task is judged by a script, and nothing more can be derived from its verdict."


def items_of(parts: Parts, verdict: Verdict) -> tuple[FeedbackItem, ...]:
    """An item for each case that fails; the first has what goes for all of them."""
    return tuple(
        FeedbackItem(
            interface=name,
            category="T2",
            description=sentence("; ".join(kinds(verdict, name))),
            analysis=NOTHING_MORE if number == 0 else "",
            elsewhere=_solution(parts) if number == 0 else {},
            authors={"description": "derived", **({"analysis": "derived"} if number == 0 else {})},
        )
        for number, name in enumerate(verdict.failing_interfaces)
    )


def _solution(parts: Parts) -> dict[str, str]:
    """The texts of the solution, by where the task has them."""
    texts = {}
    for path, data in parts.reference.items():
        if b"\0" not in data:
            texts[f"solution/{path}"] = data.decode("utf-8", "replace")
    return texts
