"""A deterministic model, an ordinary implementation of the public protocol, and a small brief to work on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.agents import AgentContext, text_form
from pytest_recode.agents.actions import Action, Step
from pytest_recode.models import Message, Model, Reply, Tool, ToolCall, Usage
from pytest_recode.task import Brief, Files

USAGE = Usage(prompt_tokens=100, completion_tokens=10, cost_usd=0.5)
REPO: Files = {
    "solver.py": b"def solve(x):\n    raise NotImplementedError\n",
    "lib/helpers.py": b"def double(x):\n    return 2 * x\n",
    "README.md": b"# A repository\n",
}

Answer = str | Reply | Callable[[Sequence[Message]], "str | Reply"]


@dataclass
class Scripted:
    """Gives its answers in order; `asked` holds the messages of each call. A call beyond the script fails the test."""

    answers: Iterable[Answer]
    native_tools: bool = False
    name: str = "scripted"
    simulated: bool = False
    window: int | None = None
    asked: list[list[Message]] = field(default_factory=list)
    tools: list[Sequence[Tool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = iter(self.answers)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        assert schema is None
        self.asked.append(list(messages))
        self.tools.append(tools)
        answer = next(self._left)
        if callable(answer):
            answer = answer(messages)
        return Reply(text=answer, usage=USAGE) if isinstance(answer, str) else answer


@dataclass
class Logged:
    """A transcript in memory; every line must be plain JSON."""

    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, kind: str, fields: Mapping[str, Any]) -> None:
        assert plain(fields), fields
        self.lines.append((kind, dict(fields)))

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.lines if name == kind]


def plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    if type(value) is list:
        return all(map(plain, value))
    return value is None or type(value) in (str, int, float, bool)


def a_brief(repo: Files = REPO, targets: tuple[str, ...] = ("solver.py",), **fields: Any) -> Brief:
    given = {"paper": "The paper says: solve(x) is 2 x.", "instruction": "Write solve(x).", **fields}
    return Brief(task="double", title="Doubling", repo=repo, targets=targets, interfaces=("solver.solve",), **given)


def a_context(model: Model | None, *, steps: int = 3, turns: int = 10, log: Logged | None = None) -> AgentContext:
    return AgentContext(model=model, steps=steps, turns=turns, log=log or Logged())


def calls(*pairs: tuple[str, str], text: str = "") -> Reply:
    """Native tool calls: (name, arguments as the model's own text)."""
    made = [ToolCall(id=f"id-{number}", name=name, arguments=text) for number, (name, text) in enumerate(pairs)]
    return Reply(text=text, tool_calls=tuple(made), usage=USAGE)


Act = str | tuple[str, Mapping[str, Any]]
"""An action: its kind, with its arguments unless it has none."""


def acts(*wishes: Act, text: str = "") -> Reply:
    """Native tool calls with right JSON."""
    pairs = [(each, {}) if isinstance(each, str) else each for each in wishes]
    return calls(*((kind, json.dumps(dict(arguments))) for kind, arguments in pairs), text=text)


def answer(*wishes: Act, native: bool, text: str = "") -> Reply | str:
    """The same actions of a model with native tools, and of one without them: Markdown. `text` stands before them."""
    if native:
        return acts(*wishes, text=text)
    pairs = [(each, {}) if isinstance(each, str) else each for each in wishes]
    made = tuple(Action(kind=kind, arguments=arguments) for kind, arguments in pairs)
    return "\n\n".join(filter(None, [text, text_form.render(Step(actions=made))]))
