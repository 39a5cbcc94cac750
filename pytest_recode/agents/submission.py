"""Why a hand-in waits, for each reason once a turn. Pure functions of an answer and of the targets."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from pytest_recode.agents.actions import Step
from pytest_recode.agents.target_checks import lost_definitions, not_python, untouched
from pytest_recode.task import Brief, Files
from pytest_recode.wording import some_of


def doubts(step: Step, brief: Brief, targets: Files, judged: Files, *, failed: int = 0) -> dict[str, str]:
    """What the model may not have meant about the targets that it hands in: a sentence for each reason to wait, by the reason's name.

    `judged`: the targets at the beginning of the turn, which the last verdict is about, or the repository's. `failed`: the number of an
    action of the answer, a command that did not succeed; 0 if there is none.
    """
    reasons: dict[str, str] = {}
    if failed:
        reasons["failed"] = f"Action {failed} (`{step.actions[failed - 1].kind}`) failed."
    for path, data in targets.items():
        text, delivered = (each.decode("utf-8", "replace") for each in (data, brief.repo.get(path, b"")))
        if doubt := not_python(path, text) or lost_definitions(path, delivered, text):
            reasons[doubt] = f"{doubt}."
    if unwritten := untouched(brief.targets, targets, brief.repo):
        reasons[unwritten] = unwritten
    elif all(targets.get(path) == judged.get(path) for path in {*targets, *judged}):
        reasons["unchanged"] = "No target was changed since the last verdict."
    return reasons


def not_yet(reasons: Mapping[str, str], brief: Brief, targets: Files, judged: Files, hand_in: str) -> str:
    """What the model is told of a hand-in that waits for these reasons. `hand_in`: how it hands in."""
    names = dict.fromkeys([*brief.targets, *sorted({*targets, *judged})])
    changed = [path for path in names if targets.get(path) != judged.get(path)]
    since = f" Changed in this turn: {some_of(changed, 8)}." if changed else ""
    return f"Not handed in yet. {' '.join(reasons.values())}{since} Write what is missing, or hand in again ({hand_in}) to leave the targets as they are."


def misplaced(path: str, targets: Sequence[str]) -> str:
    """A note on a file that was written beside a target of the same name; "" for others."""
    name = posixpath.basename(path)
    alike = [target for target in targets if posixpath.basename(target) == name]
    return f" It is no target: {alike[0]} is handed in." if alike and path not in targets else ""
