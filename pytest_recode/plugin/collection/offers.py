"""What plugins and `conftest.py` files register by the hooks of this project, and who registers it. Every session imports this module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from pytest_recode.faults import UserError, raised
from pytest_recode.plugin.collection import defaults


class Offer(NamedTuple):
    """The parts that one plugin registers. `source`: the plugin in words; "" for the entry points."""

    parts: Mapping[str, Any]
    source: str


def offers(manager: pytest.PytestPluginManager, kind: str) -> Iterator[Offer]:
    """The offers of a kind. The last takes precedence. Raises `pytest.UsageError`."""
    name = f"pytest_recode_{kind}"
    for implementation in getattr(manager.hook, name).get_hookimpls():
        if implementation.wrapper or implementation.hookwrapper:
            continue
        own = implementation.plugin is defaults
        source = "" if own else _source(manager, implementation)
        try:
            parts = implementation.function()
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        except Exception as error:
            raise pytest.UsageError(f"{name} of {source} raised {raised(error)}") from error
        if parts is None:
            continue
        if not isinstance(parts, Mapping) or not all(isinstance(key, str) for key in parts):
            what = f"a {type(parts).__name__}" if not isinstance(parts, Mapping) else "keys that are no str"
            raise pytest.UsageError(
                f"{name} of {source} returned {what}: it must return a mapping of names (docs/reference/hooks.md)"
            )
        if "" in parts:
            raise pytest.UsageError(
                f"{name} of {source} returned an empty name: name the part; '*' is a model for every name that no other part has"
            )
        yield Offer(parts, source)


def manifests(manager: pytest.PytestPluginManager) -> tuple[str, ...]:
    """The names of the manifests of all formats. Raises `pytest.UsageError`."""
    return tuple(dict.fromkeys(name for offer in reversed(list(offers(manager, "formats"))) for name in offer.parts))


def check_hook_names(manager: pytest.PytestPluginManager) -> None:
    """Raise `pytest.UsageError` for a hook of this project that does not exist: pytest does not report those of a `conftest.py`."""
    known = [
        name
        for name in vars(manager.hook)
        if name.startswith("pytest_recode_") and getattr(manager.hook, name).has_spec()
    ]
    for plugin in manager.get_plugins():
        for caller in manager.get_hookcallers(plugin) or ():
            if caller.name.startswith("pytest_recode_") and not caller.has_spec():
                from pytest_recode.wording import guess

                [implementation, *_] = (each for each in caller.get_hookimpls() if each.plugin is plugin)
                if not implementation.optionalhook:
                    raise pytest.UsageError(
                        f"{_source(manager, implementation)} defines the hook {caller.name}, which does not exist"
                        f"{guess(caller.name, known)}: choose from {', '.join(known)}"
                    )


def _source(manager: pytest.PytestPluginManager, implementation: Any) -> str:
    """A plugin in words: its distribution, the path of a `conftest.py`, or its name."""
    distributions = [each for plugin, each in manager.list_plugin_distinfo() if plugin is implementation.plugin]
    return f"the distribution {distributions[0].project_name}" if distributions else str(implementation.plugin_name)
