"""What every command-line agent keeps to, as a check to be run on yours (`pytest_recode.testing.check_command_line_agent`)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.agents import AgentContext, InstalledProgram
from pytest_recode.agents.agent_conformance import BRIEF
from pytest_recode.agents.command_line import CommandLineAgent
from pytest_recode.agents.command_line.program_player import ProgramPlayer, kind_of
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback
from pytest_recode.faults import ModelError, ModelFault, ProgramError
from pytest_recode.gateway.agent_call import AgentCall
from pytest_recode.gateway.dialects import DIALECTS, messages_of
from pytest_recode.models import Relayed, Reply, Usage
from pytest_recode.models.chat_format import completion
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment, Limits

SECONDS = 120.0
"""Limit of one turn: the programs are of hundreds of megabytes, and machines differ."""


def check_command_line_agent(
    agent: CommandLineAgent, sandbox: Sandbox, program: InstalledProgram | None = None
) -> None:
    """Raises `AssertionError` where the program does not play as an episode needs it.

    It plays three turns in `sandbox` with a model that only answers, the last of them in a new workspace with the stored session, if another
    process can continue it; then a turn in which the model cannot be asked. `program`: by default, the pinned version, which is installed. litellm must be installed.
    """
    needs = kind_of(agent).program
    assert needs is not None
    program = program or needs.find(print)

    def workspace() -> SandboxWorkspace:
        limits = needs.beside(Limits(command_seconds=20))
        return SandboxWorkspace(sandbox, BRIEF, Environment(), limits, shown=(str(program.shown),))

    model = _Answering()
    player = _player(agent, program, model)
    with workspace() as first:
        _turn(player, 1, first)
        assert model.prompts, "the program asked its model nothing in its first turn"
        if agent.later is None and not agent.stays:
            return
        assert player.stays == agent.stays, "the program ended with its first turn, although it is one that stays"
        _turn(player, 2, first)
        _continues(model, 1)
        if not player.loads:
            _ends(player, 3, first)
            return
    state = json.loads(json.dumps(player.state()))
    assert state["files"], f"nothing of its session was found in {', '.join(agent.session) or 'no path'}"
    player = _player(agent, program, model)
    player.restore(state)
    with workspace() as second:
        _ends(player, 3, second)


def _ends(player: ProgramPlayer, number: int, workspace: SandboxWorkspace) -> None:
    """A third turn continues the two before, and the next one has no model."""
    model = player.model
    assert isinstance(model, _Answering)
    _turn(player, number, workspace)
    _continues(model, *range(1, number))
    model.fault = ModelError(ModelFault.RATE_LIMIT, "check", "too many requests")
    raised: Exception | None = None
    try:
        _act(player, number + 1, workspace)
    except ModelError as error:
        raised = error
    assert raised is model.fault, f"a turn whose model could not be asked ended with {raised or 'no error'}"


@dataclass(slots=True)
class _Answering:
    """Answers every request with a text that names the turn."""

    turn: int = 0
    prompts: list[str] = field(default_factory=list)  # of this turn
    fault: ModelError | None = None

    def relay(self, dialect: str, body: Mapping[str, Any]) -> _Answered:
        self.prompts.append("\n".join(message.content for message in messages_of(dialect, body)))
        if self.fault is not None:
            raise self.fault
        reply = Reply(text=_answer(self.turn), finish="stop", usage=Usage(prompt_tokens=7, completion_tokens=3))
        call = AgentCall(DIALECTS[dialect], body, None)
        answer = call.with_answer(completion("model", reply))["answer"]
        return _Answered(Relayed(answer=answer, reply=reply, asked_model=""))


@dataclass(frozen=True, slots=True)
class _Answered:
    """A call that is kept waiting once, and then answered."""

    relayed: Relayed
    waits: bool = False

    def events(self) -> Iterator[object]:
        yield from (False, True)

    def take(self, event: object) -> Relayed | None:
        return self.relayed if event else None

    def leave(self) -> None: ...


def _answer(turn: int) -> str:
    return f"I have finished my work of turn {turn}, and there is nothing left to do in it."


def _player(agent: CommandLineAgent, program: InstalledProgram, model: _Answering) -> ProgramPlayer:
    context = AgentContext(model=None, steps=20, turns=9, log=lambda *_: None, program=program, agent_seconds=SECONDS)
    return ProgramPlayer(agent=agent, program=program, context=context, model=model)


def _turn(player: ProgramPlayer, number: int, workspace: SandboxWorkspace) -> None:
    try:
        _act(player, number, workspace)
    except ProgramError as error:
        raise AssertionError(str(error)) from error


def _act(player: ProgramPlayer, number: int, workspace: SandboxWorkspace) -> None:
    model = player.model
    assert isinstance(model, _Answering)
    model.turn, model.prompts = number, []
    feedback = None if number == 1 else Feedback(level=1, text=f"Check {number} fails.", turn=number - 1)
    move = player.act(BRIEF, feedback, workspace)
    assert not move.stopped, f"turn {number} was ended by a limit: {move.stopped}"
    assert move.steps == len(model.prompts), f"turn {number}: {move.steps} steps, and {len(model.prompts)} requests"


def _continues(model: _Answering, *turns: int) -> None:
    for turn in turns:
        assert any(_answer(turn) in prompt for prompt in model.prompts), (
            f"in turn {model.turn}, no request had the answer of turn {turn}: the session was not continued"
        )
