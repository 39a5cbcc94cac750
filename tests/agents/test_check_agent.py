"""check_agent passes the project's own agents, and each way of breaking the promise is found."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from pytest_recode.agents import (
    AgentContext,
    AgentKind,
    Refused,
    Workspace,
    noop,
    one_shot,
    recode,
    recode_h,
    reference,
)
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import BudgetSpent, ModelError, SandboxError
from pytest_recode.models import Message, Usage
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Brief
from pytest_recode.testing import check_agent
from tests.agents.scripted import Scripted


@pytest.mark.parametrize("kind", [recode.KIND, recode_h.KIND, one_shot.KIND, reference.KIND, noop.KIND])
def test_the_projects_own_agents_keep_to_it(kind: AgentKind, sandbox: Sandbox) -> None:
    check_agent(kind, sandbox)


def test_a_model_of_ones_own_is_played_too(walls: Sandbox) -> None:
    models: list[Scripted] = []

    def model() -> Scripted:
        models.append(Scripted(["```python\nx = 1\n```"] * 2))
        return models[-1]

    check_agent(one_shot.KIND, walls, model=model)
    assert [len(model.asked) for model in models] == [2, 1, 1]


ASK = [Message(role="user", content="?")]


class Mine:
    """A right agent, one way of breaking it at a time."""

    def __init__(self, context: AgentContext, breaks: Callable[[Mine, Workspace], Move] | None = None) -> None:
        self.context, self.breaks = context, breaks

    def act(self, brief: Brief, feedback: Feedback | None, workspace: Workspace) -> Move:
        if self.breaks is not None:
            return self.breaks(self, workspace)
        return self.right(workspace)

    def right(self, workspace: Workspace, steps: int = 1) -> Move:
        assert self.context.model is not None
        reply = self.context.model.complete(ASK)
        with contextlib.suppress(Refused):
            workspace.write("solver.py", "x = 1\n")
        return Move(steps=steps, usage=reply.usage)


def test_a_right_agent_of_ones_own_passes(walls: Sandbox) -> None:
    check_agent(Mine, walls)


def swallows(*faults: type[Exception]) -> Callable[[Mine, Workspace], Move]:
    def act(mine: Mine, workspace: Workspace) -> Move:
        try:
            return mine.right(workspace)
        except faults:
            return Move(usage=Usage())

    return act


def turns_into_another(mine: Mine, workspace: Workspace) -> Move:
    try:
        return mine.right(workspace)
    except ModelError as error:
        raise ValueError(str(error)) from error


def stumbles(mine: Mine, _: Workspace) -> Move:
    assert mine.context.model is not None
    return Move(steps=len(mine.context.model.complete(ASK).text.split()[0]))


def lets_refusals_pass(mine: Mine, workspace: Workspace) -> Move:
    assert mine.context.model is not None
    reply = mine.context.model.complete(ASK)
    workspace.write("solver.py", "x")
    return Move(usage=reply.usage)


def logs(**fields: object) -> Callable[[Mine, Workspace], Move]:
    def act(mine: Mine, workspace: Workspace) -> Move:
        mine.context.log("thought", fields)
        return mine.right(workspace)

    return act


@pytest.mark.parametrize(
    ("breaks", "words"),
    [
        (stumbles, "a model that answers nothing, turn 1: act() raised IndexError: list index out of range"),
        (lambda *_: None, "a model that answers nothing, turn 1: act() returned NoneType, not a Move"),
        (lambda mine, workspace: mine.right(workspace, 4), "turn 1: 4 steps, where 3 are allowed"),
        (
            lambda mine, workspace: Move(steps=mine.right(workspace).steps),
            "turn 1: the Move counts Usage(prompt_tokens=0,",
        ),
        (lets_refusals_pass, "a workspace that refuses everything: act() raised Refused: not as asked"),
        (swallows(SandboxError), "SandboxError was swallowed: let it pass, so that the episode ends as an error"),
        (swallows(ModelError), "ModelError was swallowed"),
        (swallows(BudgetSpent), "BudgetSpent was swallowed"),
        (turns_into_another, "ModelError was turned into ValueError: model check: rate-limit: too many"),
        (logs(path=object), "log('thought'): {'path': <class 'object'>} is not of plain JSON types"),
        (logs(time=3), "log('thought'): the field 'time' is the transcript's own"),
    ],
)
def test_a_broken_promise_is_named(breaks: Callable[[Mine, Workspace], Move], words: str, walls: Sandbox) -> None:
    with pytest.raises(AssertionError) as caught:
        check_agent(lambda context: Mine(context, breaks), walls)
    assert words in str(caught.value)
