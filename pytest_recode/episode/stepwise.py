"""Episodes of tasks that have several steps: which step a turn belongs to, and what the agent is told when one begins.

A step has the turns of an episode: it ends when its verifier's reward solves it, when the policy gives no more feedback, or after the
largest number of turns. The next one begins in the same workspace, unless the reward is less than the task asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_recode.agents import Agent
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback, Move, Policy, Researcher, Turn
from pytest_recode.episode.workspace_scripts import ran_in
from pytest_recode.oracle.step_verdicts import judged_step, next_begins, verdict_of_step
from pytest_recode.oracle.verifier import check_ended, preparing
from pytest_recode.task import Brief, Task, TaskStep

BEGINS = "Step {number} of {count} begins, in the same workspace. Its task:\n\n{instruction}"
GOES_ON = "Step {number} of {count} is not solved. Its task was:\n\n{instruction}\n\n{feedback}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The step of the next turn, from 0, and the step's turns so far, as those of an episode of this step alone."""

    index: int
    turns: tuple[Turn, ...] = ()


def position(steps: Sequence[TaskStep], turns: Sequence[Turn], policy: Policy, most: int) -> Position | None:
    """Where an episode is after `turns`, with at most `most` for each step; None if no step is left to play."""
    if not turns:
        return Position(index=0)
    index = judged_step(steps, turns[-1].verdict)
    own = [turn for turn in turns if judged_step(steps, turn.verdict) == index]
    alone = tuple(
        replace(turn, number=number, verdict=verdict_of_step(turn.verdict, steps[index].name))
        for number, turn in enumerate(own, 1)
    )
    last = alone[-1].verdict
    if not last.solved and len(alone) < most and policy(alone) is not None:
        return Position(index=index, turns=alone)
    if index + 1 == len(steps) or not next_begins(steps[index], last):
        return None
    return Position(index=index + 1)


def stepwise_policy(steps: Sequence[TaskStep], policy: Policy, most: int) -> Policy:
    """The policy of an episode of steps. The feedback with which a step begins has the level 0: it says nothing about an answer."""

    def level(turns: Sequence[Turn]) -> int | None:
        at = position(steps, turns, policy, most)
        if at is None:
            return None
        return policy(at.turns) if at.turns else 0

    return level


def stepwise_researcher(
    steps: Sequence[TaskStep], policy: Policy, most: int, researcher_of: Callable[[int], Researcher]
) -> Researcher:
    """Feedback on a step's turns by the step's own researcher, below the step's instruction; that alone when a step begins."""

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        at = position(steps, turns, policy, most)
        assert at is not None  # or the policy would have ended the episode
        words = {"number": at.index + 1, "count": len(steps)}
        if not at.turns:
            text = BEGINS.format(**words, instruction=steps[at.index].load().instruction.strip())
            return Feedback(turn=len(turns), level=level, source="task", text=text)
        feedback = replace(researcher_of(at.index)(at.turns, level), turn=len(turns))
        if at.index == 0:
            return feedback
        instruction = steps[at.index].load().instruction.strip()
        return replace(feedback, text=GOES_ON.format(**words, instruction=instruction, feedback=feedback.text))

    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class StepwiseAgent:
    """An agent whose workspace is prepared for a step before its first turn. `at`: where the episode is."""

    agent: Agent
    task: Task
    workspace: SandboxWorkspace
    at: Callable[[], Position | None]

    def act(self, brief: Brief, feedback: Feedback | None, workspace: object) -> Move:
        at = self.at()
        if at is not None and not at.turns:
            script = preparing(self.task, self.task.oracle.steps[at.index])
            check_ended(self.task, script, ran_in(self.workspace, script))
        return self.agent.act(brief, feedback, self.workspace)
