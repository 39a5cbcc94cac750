"""Runs scripts of a task in the agent's own workspace, where their verdicts are weaker: `isolation: verifier-shared`. Runs on the host."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_recode.agents import Refused
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.oracle.verifier import SHARED, Script, check_ended, refusal, solving, verdict_of, verifying
from pytest_recode.task import Parts, Task
from pytest_recode.verdict import Verdict


def ran_in(workspace: SandboxWorkspace, script: Script) -> Mapping[str, Any]:
    """How a script of the task ended in the agent's workspace. Raises `GraderError` if it cannot be run."""
    try:
        return workspace.script(script)
    except Refused as refused:
        raise refusal(script, refused) from None


def judged_in(workspace: SandboxWorkspace, task: Task, parts: Parts, seed: int | None) -> Verdict:
    """The verdict of the task's verifier. Raises `GraderError` if it ends without one."""
    ran = ran_in(workspace, verifying(task, parts))
    return replace(verdict_of(task, ran, secrets.randbits(48) if seed is None else seed), isolation=SHARED)


def solve_in(workspace: SandboxWorkspace, task: Task, parts: Parts) -> None:
    """Run the task's solution. Raises `GraderError` if it does not end in time."""
    script = solving(task, parts)
    check_ended(task, script, ran_in(workspace, script))
