"""The first prompt of an episode, taken from the agent where it would call its model. Calls no model and starts no sandbox.

The agent, its context, the brief and the workspace are created as in an episode (`assembly.py`), so the prompt is that of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pytest_recode.agents import AgentKind
from pytest_recode.agents.prompt_parts import PromptPart, parts_of
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode.assembly import agent_context
from pytest_recode.faults import SandboxError
from pytest_recode.models import Message, Tool
from pytest_recode.models.prompt_size import CHARACTERS as CHARACTERS
from pytest_recode.sandboxes import Connection, Program
from pytest_recode.settings import Settings
from pytest_recode.task import Environment, Limits, Parts, Task, brief


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to a model. `tools`: () with the text protocol. The tokens of its `parts` are estimated at `CHARACTERS` each."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]
    parts: tuple[PromptPart, ...]


def first_prompt(task: Task, parts: Parts, kind: AgentKind, settings: Settings, *, native_tools: bool) -> Prompt:
    """What the agent sends first to a model that takes native tool calls, or to one that does not. The agent must be one that needs a model.

    `settings` are those of the episode (`as_played`), with the defaults of agent and format.
    """
    seen = brief(task, parts, paper=settings.paper)
    agent = kind.make(agent_context(task, settings, _Listener(native_tools=native_tools), lambda *_: None))
    workspace = SandboxWorkspace(_NoSandbox(), seen, task.environment, task.limits)
    try:
        agent.act(seen, None, workspace)
    except _Asked as asked:
        found = parts_of(asked.messages, asked.tools, seen)
        return Prompt(messages=asked.messages, tools=asked.tools, parts=found)
    raise AssertionError("the agent made its first turn without a model")


class _Asked(BaseException):
    """The agent called its model. Not an `Exception`, so that no agent handles it."""

    def __init__(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> None:
        super().__init__()
        self.messages = messages
        self.tools = tools


@dataclass(slots=True, kw_only=True)
class _Listener:
    """A `Model` that answers nothing: it raises `_Asked` with the first request."""

    native_tools: bool
    name: str = "preview"
    simulated: bool = False

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[Tool] = (), schema: Mapping[str, Any] | None = None
    ) -> NoReturn:
        raise _Asked(tuple(messages), tuple(tools))


@dataclass(slots=True, kw_only=True)
class _NoSandbox:
    """A `Sandbox` for a workspace in which nothing is done: before the first call of a model, an agent only asks for the targets."""

    name: str = "none"
    isolation: str = "separate"
    host: str = ""
    memory_limit: str = ""

    def ready(self, environment: Environment) -> None:
        pass

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        raise SandboxError("the agent used its workspace before its first call of a model")

    def close(self) -> None:
        pass
