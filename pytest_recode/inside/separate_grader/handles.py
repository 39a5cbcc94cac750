"""Opaque handles for what stays with the candidate: modules, functions, types, objects and iterators.

Runs in the grader process. `candidate_link.py` makes handles; hidden tests use them. Must not let the candidate
answer an operation for the test: only attributes and calls are passed on, by name, and every other operation fails
the case, because the candidate's `__eq__` or `__array__` could lie.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..wire import codec

__tracebackhide__ = True  # a failure is told from the test's own line, and pytest parses a file for every line it tells


class Misuse(TypeError):
    """The test did with a handle what cannot be done with one. The case fails, caught or not."""


class TestFault(Exception):
    """The test did what cannot be done. Its own fault, unless an answer of the candidate's came in before."""

    __test__ = False


class Link(Protocol):
    """`candidate_link.Link`, as far as a handle asks it."""

    case: int
    dropped: list[int]
    wording: bool

    def ask(self, op: str, **request: Any) -> Any: ...
    def fail(self, kind: str, text: str) -> None: ...
    def blame(self, text: str) -> TestFault: ...


class _Opaque:
    """What stays with the candidate. Only attributes are passed on, by name."""

    __slots__ = ("__weakref__", "_recode_link", "_recode_type")
    _recode_opaque = True
    _recode_kind = "protocol"  # of a case that a refused operation fails

    def __init__(self, link: Link, type_name: str) -> None:
        object.__setattr__(self, "_recode_link", link)
        printable = "".join(c if c.isprintable() else "?" for c in type_name[:100])
        object.__setattr__(self, "_recode_type", printable)

    def __getattr__(self, name: str) -> Any:
        _no_special(name)
        return self._recode_link.ask("get", target=self, name=name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._recode_link.ask("set", target=self, name=name, value=value)


class RemoteModule(_Opaque):
    """A module of the candidate's, imported there at the first use of a name in it."""

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
        _no_special(name)
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._recode_link.ask("call", target=self, args=args, kwargs=kwargs)


class IteratorHandle(Handle):
    """A generator or another true iterator of the candidate's: every item comes when it is asked for."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        item = self._recode_link.ask("next", target=self)
        if not item:
            raise StopIteration
        return item[0]

    def __len__(self) -> int:
        raise TypeError("a candidate's iterator has no length")  # list() asks for one, so it is no misuse

    def __length_hint__(self) -> Any:
        return NotImplemented


class OwnHandle(CallableHandle):
    """A function that the test passed, come back. It equals that function; a call of it is the candidate's to pass on."""

    __slots__ = ("_recode_own",)

    def __init__(self, link: Link, number: int, function: Callable[..., Any]) -> None:
        super().__init__(link, number, "function of the test")
        object.__setattr__(self, "_recode_own", function)

    def __eq__(self, other: object) -> bool:
        return self._recode_own is (other._recode_own if isinstance(other, OwnHandle) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._recode_own)


class _Named:
    """A builtin or numpy type, or a dtype, that the candidate named. The name is data: it is compared here, by value, and
    numpy takes it where a dtype is asked for. Calls and attributes are the candidate's."""

    __slots__ = ()
    _recode_type: str
    _recode_kind = "dtype"  # the reference's result could do what was asked: this is a result of another type

    def __repr__(self) -> str:
        return f"<{self._recode_type} of the candidate>"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, _Named):
            other = codec.named_type(other._recode_type)
        return bool(codec.named_type(self._recode_type) == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(codec.named_type(self._recode_type))

    @property
    def dtype(self) -> Any:
        """numpy's own, of this process: it executes nothing."""
        import numpy as np

        found = np.dtype(codec.named_type(self._recode_type))
        if codec.type_name(found) is None:  # list, say, would be a dtype of objects
            raise AttributeError(f"{self._recode_type} is no dtype of plain data")
        return found


class TypeHandle(_Named, CallableHandle):
    __slots__ = ()


class DtypeHandle(_Named, Handle):
    __slots__ = ()


KINDS: dict[str, type[Handle]] = {
    "object": Handle,
    "callable": CallableHandle,
    "iterator": IteratorHandle,
}


def named(link: Link, number: int, name: str) -> Handle:
    """The handle of a type or dtype. Raises `WireError` for a name that is not that of a plain one."""
    codec.named_type(name)
    return (DtypeHandle if name.startswith("dtype ") else TypeHandle)(link, number, name)


class _Refused:
    """A special method that numpy and others look up on the object to see what it can do: looking is using."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, handle: _Opaque | None, owner: type) -> Any:
        return self.function if handle is None else self.function(handle)


_REFUSED = (  # noqa: SIM905 - names to read, not a list of strings
    "eq ne lt le gt ge bool len contains getitem setitem delitem reversed hash int float complex index str format "
    "bytes add radd iadd sub rsub isub mul rmul imul matmul rmatmul imatmul truediv rtruediv itruediv floordiv "
    "rfloordiv ifloordiv mod rmod imod divmod rdivmod pow rpow ipow lshift rlshift ilshift rshift rrshift irshift "
    "and rand iand or ror ior xor rxor ixor neg pos abs invert round trunc floor ceil enter exit await aiter "
    "anext length_hint array array_ufunc array_function array_wrap fspath buffer delattr dir copy deepcopy reduce "
    "reduce_ex getstate instancecheck subclasscheck mro_entries "
).split()


def _refuse(name: str) -> Callable[..., Any]:
    def refused(self: _Opaque, *others: Any, **_: Any) -> Any:
        text = (
            f"__{name}__ of {self._recode_type}: this is an opaque candidate object (type {self._recode_type}); read a "
            "plain value from it instead: an attribute or the result of a method"
        )
        if not self._recode_link.wording:
            self._recode_link.fail(_kind_of(self, name, others), text)
        raise Misuse(text)

    return refused


def _kind_of(handle: _Opaque, name: str, others: tuple[Any, ...]) -> str:
    """What a refused operation says of the result. A class in the place of a type that travels is of another type."""
    asked_for_a_type = name in ("eq", "ne") and any(
        isinstance(other, _Named) or codec.type_name(other) is not None for other in others
    )
    looked_up = name == "hash" and isinstance(handle, CallableHandle)
    return "dtype" if asked_for_a_type or looked_up else handle._recode_kind


for _name in (*_REFUSED, "iter", "next"):
    if f"__{_name}__" not in vars(_Opaque):
        setattr(_Opaque, f"__{_name}__", _refuse(_name))
for _name in "array array_interface array_struct array_ufunc array_function array_wrap fspath getitem contains".split():  # noqa: SIM905
    setattr(_Opaque, f"__{_name}__", _Refused(_refuse(_name)))
for _kind in (_Opaque, RemoteModule, Handle, CallableHandle, IteratorHandle, OwnHandle, TypeHandle, DtypeHandle):
    _kind.__doc__ = _Refused(_refuse("doc"))  # type: ignore[assignment]  # else the text above would be the answer


def number(handle: Handle) -> int:
    if handle._recode_case != handle._recode_link.case:
        text = f"{handle!r} belongs to an earlier test: a candidate's object lives as long as its test"
        raise handle._recode_link.blame(text)
    return handle._recode_number  # type: ignore[no-any-return]


def _no_special(name: str) -> None:
    """Python and libraries look special names up to find out what a thing is: never the candidate's to answer."""
    if (name.startswith("__") and name.endswith("__")) or name.startswith("_recode_"):
        raise AttributeError(f"{name} of a candidate's object is not passed on")
