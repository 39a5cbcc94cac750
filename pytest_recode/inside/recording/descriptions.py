"""Describes the arguments of a call as plain data, so that inputs like them can be drawn.

Runs in the sandbox of a repository whose calls are recorded. Called by `call_recorder.py`. Must not modify a value, and must not
call a method of an object of the repository.

Stdlib, numpy where the values are numpy's, Python 3.9+.
"""

from __future__ import annotations

import sys
from typing import Any

from ..wire import codec
from .array_traits import describe_array

MAX_ITEMS = 200  # of a list or dict
MAX_TEXT = 20_000  # characters
MAX_DEPTH = 6
LEAST_NUMBERS = 2  # items of a list that is described as an array


class CannotDescribe(Exception):
    """A value that cannot travel, or that is too large to be described."""


def generator_kind(value: Any) -> str | None:
    """ "Generator" or "RandomState" for one of numpy's random generators, which can be drawn anew; None for anything else."""
    random = sys.modules.get("numpy.random")
    if random is None:
        return None
    kinds = {random.Generator: "Generator", random.RandomState: "RandomState"}
    return kinds.get(type(value))


def refer(value: Any) -> list[Any]:
    """For `codec.dump`: random generators are allowed, everything else that is no plain data is refused."""
    kind = generator_kind(value)
    return [kind] if kind else codec.cannot_travel(value)


def describe(value: Any, depth: int = 0) -> dict[str, Any]:
    """The description of a value. Raises `CannotDescribe`."""
    if depth > MAX_DEPTH:
        raise CannotDescribe(f"a value nested more than {MAX_DEPTH} deep")
    np: Any = sys.modules.get("numpy")
    kind = generator_kind(value)
    if kind:
        return {"kind": "generator", "type": kind}
    if np is not None and isinstance(value, np.ndarray):
        _check_dtype(value)
        return describe_array(value)
    if np is not None and isinstance(value, np.generic):
        _check_dtype(value)
        if value.dtype.kind not in "biufcU":
            raise CannotDescribe(f"a numpy value of dtype {value.dtype}")
        return {"kind": "scalar", "value": value.item(), "dtype": value.dtype.str}
    if value is None or type(value) in (bool, int, float, complex):
        return {"kind": "scalar", "value": value}
    if type(value) in (str, bytes):
        if len(value) > MAX_TEXT:
            raise CannotDescribe(f"a text of more than {MAX_TEXT} characters")
        return {"kind": "scalar", "value": value}
    if type(value) in (list, tuple):
        return _sequence(value, depth)
    if type(value) in (dict, set, frozenset):
        return _collection(value, depth)
    raise CannotDescribe(_type_of(value))


def _sequence(value: Any, depth: int) -> dict[str, Any]:
    container = type(value).__name__
    if container == "list" and len(value) >= LEAST_NUMBERS and _are_numbers(value):
        np: Any = sys.modules.get("numpy")
        if np is not None:
            try:
                array = np.array(value)
            except (ValueError, OverflowError):  # rows of different lengths
                array = None
            if array is not None and array.dtype.kind in "if" and array.size:
                return {**describe_array(array), "container": "list"}
    if len(value) > MAX_ITEMS:
        raise CannotDescribe(f"a {container} of more than {MAX_ITEMS} items")
    return {"kind": "sequence", "container": container, "items": [describe(item, depth + 1) for item in value]}


def _are_numbers(value: Any) -> bool:
    """Whether it is a list of floats, or of ints, or of such lists."""
    kinds = {type(item) for item in value}
    if kinds == {list}:
        return all(item and _are_numbers(item) for item in value)
    return kinds in ({float}, {int})


def _collection(value: Any, depth: int) -> dict[str, Any]:
    if len(value) > MAX_ITEMS:
        raise CannotDescribe(f"a {type(value).__name__} of more than {MAX_ITEMS} items")
    if type(value) is dict:
        if not all(type(key) in (str, int, float, bool) or key is None for key in value):
            raise CannotDescribe("a dict whose keys are not texts or numbers")
        return {"kind": "dict", "keys": list(value), "values": [describe(item, depth + 1) for item in value.values()]}
    if not all(type(item) in (str, int, float, bool) or item is None for item in value):
        raise CannotDescribe(f"a {type(value).__name__} of other things than texts and numbers")
    return {"kind": "set", "container": type(value).__name__, "items": sorted(value, key=repr)}


def _check_dtype(value: Any) -> None:
    if value.dtype.kind not in "biufcU":
        raise CannotDescribe(f"an array of dtype {value.dtype}")


def _type_of(value: Any) -> str:
    kind = type(value)
    name = getattr(value, "__qualname__", "") if kind.__name__ in ("function", "builtin_function_or_method") else ""
    return f"the function {name}" if name else f"a value of type {kind.__module__}.{kind.__qualname__}"


def shape_key(description: Any, numbers: bool = False) -> Any:
    """What is the same for two values that differ in numbers only: types, shapes, texts, choices. With `numbers`, those outside of arrays, too."""
    kind = description["kind"]
    if kind == "array":
        return (kind, description["dtype"], tuple(description["shape"]), tuple(sorted(description["traits"])))
    if kind == "scalar":
        value = description["value"]
        keep = numbers or value is None or isinstance(value, (bool, str, bytes))
        return (kind, type(value).__name__, value if keep else None)
    if kind == "sequence":
        return (kind, description["container"], tuple(shape_key(item, numbers) for item in description["items"]))
    if kind == "dict":
        return (kind, tuple(description["keys"]), tuple(shape_key(item, numbers) for item in description["values"]))
    if kind == "set":
        return (kind, description["container"], tuple(description["items"]))
    return (kind, description.get("type"))
