"""Judges one candidate as the task's oracle says: separate (`separate.py`), shared (`shared.py`) or by the task's verifier (`verifier.py`).

Runs on the host. `docs/explanation/oracle.md` describes how a verdict is reached.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from pytest_recode.oracle.kept_graders import KeptGraders
from pytest_recode.oracle.separate import Fresh, check_separate, judge_separate
from pytest_recode.oracle.shared import check_shared, judge_shared
from pytest_recode.oracle.verifier import check_verifier, judge_verifier
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict

__all__ = ["Fresh", "KeptGraders", "check", "judge"]


def judge(
    task: Task,
    parts: Parts,
    targets: Files,
    sandbox: Sandbox,
    *,
    seed: int | None = None,
    fresh: Fresh = Fresh.INTERFACE,
    stop_at_failure: bool = False,
    still_run: Collection[str] = (),
    only: Sequence[str] | None = None,
    graders: KeptGraders | None = None,
    shifted: str = "",
) -> Verdict:
    """Run the hidden tests against `targets` laid over the pristine repository.

    `seed` repeats a verdict; by default it is a new secret. `fresh`: when a new candidate process starts. What the
    tests of one interface reveal to a candidate (the expected loss as an argument, for example), it cannot use in the
    tests of another. `stop_at_failure`: after the first failed case the remaining cases fail without being run (a
    shared oracle runs all of them), except those whose ids are in `still_run`, which do not run either if a case was too slow. `only`: the ids of
    the cases to run, in this order; the others fail without being run (a shared oracle and a verifier run all of them). `graders`: the grader to use, and to leave
    for the next answer (not for a shared oracle); messages are only the exceptions then. `shifted`: the case of which one expected value is
    shifted, for an impossible twin (`impossible.py`; only a separate oracle has one).

    Raises `GraderError` where the tests give no verdict and `SandboxError` where a sandbox fails. Whatever the
    candidate does is a failed case.
    """
    chosen = secrets.randbits(48) if seed is None else seed
    if task.oracle.isolation == "shared":
        return judge_shared(task, parts, targets, sandbox, seed=chosen)
    if task.oracle.isolation == "verifier":
        return judge_verifier(task, parts, targets, sandbox, seed=chosen)
    return judge_separate(
        task,
        parts,
        targets,
        sandbox,
        seed=chosen,
        fresh=fresh,
        stop_at_failure=stop_at_failure,
        still_run=frozenset(still_run),
        only=only,
        graders=graders,
        shifted=shifted,
    )


def check(task: Task, parts: Parts, sandbox: Sandbox) -> None:
    """Check whether `task` can be judged here, before an agent works on it.

    Raises `UserError` where tests or reference import a module that is not installed, `GraderError` where the tests
    cannot give a verdict for another reason, `SandboxError` where a module that is loaded before the task's code is
    missing in its environment.
    """
    if task.oracle.isolation == "shared":
        check_shared(task, parts, sandbox)
    elif task.oracle.isolation == "verifier":
        check_verifier(task, sandbox)
    else:
        check_separate(task, parts, sandbox)
