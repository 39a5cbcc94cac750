"""Judges what a task's own solution leaves, or nothing at all, step by step if the task has steps. Runs on the host, without an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_recode.oracle.step_verdicts import joined, next_begins, task_of
from pytest_recode.oracle.verifier import (
    SHARED,
    Script,
    can_share,
    files_after,
    judge_verifier,
    judged_in_one,
    preparing,
    solving,
    verdict_of,
    verifying,
)
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stretch:
    """A step, or the whole of a task that has none: the scripts that prepare it, and the task that judges it."""

    task: Task
    parts: Parts
    scripts: tuple[Script, ...]


def judge_solution(
    task: Task, parts: Parts, sandbox: Sandbox, *, seed: int, solved: bool = True, shared: bool = False
) -> Verdict:
    """The verdict on the solution, or on an agent that does nothing (not `solved`). `shared`: in the sandbox where it ran, if the task allows.

    Raises `GraderError` and `SandboxError`, as `judge_verifier` does.
    """
    stretches = _stretches(task, parts, solved)
    in_one = shared and all(can_share(stretch.task) for stretch in stretches)
    verdicts = (_in_one if in_one else _apart)(task, stretches, sandbox, seed)
    if not task.oracle.steps:
        return next(verdicts)
    verdict: Verdict | None = None
    for index, own in enumerate(verdicts):
        verdict = joined(task.oracle, index, own, verdict)
        if not next_begins(task.oracle.steps[index], own):
            break
    assert verdict is not None
    return verdict


def _stretches(task: Task, parts: Parts, solved: bool) -> list[_Stretch]:
    before: list[tuple[Task, Parts, Sequence[Script]]] = [
        (task_of(task, step), step.load(), [preparing(task, step)]) for step in task.oracle.steps
    ]
    return [
        _Stretch(task=own, parts=contents, scripts=(*first, *([solving(own, contents)] if solved else [])))
        for own, contents, first in before or [(task, parts, [])]
    ]


def _apart(task: Task, stretches: Sequence[_Stretch], sandbox: Sandbox, seed: int) -> Iterator[Verdict]:
    over: Files = {}
    for stretch in stretches:
        if stretch.scripts:
            whole = replace(stretch.task, targets=task.targets)
            over = files_after(whole, stretch.scripts, sandbox, over)
        yield judge_verifier(stretch.task, stretch.parts, over, sandbox, seed=seed)


def _in_one(task: Task, stretches: Sequence[_Stretch], sandbox: Sandbox, seed: int) -> Iterator[Verdict]:
    scripts = [(stretch, script) for stretch in stretches for script in (*stretch.scripts, _judging(stretch))]
    done = judged_in_one(task, [script for _, script in scripts], sandbox)
    for (stretch, script), ran in zip(scripts, done, strict=True):
        if script["logs"]:
            yield replace(verdict_of(stretch.task, ran, seed), isolation=SHARED)


def _judging(stretch: _Stretch) -> Script:
    return verifying(stretch.task, stretch.parts)
