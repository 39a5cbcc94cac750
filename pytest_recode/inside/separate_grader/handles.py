"""Opaque handles for what stays with the candidate: modules, functions, types, objects and iterators.

Runs in the grader process. `candidate_link.py` makes handles; hidden tests use them. Must not let the candidate
answer an operation for the test: only attributes and calls are passed on, by name, and every other operation fails
the case, because the candidate's `__eq__` or `__array__` could lie.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..wire import codec

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows


class HandleMisuse(TypeError):
    """The test used a handle in a way that is not supported. The case fails, even if the test catches this."""


class TestFault(Exception):
    """The test did something that is not possible. The fault is the test's, unless it had received an answer before."""

    __test__ = False


class Link(Protocol):
    """The part of `candidate_link.CandidateLink` that handles use."""

    case: int
    dropped: list[int]
    explaining: bool

    def request(self, op: str, **arguments: Any) -> Any: ...
    def fail(self, kind: str, text: str) -> None: ...
    def record_test_fault(self, text: str) -> TestFault: ...


class _Opaque:
    """Something that stays with the candidate. Only attributes are forwarded, by name."""

    __slots__ = ("__weakref__", "_recode_link", "_recode_type")
    _recode_opaque = True
    _recode_kind = "protocol"  # the kind of a case that fails by a refused operation

    def __init__(self, link: Link, type_name: str) -> None:
        object.__setattr__(self, "_recode_link", link)
        printable = "".join(c if c.isprintable() else "?" for c in type_name[:100])
        object.__setattr__(self, "_recode_type", printable)

    def __getattr__(self, name: str) -> Any:
        no_special(name)
        return self._recode_link.request("get", target=self, name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._recode_link.request("set", target=self, name=name, value=value)


class RemoteModule(_Opaque):
    """A module of the candidate's. It is imported in the candidate's process when a name in it is first used."""

    __slots__ = ("_recode_name",)

    def __init__(self, link: Link, name: str) -> None:
        super().__init__(link, "module")
        object.__setattr__(self, "_recode_name", name)

    def __repr__(self) -> str:
        return f"<module {self._recode_name} of the candidate>"


class RemoteRoot:
    """The `candidate` fixture: its attributes are the candidate's top-level modules."""

    __slots__ = ("_recode_link",)

    def __init__(self, link: Link) -> None:
        self._recode_link = link

    def __getattr__(self, name: str) -> RemoteModule:
        no_special(name)
        return RemoteModule(self._recode_link, name)

    def __repr__(self) -> str:
        return "<the candidate>"


class Handle(_Opaque):
    """An object that stays with the candidate."""

    __slots__ = ("_recode_case", "_recode_number")

    def __init__(self, link: Link, number: int, type_name: str) -> None:
        super().__init__(link, type_name)
        object.__setattr__(self, "_recode_case", link.case)
        object.__setattr__(self, "_recode_number", number)

    def __repr__(self) -> str:
        return f"<opaque candidate object of type {self._recode_type}>"

    def __del__(self) -> None:
        if self._recode_case == self._recode_link.case:
            self._recode_link.dropped.append(self._recode_number)


class CallableHandle(Handle):
    """A function, method or class of the candidate's, or an object that can be called."""

    __slots__ = ()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._recode_link.request("call", target=self, args=args, kwargs=kwargs)


class IteratorHandle(Handle):
    """A generator or another iterator of the candidate's. Each item is requested when it is needed."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = self._recode_link.request("next", target=self)
        if not item:
            raise StopIteration
        return item[0]

    def __len__(self) -> int:
        raise TypeError("a candidate's iterator has no length")  # list() calls this, so it is not recorded as a misuse

    def __length_hint__(self) -> Any:
        return NotImplemented


class CallbackHandle(CallableHandle):
    """A function of the test that the candidate returned. It equals that function; a call goes through the candidate."""

    __slots__ = ("_recode_function",)

    def __init__(self, link: Link, number: int, function: Callable[..., Any]) -> None:
        super().__init__(link, number, "function of the test")
        object.__setattr__(self, "_recode_function", function)

    def __eq__(self, other: object) -> bool:
        return self._recode_function is (other._recode_function if isinstance(other, CallbackHandle) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._recode_function)


class _NamedType:
    """A builtin or numpy type, or a dtype, that the candidate named. The name is data: it is compared here, by value,
    and numpy accepts the handle as a dtype. Calls and attributes go to the candidate."""

    __slots__ = ()
    _recode_type: str
    _recode_kind = "dtype"  # the reference's result supports the operation, so this result has another type

    def __repr__(self) -> str:
        return f"<{self._recode_type} of the candidate>"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _NamedType):
            other = codec.named_type(other._recode_type)
        return bool(codec.named_type(self._recode_type) == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(codec.named_type(self._recode_type))

    @property
    def dtype(self) -> Any:
        """numpy's dtype of this name, in this process. It executes no candidate code."""
        import numpy as np

        dtype = np.dtype(codec.named_type(self._recode_type))
        if codec.type_name(dtype) is None:  # `list`, for example, would be a dtype of objects
            raise AttributeError(f"{self._recode_type} is not a dtype of plain data")
        return dtype


class TypeHandle(_NamedType, CallableHandle):
    __slots__ = ()


class DtypeHandle(_NamedType, Handle):
    __slots__ = ()


KINDS: dict[str, type[Handle]] = {
    "object": Handle,
    "callable": CallableHandle,
    "iterator": IteratorHandle,
}


def type_handle(link: Link, number: int, name: str) -> Handle:
    """The handle of a type or dtype. Raises `WireError` where `name` is not that of a plain type."""
    codec.named_type(name)
    return (DtypeHandle if name.startswith("dtype ") else TypeHandle)(link, number, name)


class _RefusedAttribute:
    """A special method that numpy and other libraries look up to see what an object supports: the lookup is refused."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, handle: _Opaque | None, owner: type) -> Any:
        return self.function if handle is None else self.function(handle)


_REFUSED = (  # noqa: SIM905 - easier to read than a list of strings
    "eq ne lt le gt ge bool len contains getitem setitem delitem reversed hash int float complex index str format "
    "bytes add radd iadd sub rsub isub mul rmul imul matmul rmatmul imatmul truediv rtruediv itruediv floordiv "
    "rfloordiv ifloordiv mod rmod imod divmod rdivmod pow rpow ipow lshift rlshift ilshift rshift rrshift irshift "
    "and rand iand or ror ior xor rxor ixor neg pos abs invert round trunc floor ceil enter exit await aiter "
    "anext length_hint array array_ufunc array_function array_wrap fspath buffer delattr dir copy deepcopy reduce "
    "reduce_ex getstate instancecheck subclasscheck mro_entries "
).split()


def _refuse(name: str) -> Callable[..., Any]:
    def refused(self: _Opaque, *operands: Any, **_: Any) -> Any:
        text = (
            f"__{name}__ of {self._recode_type}: this is an opaque candidate object (type {self._recode_type}); read a "
            "plain value from it instead: an attribute or the result of a method"
        )
        if not (self._recode_link.explaining or _sorted_by_repr(name)):
            self._recode_link.fail(_kind_of(self, name, operands), text)
        raise HandleMisuse(text)

    return refused


def _sorted_by_repr(name: str) -> bool:
    """Whether `reprlib` sorts a set, or the keys of a dict, that pytest prints. That is no operation of the test's."""
    return name in ("lt", "gt") and sys._getframe(2).f_globals.get("__name__") == "reprlib"


def _kind_of(handle: _Opaque, name: str, operands: tuple[Any, ...]) -> str:
    """The kind of failure that a refused operation shows: "dtype" for a comparison with a type that can be sent."""
    asked_for_a_type = name in ("eq", "ne") and any(
        isinstance(other, _NamedType) or codec.type_name(other) is not None for other in operands
    )
    looked_up = name == "hash" and isinstance(handle, CallableHandle)
    return "dtype" if asked_for_a_type or looked_up else handle._recode_kind


for _name in (*_REFUSED, "iter", "next"):
    if f"__{_name}__" not in vars(_Opaque):
        setattr(_Opaque, f"__{_name}__", _refuse(_name))
for _name in "array array_interface array_struct array_ufunc array_function array_wrap fspath getitem contains".split():  # noqa: SIM905
    setattr(_Opaque, f"__{_name}__", _RefusedAttribute(_refuse(_name)))
for _kind in (
    _Opaque,
    RemoteModule,
    Handle,
    CallableHandle,
    IteratorHandle,
    CallbackHandle,
    TypeHandle,
    DtypeHandle,
):
    _kind.__doc__ = _RefusedAttribute(_refuse("doc"))  # type: ignore[assignment]  # otherwise a test would read the docstrings above


def number(handle: Handle) -> int:
    """The number by which the candidate knows the object. Raises `TestFault` for a handle of an earlier case."""
    if handle._recode_case != handle._recode_link.case:
        text = (
            f"{handle!r} belongs to an earlier test: use an object of the candidate's only in the test that received it"
        )
        raise handle._recode_link.record_test_fault(text)
    return handle._recode_number  # type: ignore[no-any-return]


def no_special(name: str) -> None:
    """Raise `AttributeError` for a special name: Python and libraries look these up, and the candidate must not answer."""
    if (name.startswith("__") and name.endswith("__")) or name.startswith("_recode_"):
        raise AttributeError(f"{name} of a candidate's object is not forwarded")
