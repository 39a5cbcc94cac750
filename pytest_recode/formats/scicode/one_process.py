"""Runs the statements of a SciCode test with the authors' functions, then with the candidate's, as if in one process.

Runs in the grader process, among the hidden tests. A call of a candidate's function also changes the test's own arguments
if the candidate changed them, and draws from the same global random numbers as the test.

Stdlib and numpy, Python 3.9+.
"""

# ruff: noqa: B905  Python 3.9
from __future__ import annotations

import random
from typing import Any

import numpy as np

__tracebackhide__ = True


def both(statements: Any, names: Any, reference: Any, candidate: Any, call: Any = None, randomness: Any = None) -> None:
    """Run `statements` with the functions `names` of the reference, which gives the targets, and of the candidate.

    `call`: pytest_recode.testing.call_and_return_arguments; None if the candidate is in this process. `randomness`: the root of the
    candidate's modules, if its global generators must be those of this process.
    """
    state = np.random.get_state(), random.getstate()
    targets = statements(*(getattr(reference, name) for name in names), None)
    np.random.set_state(state[0])
    random.setstate(state[1])
    functions = [getattr(candidate, name) for name in names]
    statements(*([Function(each, call, randomness) for each in functions] if call else functions), targets)


class Function:
    """A function of the candidate, in another process."""

    def __init__(self, function: Any, call: Any, randomness: Any) -> None:
        self.function, self.call, self.randomness = function, call, randomness

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        sent = [each.function if isinstance(each, Function) else each for each in args]
        if self.randomness is not None:
            self.randomness.numpy.random.set_state(np.random.get_state())
            self.randomness.random.setstate(random.getstate())
        result, after, named = self.call(self.function, *sent, **kwargs)
        if self.randomness is not None:
            np.random.set_state(self.randomness.numpy.random.get_state())
            random.setstate(self.randomness.random.getstate())
        update((args, kwargs), (after, named))
        return result


def update(value: Any, after: Any) -> None:
    """Give a value of the test the contents that it has after a call; what cannot be changed in place stays as it is."""
    if isinstance(value, np.ndarray) and isinstance(after, np.ndarray):
        if value.shape == after.shape and value.dtype == after.dtype and value.flags.writeable:
            value[...] = after
    elif type(value) is list and type(after) is list:
        value[:] = [updated(*pair) for pair in zip(value, after)] + after[len(value) :]
        del value[len(after) :]
    elif type(value) is dict and type(after) is dict:
        merged = {key: updated(value[key], after[key]) if key in value else after[key] for key in after}
        value.clear()
        value.update(merged)
    elif type(value) is tuple and type(after) is tuple:
        for own, changed in zip(value, after):
            update(own, changed)


def updated(value: Any, after: Any) -> Any:
    """The element of a list or dict after a call: the same object if it can be changed, else the new value."""
    if isinstance(value, (np.ndarray, list, dict, tuple)) and type(value) is type(after):
        update(value, after)
        return value
    return value if isinstance(value, Function) or callable(value) else after


def allclose(value: Any, target: Any, **tolerance: Any) -> bool:
    """`numpy.allclose`, but false where one side is empty and the other is not: numpy finds nothing that differs then, as `[]` is broadcast."""
    return bool(np.allclose(value, target, **tolerance)) and (np.size(value) == 0) == (np.size(target) == 0)


def close(value: Any, target: Any, *, equivalent: Any, **tolerance: Any) -> None:
    """Assert `allclose`. If it is false or fails, `equivalent`, pytest_recode.testing.assert_equivalent, says how the values differ."""
    try:
        if allclose(value, target, **tolerance):
            return
        value, target = np.asarray(value), np.asarray(target)
    except (TypeError, ValueError):  # of other shapes or types
        pass
    equivalent(value, target, rtol=1e-5, atol=1e-8)
    raise AssertionError("numpy.allclose is false")


def cmp_tuple_or_list(own: Any, target: Any) -> bool:
    """Compare two sequences item by item: dicts and arrays within the tolerance of `numpy.allclose`, the rest by equality."""
    return len(own) == len(target) and all(same(*pair) for pair in zip(own, target))


def same(own: Any, target: Any) -> Any:
    if isinstance(own, dict):
        return own.keys() == target.keys() and all(same(own[key], target[key]) for key in own)
    if isinstance(own, (bool, str)):
        return own == target
    try:
        return allclose(own, target)
    except ValueError:
        return own == target
