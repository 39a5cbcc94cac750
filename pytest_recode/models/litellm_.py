"""Models that this process calls itself through litellm, without a gateway: for commands and for models that a plugin registers."""

from __future__ import annotations

import asyncio
import atexit
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recode.models import Embedded, Ledger, Message, ModelContext, Reply, Tool
from pytest_recode.models.chat_format import chat_request
from pytest_recode.models.litellm_client import litellm
from pytest_recode.models.provider import ProviderModel, check, provider_model
from pytest_recode.models.retry import Retries
from pytest_recode.models.served_models import with_served_window

__all__ = ["LitellmModel", "check", "make"]


class LitellmModel:
    """A model whose calls block. `retries` and `late_seconds` may be changed between calls."""

    simulated = False

    def __init__(self, provider: ProviderModel) -> None:
        self.provider = provider
        self.name = provider.name
        self.native_tools = provider.native_tools
        self.window, self.answer = provider.window, provider.answer
        provider.wait = self._wait

    @property
    def ledger(self) -> Ledger:
        return self.provider.ledger

    @property
    def retries(self) -> Retries:
        return self.provider.retries

    @retries.setter
    def retries(self, retries: Retries) -> None:
        self.provider.retries = retries

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        request = chat_request(messages, tools, schema)
        return _runner().run(self.provider.complete(request))

    def embed(self, texts: Sequence[str]) -> Embedded:
        return _runner().run(self.provider.embed(texts))

    async def _wait(self, seconds: float) -> None:
        self.retries.wait(seconds)  # blocks the event loop, which has only this call


def make(context: ModelContext) -> LitellmModel:
    """Create the model. Asks a server of the user's own for its context window. Raises what `check` raises."""
    return LitellmModel(with_served_window(provider_model(context)))


@functools.cache
def _runner() -> asyncio.Runner:
    """The event loop of this process's calls, so that connections stay open between them. It is closed with the interpreter."""
    runner = asyncio.Runner()
    atexit.register(_close, runner)
    return runner


def _close(runner: asyncio.Runner) -> None:
    close_clients = getattr(litellm(), "close_litellm_async_clients", None)
    if close_clients is not None:
        runner.run(close_clients())
    runner.close()
