"""`noop`: does nothing. What a task's untouched repository is worth."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recode.agents import ONE_STEP, AgentKind, Workspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.task import Brief


@dataclass(frozen=True, slots=True)
class Noop:
    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        return Move()


KIND = AgentKind(make=lambda _: Noop(), concurrent=True, needs_model=False, offline=True, fixes=ONE_STEP)
