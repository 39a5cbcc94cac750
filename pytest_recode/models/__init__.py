"""Models: the LLMs that agents and the model researcher call. Nothing else calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pytest_recode.faults import ModelError
from pytest_recode.records.ledger_lines import Reach as Reach
from pytest_recode.task import Parts, Task
from pytest_recode.usage import CallDetails as CallDetails
from pytest_recode.usage import Timing as Timing
from pytest_recode.usage import TokenParts as TokenParts
from pytest_recode.usage import Usage as Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function a model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of a tool. `arguments` is the model's unparsed text, which should be JSON; the agent parses and checks it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    role: str  # "system" "user" "assistant" "tool"
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    opaque: str = ""  # of a reply, see there
    failed: bool = False  # of a tool's result: whether its call has failed, where that is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A model's answer. An empty text or a refusal is also an answer.

    `opaque`: further fields of the provider's message as a JSON object, such as signatures of its thinking; "" if there are none. Some
    providers refuse a later request unless the message with its tool calls has them.

    `thoughts`: text that the provider marks as thinking. It is recorded but not part of the answer.
    """

    text: str
    thoughts: str = ""
    opaque: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    parts: TokenParts = field(default_factory=TokenParts)
    finish: str = ""


class Model(Protocol):
    """An LLM. A model that knows its context window has a field `window: int | None`, in tokens; agents send shorter prompts without it.

    One whose requests limit the answer has a field `answer: int | None`, in tokens.
    """

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
        """Return one answer. `schema` requests JSON of that shape, which is not guaranteed: check it.

        Raises `ModelError` if the model cannot be called, and `BudgetSpent` if `--recode-max-cost` is reached.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """The answer to an agent's own request: in the dialect of the request, whole and as JSON, and the same as a `Reply`.

    `asked_model`: the model that the request named, which is not the one that answered.
    """

    answer: Mapping[str, Any]
    reply: Reply
    asked_model: str


class RelayedCall(Protocol):
    """An agent's request that is on its way. One thread may iterate over `events`; the one that plays the episode calls the rest."""

    @property
    def waits(self) -> bool:
        """Whether nothing is at the provider: the call waits for other calls, a rate limit or the budget."""

    def events(self) -> Iterator[object]:
        """What happens to the call, to its end: one event at least every 5 s. Raises nothing."""

    def take(self, event: object) -> Relayed | None:
        """Record an event; returns the answer if it has it. Raises what `Model.complete` raises, and `ValueError` with one line for a
        body that is no request of the dialect."""

    def leave(self) -> None:
        """End the call before its last event. A request that was sent is still booked with its answer. Raises `Stopped` if the run stops."""


@runtime_checkable
class Relaying(Protocol):
    """A model that also answers requests as agents of their own send them, in a dialect of `gateway/dialects/`."""

    def relay(self, dialect: str, body: Mapping[str, Any]) -> RelayedCall:
        """Send an agent's request, beside those that are on their way. `body` is its JSON. Raises `Stopped` if the run stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """One embedding vector for each text, all of the same length; their cosine measures similarity."""

    vectors: Sequence[Sequence[float]]
    usage: Usage


class Embedder(Protocol):
    name: str  # as the user wrote it

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed `texts`. Raises what `Model.complete` raises."""


