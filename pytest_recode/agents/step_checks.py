"""Check an answer before any of its actions is executed: paths, patterns, actions after `submit`, code that would be lost.

Called by `recode` after an answer is read. Changes nothing in the workspace.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from pytest_recode.agents import Refused, Workspace
from pytest_recode.agents.actions import Action, ProtocolError, Step, of_the_whole
from pytest_recode.task import covers


def checked(step: Step, workspace: Workspace, *, targets: Sequence[str], calls: int = 0) -> Step | ProtocolError:
    """The step with paths relative to the workspace, or what is wrong with its actions. `calls`: the number of native calls, each of which
    gets a result.

    An answer with code that is no action, which writes no target either, cannot be used: a step, or the turn, would be lost with the code.
    """
    kinds = [action.kind for action in step.actions]
    if "submit" in kinds[:-1]:
        after = kinds[kinds.index("submit") + 1]
        return of_the_whole(
            f"`submit` ends the turn, but comes before `{after}` in your answer. Nothing was done. Make `submit` the last action.",
            calls,
        )
    actions: list[Action] = []
    wrong: list[str] = []
    for action in step.actions:
        try:
            actions.append(_checked(action, workspace))
            wrong.append("")
        except Refused as refused:
            wrong.append(f"`{action.kind}`: {refused}. Nothing was done.")
    if any(wrong):
        return ProtocolError(text=next(filter(None, wrong)), calls=tuple(wrong) if calls == len(wrong) else ())
    written = {posixpath.normpath(act.arguments["path"]) for act in actions if act.kind in ("write", "edit")}
    if step.unsaved and not any(covers(tuple(targets), path) for path in written):
        return of_the_whole(f"{step.unsaved} Nothing was done. Leave out code that you only show.", calls)
    return replace(step, actions=tuple(actions))


def _checked(action: Action, workspace: Workspace) -> Action:
    """Raises Refused for a path outside of the workspace, and for a pattern that is no regular expression."""
    arguments = action.arguments
    if not {"pattern", "path"} & arguments.keys():
        return action
    path = workspace.check(arguments.get("path", "."), arguments.get("pattern"))
    return replace(action, arguments={**arguments, "path": path}) if "path" in arguments else action
