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
class Call:
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


def read_call(message: Any, functions: tuple[str, ...]) -> Call:
    """A call as `inside/recording/recorder.py` reports it. Raises `Unreadable`."""
    try:
        function = message["function"]
        if function not in functions:
            raise Unreadable("a call of another function")
        names = tuple(map(_parameter, message["names"]))
        args = [read_value(each) for each in message["args"]]
        kwargs = {_identifier(name): read_value(each) for name, each in message["kwargs"].items()}
        return Call(
            function=function,
            args=tuple(zip(names, args, strict=True)),
            kwargs=tuple(kwargs.items()),
            modified=_texts(message["modified"]),
            effects=tuple((kind, place, detail) for kind, place, detail in map(_texts, message["effects"])),
            result=_text(message["result"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Unreadable(f"a call that cannot be read ({error})") from None


def read_value(found: Any) -> Value:
    """A value as `inside/recording/descriptions.py` describes it. Raises `Unreadable` or a builtin error."""
    kind = found["kind"]
    if kind == "array":
        return _array(found)
    if kind == "scalar":
        value, dtype = found["value"], found.get("dtype", "")
        if not _plain(value) or not (dtype == "" or _DTYPE.fullmatch(dtype)):
            raise Unreadable("a scalar of a strange type")
        return Scalar(value=value, dtype=dtype)
    if kind == "sequence":
        if found["container"] not in ("list", "tuple"):
            raise Unreadable("a strange sequence")
        return Sequence(container=found["container"], items=tuple(map(read_value, found["items"])))
    if kind == "dict":
        if not all(map(_plain, found["keys"])) or len(found["keys"]) != len(found["values"]):
            raise Unreadable("a strange dict")
        return Mapping(keys=tuple(found["keys"]), values=tuple(map(read_value, found["values"])))
    if kind == "set":
        if found["container"] not in ("set", "frozenset") or not all(map(_plain, found["items"])):
            raise Unreadable("a strange set")
        return Elements(container=found["container"], items=tuple(found["items"]))
    if kind == "generator" and found["type"] in ("Generator", "RandomState"):
        return Generator(type=found["type"])
    raise Unreadable("a value of an unknown kind")


def _array(found: Any) -> Array:
    shape = tuple(found["shape"])
    dtype = found["dtype"]
    if len(shape) > _MOST_DIMENSIONS or not all(type(size) is int and 0 <= size < 1 << 40 for size in shape):
        raise Unreadable("an array of a strange shape")
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        raise Unreadable("an array of a strange dtype")
    traits = frozenset(_texts(found["traits"]))
    if not all(map(_TRAIT.fullmatch, traits)):
        raise Unreadable("an array with strange traits")
    data = found.get("data")
    if data is not None and not all(map(_plain, _leaves(data))):
        raise Unreadable("an array of strange values")
    return Array(
        dtype=dtype,
        shape=shape,
        traits=traits,
        data=data,
        low=int(found.get("low", 0)),
        high=int(found.get("high", 0)),
        quantiles=tuple(map(float, found.get("quantiles", ()))),
        choices=tuple(_number(each) for each in found.get("choices", ())),
        share=float(found.get("share", 0.0)),
        as_list=found.get("container") == "list",
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
        for each in value.items:
            yield from arrays_in(each)
    elif isinstance(value, Mapping):
        for each in value.values:
            yield from arrays_in(each)
