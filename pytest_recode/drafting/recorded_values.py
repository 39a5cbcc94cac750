"""Recorded calls as values. They come from a sandbox in which the repository ran, so everything is checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_DTYPE = re.compile(r"[<>|]([biufc]\d{1,2}|U\d{1,5})")
_TRAIT = re.compile(r"[a-z_]{1,30}")
_MOST_DIMENSIONS = 8


class Unreadable(Exception):
    """A description that no recorder of this project writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """An array, or (`as_list`) a list of numbers. `data`: its values as nested lists, None if there are too many."""

    dtype: str
    shape: tuple[int, ...]
    traits: frozenset[str]
    data: Any = None
    low: int = 0
    high: int = 0
    quantiles: tuple[float, ...] = ()
    choices: tuple[float, ...] = ()
    share: float = 0.0
    as_list: bool = False

    @property
    def kind(self) -> str:
        return self.dtype[1]

    @property
    def size(self) -> int:
        count = 1
        for each in self.shape:
            count *= each
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """None, a bool, number or text. `dtype`: of a numpy scalar, else ""."""

    value: Any
    dtype: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    container: str  # "list" or "tuple"
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    keys: tuple[Any, ...]
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elements:
    """A set or frozenset of texts and numbers."""

    container: str
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """One of numpy's random generators: "Generator" or "RandomState"."""

    type: str


Value = Array | Scalar | Sequence | Mapping | Elements | Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One recorded call of `function`. `effects`: kind, place and detail. `result`: why a candidate could not return it, or ""."""

    function: str
    args: tuple[tuple[str, Value], ...]
    kwargs: tuple[tuple[str, Value], ...]
    modified: tuple[str, ...]
    effects: tuple[tuple[str, str, str], ...]
    result: str

    @property
    def arguments(self) -> tuple[tuple[str, Value], ...]:
        return (*self.args, *self.kwargs)


def read_call(message: Any, functions: tuple[str, ...]) -> RecordedCall:
    """A call as `inside/recording/call_recorder.py` reports it. Raises `Unreadable`."""
    try:
        function = message["function"]
        if function not in functions:
            raise Unreadable("a call of another function")
        names = tuple(map(_parameter, message["names"]))
        args = [read_value(each) for each in message["args"]]
        kwargs = {_identifier(name): read_value(each) for name, each in message["kwargs"].items()}
        return RecordedCall(
            function=function,
            args=tuple(zip(names, args, strict=True)),
            kwargs=tuple(kwargs.items()),
            modified=_texts(message["modified"]),
            effects=tuple((kind, place, detail) for kind, place, detail in map(_texts, message["effects"])),
            result=_text(message["result"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"a call that cannot be read ({error})") from None


def read_value(description: Any) -> Value:
    """A value as `inside/recording/descriptions.py` describes it. Raises `Unreadable` or a builtin error."""
    kind = description["kind"]
    if kind == "array":
        return _array(description)
    if kind == "scalar":
        value, dtype = description["value"], description.get("dtype", "")
        if not _plain(value) or not (dtype == "" or _DTYPE.fullmatch(dtype)):
            raise Unreadable("a scalar of a strange type")
        return Scalar(value=value, dtype=dtype)
    if kind == "sequence":
        if description["container"] not in ("list", "tuple"):
            raise Unreadable("a strange sequence")
        return Sequence(container=description["container"], items=tuple(map(read_value, description["items"])))
    if kind == "dict":
        if not all(map(_plain, description["keys"])) or len(description["keys"]) != len(description["values"]):
            raise Unreadable("a strange dict")
        return Mapping(keys=tuple(description["keys"]), values=tuple(map(read_value, description["values"])))
    if kind == "set":
        if description["container"] not in ("set", "frozenset") or not all(map(_plain, description["items"])):
            raise Unreadable("a strange set")
        return Elements(container=description["container"], items=tuple(description["items"]))
    if kind == "generator" and description["type"] in ("Generator", "RandomState"):
        return Generator(type=description["type"])
    raise Unreadable("a value of an unknown kind")


def _array(description: Any) -> Array:
    shape = tuple(description["shape"])
    dtype = description["dtype"]
    if len(shape) > _MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
        raise Unreadable("an array of a strange shape")
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise Unreadable("an array of a strange dtype")
    traits = frozenset(_texts(description["traits"]))
    if not all(map(_TRAIT.fullmatch, traits)):
        raise Unreadable("an array with strange traits")
    data = description.get("data")
    if data is not None and not all(map(_plain, _leaves(data))):
        raise Unreadable("an array of strange values")
    return Array(
        dtype=dtype,
        shape=shape,
        traits=traits,
        data=data,
        low=int(description.get("low", 0)),
        high=int(description.get("high", 0)),
        quantiles=tuple(map(float, description.get("quantiles", ()))),
        choices=tuple(_number(each) for each in description.get("choices", ())),
        share=float(description.get("share", 0.0)),
        as_list=description.get("container") == "list",
    )


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, list):
        for each in data:
            yield from _leaves(each)
    else:
        yield data


def _plain(value: Any) -> bool:
    return value is None or type(value) in (bool, int, float, complex, str, bytes)


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise Unreadable("a choice that is no number")
    return value  # type: ignore[no-any-return]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unreadable("something else than a text")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(each) for each in values)


def _identifier(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise Unreadable("an argument whose name is no identifier")
    return name


def _parameter(name: Any) -> str:
    """The name of a parameter, or "*0", "*1", … for values of `*args`."""
    return name if isinstance(name, str) and re.fullmatch(r"\*\d{1,6}", name) else _identifier(name)


def outline(value: Value, *, numbers: bool) -> object:
    """What is the same for two values that differ in the elements of their arrays only, and without `numbers` in numbers outside of arrays, too."""
    if isinstance(value, Array):
        return value.dtype, value.shape, value.traits, value.as_list
    if isinstance(value, Scalar):
        counts = numbers or value.value is None or isinstance(value.value, bool | str | bytes)
        return type(value.value).__name__, value.dtype, repr(value.value) if counts else ""
    if isinstance(value, Sequence):
        return value.container, tuple(outline(item, numbers=numbers) for item in value.items)
    if isinstance(value, Mapping):
        return value.keys, tuple(outline(item, numbers=numbers) for item in value.values)
    return value


def arrays_in(value: Value) -> Iterator[Array]:
    """The arrays within a value, in order."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, Sequence):
        for item in value.items:
            yield from arrays_in(item)
    elif isinstance(value, Mapping):
        for item in value.values:
            yield from arrays_in(item)
