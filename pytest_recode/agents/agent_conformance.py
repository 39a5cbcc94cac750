"""What every agent keeps to, as a check to be run on yours (`pytest_recode.testing.check_agent`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pytest_recode.agents import Agent, AgentContext, AgentKind, CommandResult, Refused, Workspace
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, SandboxError
from pytest_recode.models import Message, Model, Reply, Tool, ToolCall, Usage
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Brief, Environment, Files, Limits

STEPS = 3
REPO: Files = {"solver.py": b"def solve(x):\n    raise NotImplementedError\n", "helpers.py": b"TWO = 2\n"}
BRIEF = Brief(
    task="check",
    title="Doubling",
    instruction="Write solve(x), which returns 2 x.",
    paper=None,
    repo=REPO,
    targets=("solver.py",),
    interfaces=("solver.solve",),
)
FEEDBACK = Feedback(level=1, text="solver.solve fails.", turn=1)

ODD_ANSWERS: Mapping[str, Reply] = {
    "nothing": Reply(text=""),
    "a refusal": Reply(text="I'm sorry, I can't help with that."),
    "garbage": Reply(text="\x00\x1b[2J\udcff \ud800 ### ``` <<"),
    "two megabytes": Reply(text="x = 1\n" * 350_000),
    "a tool call that is no JSON": Reply(text="", tool_calls=(ToolCall(id="a", name="write", arguments="{oops"),)),
    "a call of no tool": Reply(text="", tool_calls=(ToolCall(id="a", name="fly", arguments="{}"),)),
}


def check_agent(
    agent: AgentKind | Callable[[AgentContext], Agent],
    sandbox: Sandbox,
    *,
    model: Callable[[], Model] | None = None,
) -> None:
    """Raises `AssertionError` where the agent breaks what `pytest_recode.agents.Agent` promises.

    It is played for two turns in `sandbox` with models that answer oddly, with `model` if given, with a workspace that
    refuses everything, with one that is gone, and with a model that cannot be asked.
    """
    kind = agent if isinstance(agent, AgentKind) else AgentKind(make=agent)
    if not kind.needs_model:
        _two_turns(kind, None, sandbox, "no model")
        return
    for what, reply in ODD_ANSWERS.items():
        _two_turns(kind, _Model(partial(_same, reply)), sandbox, f"a model that answers {what}")
    if model is not None:
        _two_turns(kind, model(), sandbox, "the model given")
    made = _Model(lambda: Reply(text="")) if model is None else model()
    _act(kind, made, _FaultyWorkspace(Refused("not as asked")), "a workspace that refuses everything")
    gone = _FaultyWorkspace(SandboxError("gone"))
    _passes_on(kind, _Model(lambda: Reply(text="")) if model is None else model(), gone, gone.fault)
    for fault in (ModelError(ModelFault.RATE_LIMIT, "check", "too many"), BudgetSpent("spent")):
        _passes_on(kind, _Model(_raiser(fault)), _FaultyWorkspace(None), fault)


@dataclass
class _Model:
    answer: Callable[[], Reply]
    name: str = "check"
    simulated: bool = True
    native_tools: bool = False
    asked: int = 0

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        assert messages, "the agent asked the model with no message at all"
        for message in messages:
            assert message.role in ("system", "user", "assistant", "tool"), f"a message of role {message.role!r}"
        self.asked += 1
        return self.answer()


@dataclass
class _Spent:
    """A model, and what its answers cost."""

    model: Model
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self.name, self.simulated = self.model.name, self.model.simulated
        self.native_tools = self.model.native_tools

    def complete(self, messages: Sequence[Message], **rest: Any) -> Reply:
        reply = self.model.complete(messages, **rest)
        if reply.usage == Usage():
            reply = Reply(
                text=reply.text,
                tool_calls=reply.tool_calls,
                usage=Usage(prompt_tokens=7, completion_tokens=3, cost_usd=0.25),
                finish=reply.finish,
            )
        self.usage += reply.usage
        return reply


@dataclass
class _FaultyWorkspace:
    """A workspace whose every action ends in `fault`, or does nothing."""

    fault: Exception | None
    touched: bool = False

    def _do(self) -> None:
        self.touched = True
        if self.fault is not None:
            raise self.fault

    def check(self, path: str = ".", pattern: str | None = None, seconds: float | None = None) -> str:
        return path

    def list(self, path: str = ".") -> tuple[str, ...]:
        self._do()
        return tuple(sorted(REPO))

    def read(self, path: str) -> str:
        self._do()
        return ""

    def grep(self, pattern: str, path: str = ".") -> tuple[str, ...]:
        self._do()
        return ()

    def write(self, path: str, text: str) -> None:
        self._do()

    def remove(self, path: str) -> None:
        self._do()

    def run(self, command: str, seconds: float | None = None) -> CommandResult:
        self._do()
        return CommandResult(status=0, output="")

    def targets(self) -> Files:
        if isinstance(self.fault, SandboxError):
            self._do()
        return {"solver.py": REPO["solver.py"]}


def _two_turns(kind: AgentKind, model: Model | None, sandbox: Sandbox, what: str) -> None:
    with SandboxWorkspace(sandbox, BRIEF, Environment(), Limits(command_seconds=20)) as workspace:
        agent = _make(kind, model)
        for number, feedback in ((1, None), (2, FEEDBACK)):
            _move(agent, feedback, workspace, f"{what}, turn {number}")
            targets = workspace.targets()
            assert set(targets) <= set(BRIEF.targets), f"{what}: targets() gave {sorted(targets)}"


def _act(kind: AgentKind, model: Model, workspace: Workspace, what: str) -> None:
    _move(_make(kind, model), None, workspace, what)


def _move(agent: tuple[Agent, _Spent | None], feedback: Feedback | None, workspace: Workspace, what: str) -> None:
    player, spent = agent
    before = spent.usage if spent is not None else Usage()
    try:
        move = player.act(BRIEF, feedback, workspace)
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{what}: act() raised {type(error).__name__}: {error}") from error
    assert isinstance(move, Move), f"{what}: act() returned {type(move).__name__}, not a Move"
    assert 0 <= move.steps <= STEPS, f"{what}: {move.steps} steps, where {STEPS} are allowed"
    if spent is not None:
        assert before + move.usage == spent.usage, (
            f"{what}: the Move counts {move.usage}, but the model's answers came to {spent.usage} after {before}"
        )


def _passes_on(kind: AgentKind, model: Model, workspace: _FaultyWorkspace, fault: Exception | None) -> None:
    assert fault is not None
    what = type(fault).__name__
    try:
        _make(kind, model)[0].act(BRIEF, None, workspace)
    except Exception as error:
        if error is fault:
            return
        raise AssertionError(f"{what} was turned into {type(error).__name__}: {error}") from error
    else:
        met = workspace.touched if isinstance(fault, SandboxError) else True
        assert not met, f"{what} was swallowed: let it pass, so that the episode ends as an error"


def _make(kind: AgentKind, model: Model | None) -> tuple[Agent, _Spent | None]:
    spent = _Spent(model) if model is not None else None
    context = AgentContext(
        model=spent,
        steps=STEPS,
        turns=2,
        log=_log,
        solution=(lambda: {"solver.py": b"def solve(x):\n    return 2 * x\n"}) if kind.needs_reference else None,
    )
    return kind.make(context), spent


def _log(kind: str, fields: Mapping[str, Any]) -> None:
    assert isinstance(kind, str), f"log() takes a kind of event and its fields, not {kind!r}"
    taken = {"event", "time"} & set(fields)
    assert not taken, f"log({kind!r}): the field {min(taken)!r} is the transcript's own"
    assert _plain(dict(fields)), f"log({kind!r}): {fields!r} is not of plain JSON types"


def _plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _plain(item) for key, item in value.items())
    if type(value) in (list, tuple):
        return all(map(_plain, value))
    return value is None or type(value) in (str, int, float, bool)


def _same(reply: Reply) -> Reply:
    return reply


def _raiser(fault: Exception) -> Callable[[], Reply]:
    def answer() -> Reply:
        raise fault

    return answer
