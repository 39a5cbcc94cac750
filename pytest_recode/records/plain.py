"""Convert dataclasses to plain JSON types and back, by their types. Used where an episode is played and resumed."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from pytest_recode.records.typed_schema import fields

T = TypeVar("T")


def dump(value: object, kind: type[T]) -> T:
    """The keys of `kind`, a TypedDict, from the fields of a dataclass; "" where the type has null for it is null."""
    return cast("T", {key: _plain(getattr(value, key), hint) for key, hint in _keys(cast("Hashable", kind)).items()})


def _plain(value: Any, hint: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or (value == "" and type(None) in get_args(hint)):
        return None
    if isinstance(value, Mapping):
        return dict(value)
    own = next((each for each in (hint, *get_args(hint)) if is_typeddict(each)), None)
    if isinstance(value, tuple):
        return list(value) if own is None else [dump(each, own) for each in value]
    return value if own is None else dump(value, own)


def load(kind: type[T], stored: Mapping[str, Any]) -> T:
    """A dataclass from what `dump` returned, or an earlier version of it: fields that are missing, or null, have their defaults."""
    hints = _hints(cast("Hashable", kind))
    entries = {key: (value, hints[key]) for key, value in stored.items() if key in hints}
    return kind(
        **{
            key: _value(value, hint)
            for key, (value, hint) in entries.items()
            if value is not None or type(None) in get_args(hint)
        }
    )


def _value(value: Any, hint: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):
        [hint] = [each for each in get_args(hint) if each is not type(None)]
    if get_origin(hint) is tuple:
        return tuple(_value(each, get_args(hint)[0]) for each in value)
    if dataclasses.is_dataclass(hint):
        return load(cast("type[Any]", hint), value)
    return hint(value) if isinstance(hint, type) and issubclass(hint, Enum) else value


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@functools.cache
def _keys(kind: Any) -> dict[str, Any]:
    """Keys of a TypedDict with their types, without annotations."""
    plain = get_type_hints(kind)
    return {key: plain[key] for key, _, _ in fields(kind)}
