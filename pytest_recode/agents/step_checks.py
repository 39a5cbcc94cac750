"""Find faults of an answer before any action is executed, with the help of the workspace: paths outside it, actions after `submit`, code
that no action writes.

Called by `recode` after an answer is parsed and before it is executed. Changes nothing in the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pytest_recode.agents import Refused, Workspace
from pytest_recode.agents.action_names import in_workspace
from pytest_recode.agents.actions import AS_A_WHOLE, Action, Code, ProtocolError, Step, in_calls, in_text, wrong_use
from pytest_recode.agents.fences import form_of_change
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.headings import interface_in
from pytest_recode.agents.outside_code import Known, lost_code, lost_file
from pytest_recode.agents.target_checks import lost_definitions, not_python, untouched
from pytest_recode.agents.value_reader import SEARCH
from pytest_recode.agents.values import FENCE, to_write
from pytest_recode.task import Brief, Files


def checked(
    step: Step | ProtocolError,
    workspace: Workspace,
    *,
    native: bool,
    calls: int = 0,
    known: Known | None = None,
    last: bool = False,
) -> Step | ProtocolError:
    """The step with paths relative to the workspace, or a description of its faults. For an answer that is already faulty, the faults of
    its other calls are added.

    `native`: the model calls tools. `calls`: number of calls, each of which gets a result. `known`: what the model was shown, which it may
    quote. `last`: in the last step of a turn, after which the targets are handed in whatever the answer is.
    """
    if isinstance(step, ProtocolError):
        also = [_checked(action, workspace) if action is not None else None for action in step.actions]
        told = [in_calls(each) if isinstance(each, ProtocolError) else "" for each in also] or [""] * len(step.calls)
        every = tuple(before or now for before, now in zip(step.calls, told, strict=True))
        return replace(step, text=next(filter(None, every), step.text), calls=every)
    fault = _order(step.actions)
    if not fault and step.outside:
        known = _with_targets(known or Known(), workspace).also(_read(workspace, step.outside))
        fault = lost(step, known, native=native, last=last)
    if fault:
        return ProtocolError(text=fault, calls=(fault, *[AS_A_WHOLE] * (calls - 1)) if calls else ())
    made = [_checked(action, workspace) for action in step.actions]
    wrong = [(in_calls if native else in_text)(each) if isinstance(each, ProtocolError) else "" for each in made]
    if not any(wrong):
        return replace(step, actions=tuple(each for each in made if isinstance(each, Action)))
    return ProtocolError(text=next(filter(None, wrong)), calls=tuple(wrong) if calls == len(wrong) else ())


def lost(step: Step, known: Known, *, native: bool, last: bool = False) -> str:
    """A description of code outside the actions that would be lost whatever the actions do; "" if there is none."""
    known = _with_actions(known, step)
    if (found := lost_file(step.outside, step.actions, known)) is not None:
        code, line = found
        if code.change:
            return (
                f"The change of {code.path[:200] or 'a file'} outside of your actions would be lost: `{line[:80]}` is in no action, and in no file "
                "that you were shown. Nothing was done. Change the file with `edit`, which replaces the text `old` by the text `new`."
            )
        how = f"Write it with the tool `write` or `edit`{', or run the command with `run`' if _commanded(step.outside) else ''}."
        return (
            f"The code outside of your actions that names the file {code.path[:200]} would be lost: no action writes that file, and "
            f"`{line[:80]}` is in no file that you were shown. Nothing was done. {how if native else to_write(code.path)} To quote code of your own, "
            "leave the name of the file out."
        )
    if last or step.actions[-1].kind != "submit" or any(FORMS[each.kind].changes_files for each in step.actions):
        return ""
    line = lost_code(step.outside, known)
    return f"{_submission_fault(line)} Nothing was done." if line else ""


def _commanded(found: Sequence[Code]) -> bool:
    return any(code.command for code in found)


def _read(workspace: Workspace, found: Sequence[Code]) -> list[str]:
    """The texts of the files that pieces of code name, as far as they exist."""
    texts = []
    for path in dict.fromkeys(code.path for code in found if code.path):
        try:
            texts.append(workspace.read(path))
        except Refused:
            continue
    return texts


def refusal(step: Step, workspace: Workspace, known: Known, repo: Files, *, failed: int = 0, last: bool = False) -> str:
    """Why the targets as they are now are not handed in; "" if they are.

    Code outside of the actions is in none of them. Or another action of the answer did not do what it was for: a command failed (`failed`:
    the number of that action, 0 if there is none), or a target is not valid Python, or lacks what the `repo` defines in it: the text that was
    written may be a part of the file. Always "" in the `last` step of a turn, after which the targets are handed in anyway.
    """
    if last:
        return ""
    if line := _left_out(step, workspace, known):
        return _submission_fault(line)
    if failed:
        return (
            f"Action {failed} (`{step.actions[failed - 1].kind}`) failed, so the targets were not handed in. If they are as you mean "
            "them, answer with `submit` alone."
        )
    if any(FORMS[each.kind].changes_files for each in step.actions):
        for path, data in workspace.targets().items():
            text, delivered = (each.decode("utf-8", "replace") for each in (data, repo.get(path, b"")))
            if wrong := not_python(path, text):
                return f"{wrong}, and no hidden test could import it. Correct it, or answer with `submit` alone."
            if lost := lost_definitions(path, delivered, text):
                return (
                    f"{lost}, as the repository does: `write` replaces the whole file. Write what is missing, or"
                    " answer with `submit` alone if you mean it so."
                )
    return ""


def refusal_untouched(brief: Brief, targets: Files) -> str:
    """Why a first submission waits: nothing was written in targets. "" if there are none."""
    unwritten = untouched(brief.targets, targets, brief.repo)
    return f"{unwritten} Write your code there, or answer with `submit` again to hand it in so." if unwritten else ""


def note_of_loss(step: Step, workspace: Workspace, known: Known) -> str:
    """A note that the targets are handed in without code outside of the actions, after the last step of a turn. "" if none is lost."""
    line = _left_out(step, workspace, known)
    return f"\nNote: the code outside of your actions (`{line[:80]}`) is in no target." if line else ""


def _left_out(step: Step, workspace: Workspace, known: Known) -> str:
    """The first line of the code outside of the actions that the targets as they are now lack; "" if they have all of it."""
    if not step.outside:
        return ""
    return lost_code(step.outside, _with_targets(_with_actions(known, step), workspace))


def _with_targets(known: Known, workspace: Workspace) -> Known:
    return known.with_targets([data.decode("utf-8", "replace") for data in workspace.targets().values()])


def _with_actions(known: Known, step: Step) -> Known:
    return known.also(text for action in step.actions for text in action.arguments.values())


def _submission_fault(line: str) -> str:
    return (
        f"The code outside of your actions, in your text, reflection or planning (`{line[:80]}`), is in no target, and no action writes it: it would be lost. If it belongs to a "
        "target, write it with `write` or `edit`, then `submit`; otherwise `submit` without it."
    )


def _order(actions: Sequence[Action]) -> str:
    """A description of a fault in the order of the actions; "" if there is none."""
    kinds = [action.kind for action in actions]
    after = kinds[kinds.index("submit") :] if "submit" in kinds else []
    if set(after) <= {"submit"}:
        return ""
    other = next(kind for kind in after if kind != "submit")
    return f"`submit` ends the turn, but comes before `{other}` in your answer. Nothing was done. Make `submit` the last action."


def _checked(action: Action, workspace: Workspace) -> Action | ProtocolError:
    given = action.arguments
    if "path" in given and (path := in_workspace(given["path"])) != given["path"]:
        given = {**given, "path": path}
        action = replace(action, arguments=given)
    if (interface := _interface(action)) is not None:
        return wrong_use(
            action.kind,
            f"The text for {given['path'][:200]} is the correction of one interface (`interface={interface[:80]}`), and `write` replaces "
            "the whole file. Write the whole file without a code fence, or use `edit`.",
        )
    if action.kind == "write" and (form := _form_of_change(given["path"], given["text"])):
        return wrong_use(
            "edit", f"The text for {given['path'][:200]} is {form}, and `write` replaces the whole file. Use `edit`."
        )
    if not {"pattern", "path"} & given.keys():
        return action
    try:
        path = workspace.check(given.get("path", "."), given.get("pattern"))
    except Refused as refused:
        if action.kind == "grep" and "is no regular expression" in str(refused):  # models grep for `f(x`
            return _checked(replace(action, arguments={**given, "pattern": re.escape(given["pattern"])}), workspace)
        return wrong_use(action.kind, f"`{action.kind}`: {refused}.")
    return replace(action, arguments={**given, "path": path}) if given.get("path", "").startswith("/") else action


def _form_of_change(path: str, text: str) -> str:
    """The form in which a text describes changes of the file instead of its content; "" if it does not."""
    if SEARCH.match(text.lstrip().partition("\n")[0]):
        return "a search and replace block"
    return "" if path.endswith((".diff", ".patch")) else form_of_change(text)


def _interface(action: Action) -> str | None:
    """The interface that the code fence around a file's text names, as corrections in feedback do. The rest of the file would be lost."""
    if action.kind != "write" or not action.arguments["path"].endswith(".py"):
        return None
    first = FENCE.match(action.arguments["text"].lstrip().partition("\n")[0])
    return (interface_in(first["info"]) or None) if first is not None else None
