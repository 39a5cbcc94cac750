"""An agent that goes on in another process is the one that stopped: its next prompt is the same, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_recode.agents import Agent, AgentContext, AgentKind, one_shot, recode, recode_h
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import TESTS_SAID, Feedback
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Message, Model, Reply, Tool, Usage
from pytest_recode.records.checkpoint import Resumable
from pytest_recode.task import Brief, Slot
from tests.agents.conftest import Open
from tests.agents.scripted import Logged, Scripted, a_brief, calls
from tests.models.sim_example import PARTS, TASK, sim

COSTS = Usage(prompt_tokens=1, completion_tokens=1, cost_usd=0.25)


@dataclass
class Overheard:
    """A model, and the prompts of its calls as JSON. `deaf`: it cannot be asked any more."""

    model: Model
    prompts: list[str] = field(default_factory=list)
    deaf: bool = False

    def __post_init__(self) -> None:
        self.name, self.simulated, self.native_tools = self.model.name, True, self.model.native_tools

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), schema: Mapping[str, Any] | None = None
    ) -> Reply:
        asked = [
            (each.role, each.content, [str(call) for call in each.tool_calls], each.tool_call_id) for each in messages
        ]
        self.prompts.append(json.dumps([asked, [tool.name for tool in tools]]))
        if self.deaf:
            raise ModelError(ModelFault.SERVER, self.name, "not now")
        return self.model.complete(messages, tools=tools, schema=schema)

    def state(self) -> Mapping[str, Any]:
        return self.model.state() if isinstance(self.model, Resumable) else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        if isinstance(self.model, Resumable):
            self.model.restore(state)


def text(messages: Sequence[Message]) -> str:
    """Reads on, and says another thing each time."""
    return f"### Reflection\n{sum(len(each.content) for each in messages)}\n```bash\ncat README.md\n```"


def tool(messages: Sequence[Message]) -> Reply:
    return calls(("read", '{"path": "README.md"}'), ("list", "{}"), text=str(len(messages)))


def command(messages: Sequence[Message]) -> str:
    return f"reflect: {len(messages[-1].content)}\naction: READ README.md"


def code(messages: Sequence[Message]) -> str:
    return f"Here: {len(messages)}\n```python\nx = {len(messages[-1].content)}\n```"


def endless(answer: Callable[[Sequence[Message]], str | Reply], *, native: bool = False) -> Callable[[], Model]:
    return lambda: Scripted(iter([answer] * 100), native_tools=native)


SLOT = Slot(path="solver.py", start=1, stop=2, indent="    ")
SIM_BRIEF = a_brief(repo=PARTS.repo, targets=TASK.targets)
SETTINGS: list[tuple[AgentKind, Callable[[], Model], Brief]] = [
    (recode.KIND, endless(text), a_brief()),
    (recode.KIND, endless(tool, native=True), a_brief()),
    (recode.KIND, sim, SIM_BRIEF),
    (recode_h.KIND, endless(command), a_brief()),
    (recode_h.KIND, sim, SIM_BRIEF),
    (one_shot.KIND, endless(code), a_brief()),
    (one_shot.KIND, endless(lambda _: "no code"), a_brief()),
    (one_shot.KIND, endless(code), a_brief(slot=SLOT)),
    (one_shot.KIND, sim, SIM_BRIEF),
]
NAMES = (
    *("recode", "recode-tools", "recode-sim", "recode-h", "recode-h-sim"),
    *("one-shot", "one-shot-problems", "one-shot-slot", "one-shot-sim"),
)


def made(kind: AgentKind, model: Model) -> Agent:
    return kind.make(AgentContext(model=model, steps=3, turns=10, log=Logged(), memory_threshold=5, memory_keep=2))


def feedback(turn: int) -> Feedback:
    words = f"Feedback on turn {turn}, level L1.\nhidden tests: 2 of 4 fail.\n\nInterface: stats.mean\n"
    return Feedback(level=1, text=f"{words}\n{TESTS_SAID}\nFAILED test_{turn}\n", turn=turn)


def next_prompt(agent: Agent, model: Overheard, brief: Brief, workspace: SandboxWorkspace) -> str:
    model.deaf = True
    with pytest.raises(ModelError):
        agent.act(brief, feedback(2), workspace)
    return model.prompts[-1]


@pytest.mark.parametrize(("kind", "model", "brief"), SETTINGS, ids=NAMES)
def test_the_next_prompt_of_a_restored_agent_is_the_same(
    open_walled: Open, kind: AgentKind, model: Callable[[], Model], brief: Brief
) -> None:
    workspace = open_walled(files=brief.repo)
    first, second = Overheard(model()), Overheard(model())
    agent, other = made(kind, first), made(kind, second)
    for given in (None, feedback(1)):
        agent.act(brief, given, workspace)
    assert isinstance(agent, Resumable)
    assert isinstance(other, Resumable)
    state = json.loads(json.dumps(agent.state()))
    other.restore(state)
    assert json.loads(json.dumps(other.state())) == state
    assert next_prompt(other, second, brief, workspace) == next_prompt(agent, first, brief, workspace)
    fresh = Overheard(model())
    assert next_prompt(made(kind, fresh), fresh, brief, workspace) != first.prompts[-1]


@pytest.mark.parametrize(("kind", "brief"), [(module.KIND, SIM_BRIEF) for module in (recode, recode_h, one_shot)])
def test_a_restored_simulation_goes_on_as_it_would_have(open_walled: Open, kind: AgentKind, brief: Brief) -> None:
    workspaces = [open_walled(files=brief.repo) for _ in range(2)]
    agent, other = made(kind, sim("seed-4")), made(kind, sim("seed-4"))
    for given in (None, feedback(1)):
        agent.act(brief, given, workspaces[0])
    assert isinstance(agent, Resumable)
    assert isinstance(other, Resumable)
    other.restore(json.loads(json.dumps(agent.state())))
    workspaces[1].lay(workspaces[0].changes())
    moves = [each.act(brief, feedback(2), place) for each, place in zip((agent, other), workspaces, strict=True)]
    assert moves[0] == moves[1]
    assert workspaces[0].targets() == workspaces[1].targets()
