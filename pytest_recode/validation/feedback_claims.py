"""Check that derived feedback tells a right answer of no fault: another form of the reference is not one. Grades nothing."""

from __future__ import annotations

from pytest_recode.feedback.derived import derive
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Outcome, Verdict

_CLAIMS = {
    "T0": "a piece is missing, or has another signature",
    "T1": "it cannot run",
}
"""What derived feedback claims by its category, besides T2, which leaves open what is wrong."""


def untrue_claims(task: Task, parts: Parts, name: str, right: Files) -> list[str]:
    """A line for each interface about which derived feedback would tell the right answer `name` of a fault.

    Each interface in turn is taken to fail, and nothing shows how: then feedback can only be about the answer's code.
    """
    lines = []
    for interface in task.interfaces:
        case = Case(id="unknown", interface=interface, outcome=Outcome.FAILED, kind="assertion")
        for item in derive(task, parts, right, Verdict(seed=0, cases=(case,))):
            if claim := _CLAIMS.get(item.category):
                lines.append(
                    f"{task.id}: {name} is right, and derived feedback would tell it that {claim} ({item.interface}, L2: {item.analysis}):"
                    " promise in the brief what the reference has, or give the reference only what the brief promises"
                )
    return lines
