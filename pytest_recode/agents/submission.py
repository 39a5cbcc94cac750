"""Why a `submit` is held once a turn. Pure functions of an answer and of the targets."""

from __future__ import annotations

from pytest_recode.agents.actions import Step
from pytest_recode.agents.target_checks import lost_definitions, not_python, untouched
from pytest_recode.task import Brief, Files
from pytest_recode.wording import some_of


def doubts(step: Step, brief: Brief, targets: Files, judged: Files, *, failed: int = 0) -> str:
    """What the model may not have meant about the targets that it hands in; "" if nothing is doubtful.

    `judged`: the targets at the beginning of the turn, which the last verdict is about, or the repository's. `failed`: the number of an
    action of the answer, a command that did not succeed; 0 if there is none.
    """
    found = []
    if step.unsaved:
        found.append(f"{step.unsaved[0].upper()}{step.unsaved[1:]} is no action: no file has its code.")
    if failed:
        found.append(f"Action {failed} (`{step.actions[failed - 1].kind}`) failed.")
    for path, data in targets.items():
        text, delivered = (each.decode("utf-8", "replace") for each in (data, brief.repo.get(path, b"")))
        if doubt := not_python(path, text) or lost_definitions(path, delivered, text):
            found.append(f"{doubt}.")
    unwritten = untouched(brief.targets, targets, brief.repo)
    changed = [path for path in brief.targets if targets.get(path) != judged.get(path)]
    found += [unwritten] if unwritten else [] if changed else ["No target was changed since the last verdict."]
    if not found:
        return ""
    since = f" Changed in this turn: {some_of(changed, 8)}." if changed else ""
    return f"{' '.join(found)}{since} Correct it, or `submit` again to hand the targets in as they are."
