"""Classifies values for comparison, whatever their exact type, and names them in messages.

Runs in the graders' processes. Called by `equivalence.py`. Must not be given a value that is not plain data.

Stdlib, numpy where the values are numpy's, Python 3.9+.
"""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from typing import Any

SEQUENCES = (list, tuple)
NUMBERS = (bool, int, float, complex)
DATA_TYPES: list[tuple[type, type]] = []  # the types of `separate_grader/data_handles.py`, and the plain type of each
EXACT = (type(None), str, bytes, bytearray, slice, range, type(Ellipsis))


def is_numpy(value: Any) -> bool:
    np = sys.modules.get("numpy")
    return np is not None and isinstance(value, (np.ndarray, np.generic))


def is_masked(value: Any) -> bool:
    ma = sys.modules.get("numpy.ma")
    return ma is not None and isinstance(value, ma.MaskedArray)


def text(value: Any) -> Any:
    """A numpy scalar that is text or bytes, as the plain type."""
    if not (is_numpy(value) and isinstance(value, (str, bytes))):
        return value
    return value[:]  # `str` and `bytes` would drop characters 0 at the end


def is_numeric(value: Any) -> bool:
    return isinstance(value, NUMBERS)


def plain_type(value: Any) -> type:
    """The plain type as which a value of the reference would be sent."""
    for kind in (bool, int, float, complex, *EXACT):
        if isinstance(value, kind):
            return kind
    return type(value)


def sent_type(value: Any) -> type:
    """The plain type as which a value of the candidate was sent. An OrderedDict counts as a dict."""
    kind = type(value)
    kind = next((plain for made, plain in DATA_TYPES if made is kind), kind)  # `==` would call a metaclass
    return dict if kind is OrderedDict else kind


def magnitude(expected: Any) -> float | None:
    """The largest finite magnitude in nested lists of numbers; None where there is anything else in them."""
    largest = 0.0
    for item in expected:
        if isinstance(item, SEQUENCES):
            part = magnitude(item)
        elif isinstance(item, (float, complex)):
            part = size(item) if math.isfinite(size(item)) else 0.0
        else:
            part = None
        if part is None:
            return None
        largest = max(largest, part)
    return largest


def size(number: float | complex) -> float:
    """The magnitude of a number: infinite where it is too large for a float (`abs` raises OverflowError)."""
    return math.hypot(number.real, number.imag)


def as_key(key: Any) -> Any:
    """A key that is equal only for the same kind and value: 1, 1.0 and True differ, also in a tuple or frozenset."""
    if is_numpy(key):
        if key.dtype.kind in "mM":  # `item` of nanoseconds is an int
            return (type(key), "NaT" if key != key else key)
        key = key.item()
    if isinstance(key, tuple):
        return tuple(as_key(item) for item in key)
    if isinstance(key, frozenset):
        return (frozenset, frozenset(as_key(item) for item in key))
    if isinstance(key, slice):
        return (slice, as_key(key.start), as_key(key.stop), as_key(key.step))
    if isinstance(key, complex):
        return (complex, as_key(key.real), as_key(key.imag))
    if isinstance(key, float) and math.isnan(key):
        return (float, "nan")
    return (plain_type(key), key)


def name(value: Any) -> str:
    """What a value is, without its contents."""
    if is_numpy(value):
        return f"an array of dtype {value.dtype} and shape {value.shape}" if value.ndim else f"a {value.dtype} scalar"
    return "None" if value is None else f"a value of type {type(value).__name__}"


def show(value: Any) -> str:
    """The `repr` of a value, shortened."""
    try:
        text = repr(value)
    except ValueError:  # an int of too many digits
        return f"an int of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= 200 else f"{text[:197]}..."
