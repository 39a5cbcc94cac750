"""Calls of functions that show what they do to their arguments: `call_and_return_arguments`, and `assert_unmodified`, a check.

Runs in the graders' processes, also in the shared judge's. Called by hidden tests, by way of `pytest_recode.testing`.
Must not call a method of a candidate's value: arguments come back as plain data (see the wire).

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from . import equivalence, value_kinds

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

Equivalent = Callable[..., None]
_NOT_COMPARED = object


def unmodified_by(equivalent: Equivalent = equivalence.assert_equivalent) -> Callable[..., Any]:
    """`assert_unmodified`, with this comparison of plain values."""

    def assert_unmodified(function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Return `function(*args, **kwargs)`. Raise AssertionError if the call modified an argument.

        A candidate's function runs in another process, on copies of the arguments, which come back as they are after
        the call: the candidate's process reports them, and nothing here can verify that. Only arguments that are plain
        data (numbers, strings, arrays, lists, dicts, sets) are compared.
        """
        before = args, kwargs
        if not _is_candidates(function):
            before = copy.deepcopy(_plain(args)), copy.deepcopy(_plain(kwargs))
        result, *after = call_and_return_arguments(function, *args, **kwargs)
        for name, given, left in _pairs(before, after):
            try:
                equivalent(left, given, rtol=0.0, atol=0.0, check_dtype=True)
            except AssertionError as error:
                raise AssertionError(f"{name} was modified by the call: {error}") from None
        return result

    return assert_unmodified


assert_unmodified = unmodified_by()


def call_and_return_arguments(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function; return its result, and the positional and the named arguments as they are after the call.

    A candidate's function runs in another process, on copies of the arguments: these copies come back, and nothing here can
    verify what the candidate's process reports.
    """
    if not _is_candidates(function):
        return function(*args, **kwargs), args, kwargs
    function = getattr(function, "_recode_callable", function)
    answer = function._recode_link.request("call_and_return_arguments", target=function, args=args, kwargs=kwargs)
    return _parts(answer, args, kwargs)


def _is_candidates(function: Any) -> bool:
    return getattr(type(getattr(function, "_recode_callable", function)), "_recode_opaque", False) is True


def _parts(answer: Any, args: Any, kwargs: Any) -> Any:
    """The result and the arguments in a candidate's answer."""
    if type(answer) is tuple and len(answer) == 3:
        result, after, named = answer
        if type(after) is tuple and type(named) is dict and len(after) == len(args) and named.keys() == kwargs.keys():
            return result, after, named
    raise AssertionError("the candidate's process did not return the arguments of the call")


def _plain(values: Any) -> Any:
    """The arguments that can be compared; `_NOT_COMPARED` in place of others, which need not support a copy."""
    if isinstance(values, dict):
        return {name: value if _comparable(value) else _NOT_COMPARED for name, value in values.items()}
    return tuple(value if _comparable(value) else _NOT_COMPARED for value in values)


def _comparable(value: Any) -> bool:
    return (
        value_kinds.is_numeric(value)
        or value_kinds.is_numpy(value)
        or isinstance(value, (dict, set, frozenset, *value_kinds.SEQUENCES, *value_kinds.EXACT))
    )


def _pairs(before: Any, after: Any) -> Any:
    """Name, value before and value after the call of each argument that can be compared."""
    for number, (original, left) in enumerate(zip(before[0], after[0]), 1):  # noqa: B905 - Python 3.9
        if _comparable(original):
            yield f"argument {number}", original, left
    for name, original in before[1].items():
        if _comparable(original):
            yield f"argument {name}", original, after[1][name]
