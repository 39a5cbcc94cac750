"""Models: they answer messages. An agent's private affair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_recode.faults import ModelError
from pytest_recode.records.ledger import Reach as Reach
from pytest_recode.task import Parts, Task
from pytest_recode.usage import Usage as Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`arguments` is the model's own text, to be parsed as JSON by whoever trusts it least."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: str  # "system" "user" "assistant" "tool"
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said. An empty text or a refusal is an answer too.

    `thoughts` are what a provider tells apart as thinking; they are recorded, and are no part of the answer.
    """

    text: str
    thoughts: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish: str = ""


class Model(Protocol):
    """One that knows its context window says so in a field `window: int | None`, in tokens; without it, agents use less of it."""

    name: str  # as the user wrote it
    simulated: bool
    native_tools: bool

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """One answer; `schema` asks for JSON of that shape (best effort: check it).

        Raises `ModelError` where the model cannot be asked, `BudgetSpent` where the run may pay for no more calls.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A vector per text, all of one length; the cosine of two tells how much they speak of the same."""

    vectors: Sequence[Sequence[float]]
    usage: Usage


class Embedder(Protocol):
    name: str  # as the user wrote it

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises what `Model.complete` raises."""


class Ledger(Protocol):
    """What the whole run has spent, over all its workers."""

    def before_call(self, model: str) -> None:
        """To be called before each try of a call: the episode's clock counts the last one, and not those before it.

        Have the call's line on disk. Raises `BudgetSpent` where the run may pay for no more calls, `ModelError` where a fatal
        fault is known, `RecordsError` where nothing can be written, `Stopped` (no `Exception`) where the run stops.
        """

    def spent(self, model: str, usage: Usage) -> None:
        """Have this call's tokens and cost on disk before returning."""

    def unanswered(self, model: str, why: str) -> None:
        """Have on disk that the last call got no answer, and why, in a word. Raises what `before_call` raises."""

    def settle(self) -> None:
        """The last answer is in the transcript. Raises `Stopped` in a run that stops, which waited for that."""

    def fault(self, error: ModelError) -> None:
        """Let every worker know of a fatal fault."""

    def retry(self, error: ModelError, pause: float) -> None:
        """A try failed by `error`; the next one follows after `pause` seconds."""

    def answered(self, model: str) -> bool:
        """Whether this model has answered in this run."""

    def reached(self, where: str, now: Reach) -> Reach:
        """Let every worker know whether `where` can be reached; what was known before. Only an answer ends `LOST`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContext:
    """What a model is made with, once per episode (and once for a run's researcher).

    `seed` is the same for the same task, model and attempt. `task` and `parts` are None but for a model
    registered with `needs_reference` (the built-in simulation, which breaks the reference and repairs it).
    """

    name: str
    ledger: Ledger
    seed: str = ""
    api_base: str | None = None
    temperature: float | None = None
    call_seconds: float = 600.0
    max_cost: float | None = None  # of the whole run; a `check` refuses a model of unknown price under it
    table: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the user's own aliases, see models/table.py
    task: Task | None = None
    parts: Callable[[], Parts] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """How a family of models is registered, under its exact name or a prefix ending in `/`.

    `check` is called once per run with the context (before anything is spent, in the controlling process) and raises
    `UserError`: unknown name, missing key. `offline` models are the project's own and ask nobody. `embedder` makes what
    `--recode-search-model` names; None: models of this kind make no vectors.
    """

    make: Callable[[ModelContext], Model]
    check: Callable[[ModelContext], None]
    offline: bool = False
    needs_reference: bool = False
    embedder: Callable[[ModelContext], Embedder] | None = None
