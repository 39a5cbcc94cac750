"""The key `measured` of a `task.yaml`: what solvers did who saw only what an agent sees. Called by `task_yaml`; pure functions."""

from __future__ import annotations

from functools import cache
from typing import Any

from pytest_recode.formats.document import At, Document, fault, name_of
from pytest_recode.formats.fields import Check, mapping, one_of, text, whole
from pytest_recode.task import BlindAttempt

DATE = r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2})?)?"
DATE_WORDS = "text as in 2013-06-04, 2013-06 or 2013"
MOST_TURNS = 1000

_ENDS = ("solved_at", "unsolved_after")


def blind_attempt(document: Document, at: At, value: Any) -> BlindAttempt:
    """Check one entry of `measured`. Raises `UserError`."""
    entry = _entry()(document, at, value)
    ends = [key for key in _ENDS if key in entry]
    if len(ends) != 1:
        what = "has both solved_at and unsolved_after" if ends else "has neither solved_at nor unsolved_after"
        raise fault(
            document,
            at,
            f"{name_of(at)}: {what}; give solved_at: TURN if the attempt solved the task, else unsolved_after: TURNS",
        )
    end = ends[0]
    helped = entry[end] > 1
    if helped != ("level" in entry):
        why = (
            f"{end}: {entry[end]} means that feedback was given; add level: L0, L1, L2, L3 or L4, the highest of it"
            if helped
            else f"{end}: 1 means that no feedback was given; remove level"
        )
        raise fault(document, at, f"{name_of(at)}: {why}")
    return BlindAttempt(
        solver=entry["solver"],
        date=entry["date"],
        solved=end == "solved_at",
        turns=entry[end],
        level=entry.get("level", ""),
    )


@cache
def _entry() -> Check:
    return mapping(
        {
            "solver": text(),
            "date": text(DATE, DATE_WORDS),
            "solved_at": whole(1, MOST_TURNS),
            "unsolved_after": whole(1, MOST_TURNS),
            "level": one_of("L0", "L1", "L2", "L3", "L4"),
        },
        required=("solver", "date"),
    )
