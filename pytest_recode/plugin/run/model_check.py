"""Check the models of a run before the first call: names, keys, and prices if there is a cost limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_recode.models import GatewayAddress, Ledger, ModelContext

if TYPE_CHECKING:
    from pytest_recode.plugin.collection.registry import Registry
    from pytest_recode.settings import Settings


def contexts(
    settings: Settings, ledger: Ledger, table: Mapping[str, Mapping[str, Any]], gateway: GatewayAddress | None = None
) -> list[ModelContext]:
    """A context for each model that the run will call."""
    return [
        ModelContext(
            name=name,
            ledger=ledger,
            api_base=settings.api_base,
            temperature=settings.temperature,
            call_seconds=settings.call_seconds,
            max_cost=dict(settings.max_cost_of).get(name, settings.max_cost),
            table=table,
            gateway=gateway,
        )
        for name in filter(None, (*settings.models, settings.feedback_model, settings.search_model))
    ]


_SHORT = 1.0
"""Seconds that a check may take without a message to the user."""


def check(models: Sequence[ModelContext], registry: Registry, notify: Callable[[str], None]) -> None:
    """Check names, keys and prices. Raises `UserError`. Waits for the gateway, which loads litellm, and reports it if that takes long."""
    line = f"looking up {', '.join(dict.fromkeys(each.name for each in models))} in litellm, which takes some seconds to load"
    timer = threading.Timer(_SHORT, notify, [line])
    timer.start()
    try:
        for context in models:
            registry.model(context.name).check(context)
    finally:
        timer.cancel()


def glance(models: Sequence[ModelContext], registry: Registry, notify: Callable[[str], None]) -> None:
    """Check names before anything is started, and report models that are retired soon. Raises `UserError`."""
    for context in models:
        if (look := registry.model(context.name).glance) is not None and (line := look(context)):
            notify(line)
