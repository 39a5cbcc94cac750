"""Validate a task: its reference must solve it, whatever the secret seed; nothing at all must not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random

from pytest_recode.feedback.audit import leaks_of
from pytest_recode.models.parts import broken
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.slots import emptied
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Outcome, Verdict, legible

SEEDS = 3
"""How many secret seeds the reference must pass: enough to show a careless tolerance, few enough for CI."""

CONSTANTS = {
    "an empty array": "return numpy.zeros((0, 1, 1))",
    "two empty arrays": "return numpy.zeros((0, 1, 1)), numpy.zeros((0, 1, 1))",
    "nan": "return float('nan')",
    "0.0": "return 0.0",
    "True": "return True",
    "None": "return None",
    "[]": "return []",
    "its first argument": "return args[0] if args else None",
    "ValueError": "raise ValueError('no')",
}
"""What a module that means nothing answers to every call. An empty array passes `==`, approx and np.testing against a scalar."""

_MODULE = """\
try:
    import numpy
except ImportError:
    numpy = None


def answer(*args, **named):
    {body}


class Answers:
    def __init__(self, *args, **named):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return answer

    __call__ = staticmethod(answer)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Answers if name[:1].isupper() else answer
"""


MUTANTS = 5
"""Slips made in the authors' lines of a part of a file, one at a time: enough to tell a blind test from one that sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Candidates that need no model, by name, and whether each must solve the task; None: what they do is counted."""

    name: str
    candidates: Callable[[Task, Parts], Mapping[str, Files]]
    must_solve: bool | None
    gradings: int = 1


CHECKS = (
    Check(
        name="reference",
        candidates=lambda _, parts: {"the reference": parts.reference},
        must_solve=True,
        gradings=SEEDS,
    ),
    Check(
        name="untouched",
        candidates=lambda task, parts: {
            "the untouched target": {path: parts.repo[path] for path in task.targets if path in parts.repo}
        },
        must_solve=False,
    ),
    Check(
        name="empty",
        candidates=lambda task, _: {"the empty target": dict.fromkeys(task.targets, b"")},
        must_solve=False,
    ),
    Check(
        name="constant",
        candidates=lambda task, _: {
            f"a target that answers {name} to everything": dict.fromkeys(
                task.targets, _MODULE.format(body=body).encode()
            )
            for name, body in CONSTANTS.items()
        },
        must_solve=False,
    ),
)


SLOT_CHECKS = (
    replace(CHECKS[0], gradings=1),  # it is compared with itself, whatever the seed
    Check(name="removed", candidates=lambda _, parts: {"the removed block": _removed(parts)}, must_solve=False),
    Check(name="mutants", candidates=lambda task, parts: _mutants(task, parts), must_solve=None),
)
"""For a task that asks for a part of a file: what the others try says nothing there."""


def checks(task: Task) -> tuple[Check, ...]:
    return SLOT_CHECKS if task.oracle.script else CHECKS


def _removed(parts: Parts) -> Files:
    slot = parts.slot
    assert slot is not None
    text = parts.repo[slot.path].decode("utf-8", "surrogateescape")
    return {slot.path: emptied(text, slot).encode("utf-8", "surrogateescape")}


def _mutants(task: Task, parts: Parts) -> dict[str, Files]:
    slot = parts.slot
    assert slot is not None
    made = [broken(parts, Random(f"{task.id}/{number}"), 1) for number in range(3 * MUTANTS)]
    untouched = parts.repo[slot.path].decode("utf-8", "replace")
    texts = [text for text in dict.fromkeys(made) if text is not None and text != untouched][:MUTANTS]
    return {f"slip {number}": {slot.path: text.encode()} for number, text in enumerate(texts, 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a check found; `problem` and `warning` are empty where all is as it must be. `seconds` is the slowest grading's.

    `noticed` and `tried` count mutants.
    """

    check: str
    problem: str
    warning: str
    seconds: float
    isolation: str
    noticed: int = 0
    tried: int = 0


def validate(task: Task, check: Check, sandbox: Sandbox, seed: int | None = None) -> Validation:
    """Grade the check's candidates. Raises `GraderError`, `SandboxError`, `UserError`."""
    parts = task.load()
    sandbox.ready(task.environment)
    problems, weak, seconds, noticed = [], [], 0.0, 0
    isolation = sandbox.isolation
    candidates = check.candidates(task, parts)
    for name, targets in candidates.items():
        for _ in range(1 if seed is not None else check.gradings):
            start = time.monotonic()
            verdict = judge(task, parts, targets, sandbox, seed=seed)
            seconds = max(seconds, time.monotonic() - start)
            isolation = verdict.isolation
            noticed += not verdict.solved
            if check.must_solve is not None and verdict.solved is not check.must_solve:
                problems.append(_problem(task, name, verdict))
                break
        passing = [case.id for case in verdict.cases if case.outcome is Outcome.PASSED]
        if passing and check.must_solve is False and not task.oracle.script:
            weak.append(f"{name} passes {', '.join(passing)}")
    if check.must_solve:
        weak += leaks_of(parts)
    return Validation(
        check=check.name,
        problem=legible("\n\n".join(problems)),
        warning="; ".join(weak),
        seconds=seconds,
        isolation=isolation,
        noticed=noticed if check.must_solve is None else 0,
        tried=len(candidates) if check.must_solve is None else 0,
    )


def _problem(task: Task, name: str, verdict: Verdict) -> str:
    if verdict.solved and task.oracle.script:
        return f"{task.id}: with {name} the tests pass: they say nothing of it (a weak oracle)."
    if verdict.solved:
        return (
            f"{task.id}: {name} solves the task: its tests say nothing. "
            "Add cases that only a right implementation passes."
        )
    failing = [case for case in verdict.cases if case.outcome is not Outcome.PASSED]
    told = "\n\n".join(f"{case.id} ({case.interface})\n{case.message}" for case in failing)
    if verdict.tampering:
        return f"{task.id}: the reference is taken for tampering: {'; '.join(verdict.tampering)}"
    return (
        f"{task.id}: the reference fails {len(failing)} of {len(verdict.cases)} cases with seed {verdict.seed} "
        f"(repeat it with --recode-seed={verdict.seed}). Mend the reference or its tests.\n\n{told}"
    )
