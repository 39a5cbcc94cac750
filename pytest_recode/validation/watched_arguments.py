"""Watch the arguments that hidden tests hand to the reference: whether they keep the task's invariants, and what extreme values of them do."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recode.program.interfaces import file_of, module_of, path_within
from pytest_recode.sandboxes import shipping
from pytest_recode.task import Files, Task
from pytest_recode.verdict import Verdict

_FINDING = "ArgumentFinding"
_WATCH = """

exec(compile({source!r}, "<recode>", "exec"), _recode_watch := {{"__name__": "recode_watch"}})
_recode_watch["watch"](globals(), {names!r}, {module!r}, {invariants!r}, {seed!r})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentFindings:
    """A line for each argument that contradicts an invariant of the task, and for each extreme value that the reference does not stand."""

    contradictions: tuple[str, ...] = ()
    extremes: tuple[str, ...] = ()


def watching(task: Task, reference: Files, seed: int) -> Files:
    """The reference's targets, with the program that watches the calls of their interfaces."""
    watched = {}
    for path, code in reference.items():
        names = [".".join(path_within(name, path)) for name in task.interfaces if file_of(name, task.targets) == path]
        text = _WATCH.format(
            source=shipping.source("probes.argument_watch"),
            names=names,
            module=module_of(path),
            invariants=[(invariant.of, invariant.holds) for invariant in task.invariants],
            seed=f"{seed}/{path}",
        )
        watched[path] = code + text.encode() if names else code
    return watched


def findings_of(verdict: Verdict) -> ArgumentFindings:
    """What the verdict of a watched reference shows, each once, with the first case that showed it."""
    shown: dict[str, dict[str, str]] = {"contradiction": {}, "extreme": {}}
    for case in verdict.cases:
        if case.exception is not None and case.exception.type.rpartition(".")[2] == _FINDING:
            kind, _, text = case.exception.message.partition(": ")
            shown[kind].setdefault(text, case.id)
    return ArgumentFindings(
        contradictions=tuple(
            f"{text} ({case}): hand in a consistent object, or correct `invariants` in the manifest"
            for text, case in shown["contradiction"].items()
        ),
        extremes=tuple(
            f"the reference admits {text} ({case}): refuse it there, say in the brief what holds, or exclude it by `invariants`"
            for text, case in shown["extreme"].items()
        ),
    )
