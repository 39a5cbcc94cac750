"""Check the models of a run before the first call: names, keys, and prices if there is a cost limit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_recode.models import Ledger, ModelContext

if TYPE_CHECKING:
    from pytest_recode.plugin.registry import Registry
    from pytest_recode.settings import Settings


def contexts(settings: Settings, ledger: Ledger, table: Mapping[str, Mapping[str, Any]]) -> list[ModelContext]:
    """A context for each model that the run will call."""
    return [
        ModelContext(
            name=name,
            ledger=ledger,
            api_base=settings.api_base,
            temperature=settings.temperature,
            call_seconds=settings.call_seconds,
            max_cost=settings.max_cost,
            table=table,
        )
        for name in filter(None, (*settings.models, settings.feedback_model, settings.search_model))
    ]


def check(asked: Sequence[ModelContext], registry: Registry, notify: Callable[[str], None]) -> None:
    """Check names, keys and prices. Raises `UserError`."""
    _before_litellm(asked, registry, notify)
    for context in asked:
        registry.model(context.name).check(context)


def _before_litellm(asked: Sequence[ModelContext], registry: Registry, notify: Callable[[str], None]) -> None:
    """Report misspelt names before litellm is imported, and announce the import, which takes seconds."""
    kinds = {context.name: registry.model(context.name) for context in asked}
    if "litellm" in sys.modules or all(kind.offline for kind in kinds.values()):
        return
    from pytest_recode.models import litellm_
    from pytest_recode.models.providers import check_listed

    asking = [context for context in asked if kinds[context.name].check is litellm_.check]
    for context in asking:
        check_listed(context)
    if asking:
        names = ", ".join(dict.fromkeys(context.name for context in asking))
        notify(f"looking up {names} in litellm, which takes some seconds to load")