class Ledger(Protocol):
    """The cost and the faults of the whole run, shared by all its workers."""

    def before_call(self, model: str) -> None:
        """Write the call's line to disk. Call it before each try: only the time of the last try counts for the episode.

        Raises `BudgetSpent` if `--recode-max-cost` is reached, `ModelError` for a known fatal fault, `RecordsError` if the file
        cannot be written, and `Stopped` (not an `Exception`) if the run stops.
        """

    def enter(self) -> None:
        """Call it before a request to the gateway, which writes the call's line. Raises `RecordsError` and `Stopped` as `before_call`."""

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Wrap the wait for an answer. Another thread that ends the episode calls `wake`, which must end the wait."""

    def spent(self, model: str, usage: Usage) -> None:
        """Write the tokens and the cost of this call to disk before returning."""

    def unanswered(self, model: str, why: str) -> None:
        """Write to disk that the last call got no answer, with the reason in one word. Raises what `before_call` raises."""

    def settle(self) -> None:
        """Call it when the last answer is in the transcript. Raises `Stopped` if the run stops, which waits for that."""

    def fault(self, error: ModelError) -> None:
        """Report a fatal fault to all workers."""

    def retry(self, error: ModelError, pause: float) -> None:
        """Record that a try failed with `error`, and that the next one starts after `pause` seconds."""

    def answered(self, model: str) -> bool:
        """Whether this model has answered in this run."""

    def reached(self, where: str, now: Reach) -> Reach:
        """Report to all workers whether `where` can be reached; returns the previous state. Only an answer ends `LOST`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayAddress:
    """Where a run's gateway listens: the path of a Unix socket; and the secret that its callers share."""

    socket: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a model: an episode, by its node id, and the number of its attempt. "" is the controlling process."""

    episode: str = ""
    attempt: int = 1


class CallObserver(Protocol):
    """What an episode records of the calls that the gateway makes for it. The gateway itself writes the run's ledger."""

    @property
    def turn(self) -> int:
        """The number of the turn that is being played; 0 outside of an episode."""

    @property
    def first_turn(self) -> str:
        """The key of the first turn that is being played for all episodes that share it; "" at other times."""

    def begin(self) -> None:
        """Call it before a request. Raises `RecordsError` and `Stopped` as `Ledger.before_call`."""

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Wrap the wait for the answer, as `Ledger.waiting`."""

    def tried(self) -> None:
        """The gateway has sent a request to the provider: the time until now was a wait."""

    def retry(self, error: ModelError, pause: float) -> None:
        """A request failed with `error`, and the next one starts after `pause` seconds."""

    def answered(self, model: str, usage: Usage, details: CallDetails) -> None:
        """The call has an answer."""

    def failed(self) -> None:
        """The call has no answer. Raises `Stopped` if the run stops, which waited for this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContext:
    """Arguments for creating a model, once for each episode (and once for a run's researcher).

    `seed`: the same for the same task, model and attempt. `task` and `parts`: None unless the model is registered with
    `needs_reference`, like the built-in simulated models, which break the reference and repair it.
    """

    name: str
    ledger: Ledger
    seed: str = ""
    api_base: str | None = None
    temperature: float | None = None
    call_seconds: float = 600.0
    max_cost: float | None = None  # of the whole run; if it is set, `check` rejects a model of unknown price
    table: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the user's own aliases, see models/table.py
    task: Task | None = None
    parts: Callable[[], Parts] | None = None
    gateway: GatewayAddress | None = None  # None if the run has none, because no model needs it
    caller: Caller = field(default_factory=Caller)
    observer: CallObserver | None = None  # of the calls that the gateway makes; None outside of an episode


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """A registered family of models, under an exact name or a prefix ending in `/`.

    `check`: called once for each run in the controlling process, before money is spent; raises `UserError` for an unknown name or a
    missing key. `glance`: a check that needs no gateway and takes no time, for misspelt names; returns a line for the user, or "". `gateway`: the models are called by the
    run's gateway. `offline`: built-in models that send no requests. `embedder`: creates the model of `--recode-search-model`; None
    if models of this kind cannot embed.
    `concurrent`: several episodes in threads of one process may use it at the same time (--recode-in-flight).
    """

    make: Callable[[ModelContext], Model]
    check: Callable[[ModelContext], None]
    glance: Callable[[ModelContext], str] | None = None
    gateway: bool = False
    offline: bool = False
    concurrent: bool = False
    needs_reference: bool = False
    embedder: Callable[[ModelContext], Embedder] | None = None
