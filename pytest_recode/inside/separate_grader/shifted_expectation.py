"""Shifts one expected value of a case, so that no answer which passes the case can pass it any more: an impossible twin.

Runs in the grader process. Called by hidden tests, as their `assert_equivalent`, and by `grader_plugin.py`. Must not look at what the
candidate returned: which value is shifted, and by how much, depends on the expected value and the tolerance alone.

Why no right answer passes: `actual` agrees with `expected` only within some distance, at most `allowed(expected)`. The shift is larger than
`allowed(expected) + allowed(shifted)`, so nothing is near enough to both. A case that is to be shifted passes only if its shifted comparison
was made and accepted.

Stdlib, numpy where the values are numpy's, Python 3.9+.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Optional

from ..grading import equivalence, value_kinds

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

_LOOSEST = 0.9  # the largest rtol with which a shift of a few times the value can be told
_LEAST = 1 / 8  # the least shift, as a share of the value
_Leaf = tuple[tuple[Any, ...], Any]
"""The path to a value in nested lists, dicts and arrays, and the value."""


class ShiftedExpectation:
    """The `assert_equivalent` of hidden tests. In a case that is to be shifted, the first expected value that can be, is.

    Not before the test has received data of the candidate's: until then it can only compare what is its own.
    """

    def __init__(self) -> None:
        self._shifts = self._compared = self._refused = False
        self._use: Any = None

    def start_case(self, use: Any, *, shifts: bool) -> None:
        """`use`: the link of the case, which knows whether data was received."""
        self._use, self._shifts, self._compared, self._refused = use, shifts, False, False

    @property
    def passed_without(self) -> bool:
        """Whether the case must not pass, because no answer was accepted in its shifted comparison."""
        return self._shifts and (self._refused or not self._compared)

    def assert_equivalent(self, actual: Any, expected: Any, **how: Any) -> None:
        open_to_shift = self._shifts and not self._compared and self._use.data_received
        if open_to_shift and (other := shifted(expected, **how)) is not None:
            self._compared = self._refused = True
            equivalence.assert_equivalent(actual, other[0], **how)
            self._refused = False
        else:
            equivalence.assert_equivalent(actual, expected, **how)


def shifted(expected: Any, *, rtol: float = 1e-5, atol: Optional[float] = None, **how: Any) -> Optional[tuple[Any]]:
    """`expected` with one value changed, so that it is not equivalent to any actual value to which `expected` is; None if it has no such value.

    That is the largest number, else the first truth value, else the first text. Lists and tuples become lists.
    """
    if not 0 <= rtol <= _LOOSEST:
        return None
    leaves = list(_leaves(expected, ()))
    if not leaves:
        return None
    path, leaf = max(leaves, key=lambda leaf: _rank(leaf[1]))
    other = _replaced(expected, path, _shifted_leaf(leaf, rtol, atol))
    try:
        equivalence.assert_equivalent(expected, other, rtol=rtol, atol=atol, **how)
    except equivalence.Mismatch:
        return (other,)
    return None


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[_Leaf]:
    """The values that can be shifted; of an array, the one to choose."""
    value = value_kinds.text(value)
    if value_kinds.is_masked(value):
        return
    if value_kinds.is_numpy(value):
        yield from _of_array(value, path)
    elif isinstance(value, value_kinds.NUMBERS):
        if isinstance(value, int) or math.isfinite(value_kinds.size(value)):
            yield path, value
    elif isinstance(value, (str, bytes)):
        yield path, value
    elif isinstance(value, value_kinds.SEQUENCES):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))


def _of_array(array: Any, path: tuple[Any, ...]) -> Iterator[_Leaf]:
    import numpy as np

    values = np.asarray(array)
    if values.dtype.kind not in "biufc" or not values.size:
        return
    size = np.abs(values.astype(np.float64 if values.dtype.kind in "biu" else values.dtype))
    size = np.where(np.isfinite(size), size, -1)
    index = np.unravel_index(int(size.argmax()), values.shape)
    if size[index] >= 0:
        yield (*path, tuple(int(place) for place in index)), values[index].item()


def _rank(leaf: Any) -> tuple[int, float]:
    if isinstance(leaf, bool):
        return 1, 0.0
    if isinstance(leaf, int):
        return 2, float(min(abs(leaf), 1 << 1000))
    return (2, value_kinds.size(leaf)) if isinstance(leaf, (float, complex)) else (0, 0.0)


def _shifted_leaf(leaf: Any, rtol: float, atol: Optional[float]) -> Any:
    """Numbers move towards zero, where nothing overflows. A truth value stays where the tolerance is as wide as the two are apart."""
    if isinstance(leaf, (str, bytes)):
        return leaf[:-1] if leaf else ("x" if isinstance(leaf, str) else b"x")
    size = float(min(abs(leaf), 1 << 1000)) if isinstance(leaf, int) else value_kinds.size(leaf)
    own = rtol * equivalence.ATOL_SHARE * (size or 1.0) if atol is None else atol
    step = 8 * (own + rtol * size) / (1 - rtol)
    if isinstance(leaf, bool):
        return not leaf if max(step, 8 * (own + rtol) / (1 - rtol)) < 1 else leaf
    if isinstance(leaf, int):
        whole = max(1, math.ceil(step))
        return leaf - whole if leaf >= whole else leaf + whole
    step = max(size * _LEAST or 1.0, step)
    return leaf - step * (leaf / size) if size else leaf + step


def _replaced(value: Any, path: tuple[Any, ...], leaf: Any) -> Any:
    if not path:
        return leaf
    if value_kinds.is_numpy(value):
        import numpy as np

        array = np.array(value)
        array[path[0]] = leaf
        return array if isinstance(value, np.ndarray) else array[()]
    if isinstance(value, dict):
        return {key: _replaced(item, path[1:], leaf) if key is path[0] else item for key, item in value.items()}
    return [_replaced(item, path[1:], leaf) if place == path[0] else item for place, item in enumerate(value)]
