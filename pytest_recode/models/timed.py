"""Wrap models and embedders so that their time counts for an episode's time limit.

A model calls `Ledger.before_call` before each try, so that the clock counts only the last try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recode.clock import Clock
from pytest_recode.models import Embedded, Embedder, Message, Model, Relayed, RelayedCall, Relaying, Reply, Tool


class TimedEmbedder:
    def __init__(self, embedder: Embedder, clock: Clock) -> None:
        self._embedder, self._clock = embedder, clock
        self.name = embedder.name

    def embed(self, texts: Sequence[str]) -> Embedded:
        with self._clock.asking(self.name):
            return self._embedder.embed(texts)


class TimedCall:
    """A `RelayedCall` that is timed. Several may be open at the same time."""

    def __init__(self, send: Callable[[], RelayedCall], clock: Clock, model: str) -> None:
        self._clock = clock
        self._asked = clock.ask(model)
        try:
            self._call = send()
        except BaseException:
            clock.end(self._asked, counts=False)
            raise

    @property
    def waits(self) -> bool:
        return self._call.waits

    def events(self) -> Iterator[object]:
        return self._call.events()

    def take(self, event: object) -> Relayed | None:
        try:
            with self._clock.about(self._asked):
                answer = self._call.take(event)
        except BaseException:
            self._clock.end(self._asked, counts=False)
            raise
        if answer is not None:
            self._clock.end(self._asked, counts=True)
        return answer

    def leave(self) -> None:
        self._clock.end(self._asked, counts=True)  # the agent was at work meanwhile
        self._call.leave()


class TimedModel:
    """A model whose calls are timed. All other attributes are those of the wrapped model."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self._model, self._clock = model, clock
        self.name, self.simulated, self.native_tools = model.name, model.simulated, model.native_tools
        if isinstance(model, Relaying):
            self.relay = self._relayed(model)

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        with self._clock.asking(self.name):
            return self._model.complete(messages, tools=tools, schema=schema)

    def _relayed(self, model: Relaying) -> Callable[[str, Mapping[str, Any]], RelayedCall]:
        """`Relaying.relay`, which only models have that relay."""
        return lambda dialect, body: TimedCall(lambda: model.relay(dialect, body), self._clock, self.name)

    def state(self) -> Mapping[str, Any]:
        state = getattr(self._model, "state", None)
        found: Mapping[str, Any] = state() if state is not None else {}
        return found

    def restore(self, state: Mapping[str, Any]) -> None:
        restore = getattr(self._model, "restore", None)
        if restore is not None:
            restore(state)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)
