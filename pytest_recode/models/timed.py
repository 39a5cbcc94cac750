"""Wrap models and embedders so that their time counts for an episode's time limit.

A model calls `Ledger.before_call` before each try, so that the clock counts only the last try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_recode.clock import Clock
from pytest_recode.models import Embedded, Embedder, Message, Model, Relayed, Relaying, Reply, Tool


class TimedEmbedder:
    def __init__(self, embedder: Embedder, clock: Clock) -> None:
        self._embedder, self._clock = embedder, clock
        self.name = embedder.name

    def embed(self, texts: Sequence[str]) -> Embedded:
        with self._clock.asking(self.name):
            return self._embedder.embed(texts)


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

    def _relayed(self, model: Relaying) -> Callable[[str, Mapping[str, Any], Callable[[], None]], Relayed]:
        """`Relaying.relay`, which only models have that relay."""

        def relay(dialect: str, body: Mapping[str, Any], alive: Callable[[], None]) -> Relayed:
            with self._clock.asking(self.name):
                return model.relay(dialect, body, alive)

        return relay

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
