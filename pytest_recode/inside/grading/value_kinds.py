"""Classifies values for comparison, whatever their exact type, and names them in messages.

Runs in the graders' processes. Called by `equivalence.py`. Must not be given a value that is not plain data.

Stdlib, numpy where the values are numpy's, Python 3.9+.
"""

from __future__ import annotations

import math
import sys
from typing import Any

SEQUENCES = (list, tuple)
NUMBERS = (bool, int, float, complex)
EXACT = (type(None), str, bytes, bytearray, slice, range, type(Ellipsis))


def is_numpy(value: Any) -> bool:
    np = sys.modules.get("numpy")
    return np is not None and isinstance(value, (np.ndarray, np.generic))


def text(value: Any) -> Any:
    """A numpy scalar that is text or bytes, as the plain type."""
    if not (is_numpy(value) and isinstance(value, (str, bytes))):
        return value
    return str(value) if isinstance(value, str) else bytes(value)


def is_numeric(value: Any) -> bool:
    return isinstance(value, NUMBERS)


def plain_type(value: Any) -> type:
    """The plain type as which a value of the reference would be sent."""
    for kind in (bool, int, float, complex, *EXACT):
        if isinstance(value, kind):
            return kind
    return type(value)


def magnitude(expected: Any) -> float | None:
    """The largest finite magnitude in nested lists of numbers; None where there is anything else in them."""
    largest = 0.0
    for item in expected:
        if isinstance(item, SEQUENCES):
            size = magnitude(item)
        elif isinstance(item, (float, complex)):
            size = abs(item) if math.isfinite(abs(item)) else 0.0
        else:
            size = None
        if size is None:
            return None
        largest = max(largest, float(size))
    return largest


def as_key(key: Any) -> Any:
    """A key that is equal only for the same kind and value: 1, 1.0 and True differ."""
    if is_numpy(key):
        key = key.item()
    if isinstance(key, tuple):
        return tuple(as_key(item) for item in key)
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
