"""Plain data with a handle: objects of the candidate whose class derives from a plain type and has more attributes.

Runs in the grader process. `candidate_link.py` makes them; hidden tests use them: a named tuple, a member of an
IntEnum, a dict with methods. Must not let the candidate answer an operation of the plain type: operators, and methods
that the plain type has, run here and on the data as they were sent. Only other attributes are read through the handle.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import hashlib
from typing import Any

from ..grading import value_kinds
from ..wire import codec
from . import handles

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

_MUTABLE = (bytearray, list, dict, set)


class _Data:
    """What the types of this module add to a plain type. The instance's `__dict__` has its handle and its fields."""

    __slots__ = ()
    _recode_plain: type

    def __getattr__(self, name: str) -> Any:
        handles.no_special(name)
        handle = vars(self).get("_recode_handle")  # a copy that a method of the plain type makes has none
        if handle is None or handle._recode_link.explaining:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(handle, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_recode_handle"], name, value)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        """numpy's functions would call a method of the object (`np.sum` its `sum`): they get the data."""
        return function(*map(_without_handle, args), **{name: _without_handle(value) for name, value in kwargs.items()})

    def __reduce_ex__(self, _: Any) -> Any:
        return self._recode_plain, (self._recode_plain(self),)  # a copy is plain data


def _without_handle(value: Any) -> Any:
    if isinstance(value, _Data):
        return value._recode_plain(value)
    if type(value) in (list, tuple):
        return type(value)(map(_without_handle, value))
    return value


class _CallableData(_Data):
    __slots__ = ()

    @property
    def _recode_callable(self) -> Any:
        return vars(self)["_recode_handle"]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return vars(self)["_recode_handle"](*args, **kwargs)


def _types(mixin: type) -> dict[type, Any]:
    return {
        plain: type(plain.__name__, (mixin, plain), {"_recode_plain": plain, "__doc__": plain.__doc__})
        for plain in codec.PLAIN
    }


_KINDS: dict[type, dict[type, Any]] = {handles.CallableHandle: _types(_CallableData), handles.Handle: _types(_Data)}
_KINDS[handles.IteratorHandle] = _KINDS[handles.Handle]  # iteration is one over the data
value_kinds.DATA_TYPES[:] = [(made, plain) for table in _KINDS.values() for plain, made in table.items()]


def attach(data: Any, fields: Any, handle: Any) -> Any:
    """`data` with attributes that are read through `handle`. `fields`: the candidate's values for attributes that the
    plain type has. Raises `WireError` where these are not of the types that the candidate's end sends.
    """
    table = _KINDS.get(type(handle))
    if table is None or type(data) not in table or type(fields) is not dict:
        raise codec.WireError("data with a handle of another kind")
    for name, value in fields.items():
        if type(name) is not str or name.startswith("_") or callable(value):
            raise codec.WireError("data with a field that is none")
    wrapped = table[type(data)](data)
    vars(wrapped).update(fields)
    vars(wrapped).update(_recode_handle=handle, _recode_digest=_digest(wrapped))
    return wrapped


def refer(value: Any, plain: type) -> tuple[list[Any], None] | None:
    """The reference by which the candidate gets its own object back: None for what is sent as plain data.

    That is a value that the test has modified, one of an earlier test, and one of the test's own classes.
    """
    handle = vars(value).get("_recode_handle") if isinstance(value, _Data) else None
    if handle is None or handle._recode_case != handle._recode_link.case:
        return None
    if vars(value)["_recode_digest"] != _digest(value):
        return None
    return ["object", handles.number(handle)], None


def _digest(value: Any) -> bytes:
    """By which a modification is noticed, also one of a list in a list."""
    if not isinstance(value, _MUTABLE):
        return b""
    header, body = codec.dump(value, lambda handle: [str(id(handle))])
    digest = hashlib.sha256(header)
    for part in body:
        digest.update(part)
    return digest.digest()
