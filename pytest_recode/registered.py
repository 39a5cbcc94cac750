"""The parts that are installed, by kind and name: entry points of the project itself and of other distributions, in groups `pytest_recode.<kind>`.

The plugin registers them by its hooks (`plugin/collection/defaults.py`); the command `pytest-recode`, which has no plugins, looks them up here.
Imports no part before it is chosen, and never pytest.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pytest_recode.faults import UserError

ANY_MODEL = "*"
"""The name of the kind of every model whose name no other kind has."""

_PROJECT = "pytest-recode"
_TYPES = {
    "formats": ("pytest_recode.formats", "Format"),
    "sandboxes": ("pytest_recode.sandboxes", "SandboxKind"),
    "agents": ("pytest_recode.agents", "AgentKind"),
    "policies": ("pytest_recode.feedback", "PolicyKind"),
    "models": ("pytest_recode.models", "ModelKind"),
}


@functools.cache
def own(kind: str) -> Mapping[str, str]:
    """Where the project's own parts of a kind are, `module:attribute`, by name. A format's name is that of its manifest.

    Raises `UserError` if the installed distribution lists none.
    """
    points = [point for point in _points(kind) if _is_own(point)]
    if not points:
        raise UserError(
            f"the installed {_PROJECT} lists no {kind}: install it again (pip install -e . in a checkout), because they are entry points"
        )
    return {point.name: point.value for point in points}


def places(kind: str) -> dict[str, str]:
    """Where the parts of a kind are, by name. Another distribution may replace a part of the project's own.

    Raises `UserError` if two other distributions have the same name.
    """
    others: dict[str, metadata.EntryPoint] = {}
    for point in _points(kind):
        if _is_own(point):
            continue
        first = others.setdefault(point.name, point)
        if first.value != point.value:
            raise UserError(
                f"pytest_recode.{kind}: {point.name!r} is an entry point of {_distribution(first)} and of"
                f" {_distribution(point)}: uninstall one of them"
            )
    return {**own(kind), **{name: point.value for name, point in others.items()}}


def part(kind: str, name: str, offer: Any) -> Any:
    """The part that is offered: an object, or its place, which is imported. A class or function that makes an agent becomes an `AgentKind`.

    Raises `UserError` if it cannot be imported, or has another type than its kind.
    """
    value = imported(offer, f"{kind} {name!r}") if isinstance(offer, str) else offer
    module, type_name = _TYPES[kind]
    kind_type: Any = getattr(importlib.import_module(module), type_name)
    if isinstance(value, kind_type):
        return value
    if kind != "agents":
        raise UserError(
            f"pytest_recode_{kind}: {name!r} is registered with a {type(value).__name__}: it must be a {module}.{type_name}"
        )
    if not callable(value):
        raise UserError(
            f"agent {name!r} is a {type(value).__name__}: it must be an AgentKind, or a class or function that takes"
            " an AgentContext"
        )
    return kind_type(make=value)


def loaded(kind: str) -> dict[str, Any]:
    """All parts of a kind, by name. Raises `UserError` as `places` and `part` do."""
    return {name: part(kind, name, place) for name, place in places(kind).items()}


def imported(place: str, who: str) -> Any:
    """The object at `module:attribute`. Raises `UserError`, which names `who` wants it."""
    module, _, name = place.partition(":")
    try:
        owner = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            raise UserError(
                f"{who}: there is no module {error.name!r}: write package.module:Name, importable from where pytest runs"
            ) from None
        raise
    if not hasattr(owner, name):
        own = [n for n, value in vars(owner).items() if getattr(value, "__module__", module) == module and n[0] != "_"]
        public = ", ".join(own) or "nothing"
        raise UserError(f"{who}: module {module!r} has no {name!r}; it has {public}")
    return getattr(owner, name)


def _points(kind: str) -> Sequence[metadata.EntryPoint]:
    return tuple(_entry_points().select(group=f"pytest_recode.{kind}"))


@functools.cache
def _entry_points() -> Any:
    """Those of all distributions: finding them reads a file of each. The class differs between versions of Python, `select` does not."""
    return metadata.entry_points()


def _is_own(point: metadata.EntryPoint) -> bool:
    return _distribution(point).replace("_", "-") == _PROJECT


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
