"""The parts that are installed, by kind and name: entry points of the project itself and of other distributions, in groups `pytest_recode.<kind>`.

The plugin registers them by its hooks (`plugin/collection/defaults.py`); the command `pytest-recode`, which has no plugins, looks them up here.
Imports no part (`installed.py` does, when one is chosen), and never pytest. Every session imports this module, so it imports little.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from pytest_recode.faults import UserError

ANY_MODEL = "*"
"""The name of the kind of every model whose name no other kind has."""

_PROJECT = "pytest-recode"


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
                f"pytest_recode.{kind}: {point.name!r} is an entry point of {distribution(first)} and of"
                f" {distribution(point)}: uninstall one of them"
            )
    return {**own(kind), **{name: point.value for name, point in others.items()}}


def origin(kind: str, name: str, place: object) -> str:
    """The distribution whose entry point has this name and place, in words; "" for a part of the project's own."""
    points = [point for point in _points(kind) if point.name == name and point.value == place and not _is_own(point)]
    return f"the distribution {distribution(points[0])}" if points else ""


def _points(kind: str) -> Sequence[metadata.EntryPoint]:
    return tuple(entry_points().select(group=f"pytest_recode.{kind}"))


@functools.cache
def entry_points() -> Any:
    """Those of all distributions: finding them reads a file of each. The class differs between versions of Python, `select` does not."""
    return metadata.entry_points()


def _is_own(point: metadata.EntryPoint) -> bool:
    return distribution(point).replace("_", "-") == _PROJECT


def distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
