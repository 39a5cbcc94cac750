"""Grade one answer, and give the feedback of every level on it, as an episode without a feedback model would. Called by `pytest-recode preview`.

For the task's author: verdict and cuts quote the hidden tests and the reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recode.episode import Feedback, Move, Turn
from pytest_recode.feedback.audit import MARK as MARK
from pytest_recode.feedback.audit import CutPassage, cuts, secrets
from pytest_recode.feedback.levels import LEVELS
from pytest_recode.oracle.judge import judge
from pytest_recode.researchers.researcher import drafted, researcher
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedAnswer:
    """`feedback` has one for each level, or none if the answer is right. `cuts`: the passages that the audit removed from it."""

    verdict: Verdict
    feedback: tuple[Feedback, ...] = ()
    cuts: tuple[CutPassage, ...] = ()


def graded(task: Task, parts: Parts, targets: Files, sandbox: Sandbox, *, seed: int | None = None) -> GradedAnswer:
    """Grade `targets` once, as the first turn of an episode. `sandbox` is ready. Raises `GraderError`, `SandboxError`, `UserError`."""
    verdict = judge(task, parts, targets, sandbox, seed=seed)
    if verdict.solved:
        return GradedAnswer(verdict=verdict)
    turn = Turn(number=1, feedback=None, move=Move(), verdict=verdict, targets=targets)
    answer = researcher(task, parts)
    return GradedAnswer(
        verdict=verdict,
        feedback=tuple(answer([turn], level) for level in LEVELS),
        cuts=cuts(drafted(task, parts, turn, parts.feedback or {}), secrets(parts, task.oracle), targets),
    )
