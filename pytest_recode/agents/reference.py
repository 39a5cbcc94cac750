"""`reference`: writes what the authors wrote. Whether a task can be solved, and what that costs without a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pytest_recode.agents import ONE_STEP, Agent, AgentContext, AgentKind, Refused, Workspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.task import REMOVED, Brief, Files, removed_files


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAgent:
    solution: Callable[[], Files]

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        files = self.solution()
        for path in removed_files(files):
            with suppress(Refused):  # an earlier step removed it
                workspace.remove(path)
        for path, data in files.items():
            if path == REMOVED:
                continue
            # surrogateescape: a workspace writes it back to the very bytes, whatever the file's encoding
            workspace.write(path, data.decode("utf-8", "surrogateescape"))
        return Move()


def make(context: AgentContext) -> Agent:
    if context.solution is None:
        raise ValueError("the agent 'reference' is made without a solution: register it with needs_reference=True")
    return ReferenceAgent(solution=context.solution)


KIND = AgentKind(make=make, concurrent=True, needs_model=False, needs_reference=True, offline=True, fixes=ONE_STEP)
