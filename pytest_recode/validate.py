"""Validate a task: its reference must solve it, whatever the secret seed; nothing at all must not."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Outcome, Verdict

SEEDS = 3
"""How many secret seeds the reference must pass: enough to show a careless tolerance, few enough for CI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One candidate that needs no model, and whether it must solve the task."""

    name: str
    targets: Callable[[Task, Parts], Files]
    must_solve: bool
    gradings: int


CHECKS = (
    Check(name="reference", targets=lambda _, parts: parts.reference, must_solve=True, gradings=SEEDS),
    Check(
        name="untouched",
        targets=lambda task, parts: {path: parts.repo[path] for path in task.targets if path in parts.repo},
        must_solve=False,
        gradings=1,
    ),
    Check(name="empty", targets=lambda task, _: dict.fromkeys(task.targets, b""), must_solve=False, gradings=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a check found; `problem` is empty where all is as it must be. `seconds` is the slowest grading's."""

    check: str
    problem: str
    warning: str
    seconds: float
    verdicts: tuple[Verdict, ...]


def validate(task: Task, check: Check, sandbox: Sandbox, seed: int | None = None) -> Validation:
    """Grade the check's candidate. Raises `GraderError`, `SandboxError`, `UserError`."""
    parts = task.load()
    sandbox.ready(task.environment)
    targets = check.targets(task, parts)
    verdicts, seconds = [], 0.0
    for _ in range(1 if seed is not None else check.gradings):
        start = time.monotonic()
        verdicts.append(judge(task, parts, targets, sandbox, seed=seed))
        seconds = max(seconds, time.monotonic() - start)
    wrong = next((verdict for verdict in verdicts if verdict.solved is not check.must_solve), None)
    passing = [case.id for case in verdicts[0].cases if case.outcome is Outcome.PASSED]
    weak = "" if check.must_solve or not passing else f"passes though nothing was written: {', '.join(passing)}"
    return Validation(
        check=check.name,
        problem="" if wrong is None else _problem(task, check, wrong),
        warning=weak,
        seconds=seconds,
        verdicts=tuple(verdicts),
    )


def _problem(task: Task, check: Check, verdict: Verdict) -> str:
    if not check.must_solve:
        return (
            f"{task.id}: the {check.name} target solves the task: its tests say nothing. "
            "Add cases that only a right implementation passes."
        )
    failing = [case for case in verdict.cases if case.outcome is not Outcome.PASSED]
    told = "\n\n".join(f"{case.id} ({case.interface})\n{case.message}" for case in failing)
    return (
        f"{task.id}: the reference fails {len(failing)} of {len(verdict.cases)} cases with seed {verdict.seed} "
        f"(repeat it with --recode-seed={verdict.seed}). Mend the reference or its tests.\n\n{told}"
    )
