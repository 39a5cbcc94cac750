"""Codec for values of plain data: to a tree of JSON types with a list of raw buffers, and back.

Runs in the host, the graders, the candidate and the workspace. Called by `frames.py` and by the two ends of a
connection. Must not execute anything of the sender's while decoding, and must not build a type, a function or a dtype
object.

Plain data is `None`, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, OrderedDict, set,
frozenset, slice, range, Ellipsis, and numpy arrays and scalars of plain dtypes, with checked lengths. Malformed data raises
`WireError`. Subclasses are sent as the plain type they derive from, where the caller gives `refer_subclass` also with
a reference. Anything else (a callable, a type, an object of the candidate's) travels as a reference, where the caller
gives `refer` and `resolve`.

Stdlib only, numpy where it is installed, Python 3.9+.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Union

MAX_HEADER = 16 << 20  # bytes of JSON: parsed, it takes up to twenty times as much
MAX_NODES = 2_000_000
MAX_DEPTH = 100
MAX_INT_BITS = 1 << 20
_ALIGN = 16  # every buffer starts on a multiple, so that arrays over it are aligned

_DTYPE = re.compile(
    r"[<>|]?(b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)|[SU]\d{1,9}"
    r"|[mM]8(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)"
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Two surrogates that stand for one character in UTF-16, and so in JSON. A text may have them as two characters."""
_NON_FINITE = ("nan", "inf", "-inf")

Buffer = Union[bytes, bytearray, memoryview]
Refer = Callable[[Any], "list[Any]"]
"""Maps a value that is not plain data to strings and ints that name it; raises `WireError` where it cannot be sent."""
Resolve = Callable[["list[Any]"], Any]
ReferSubclass = Callable[[Any, type], "tuple[list[Any], dict[str, Any] | None] | None"]
"""Maps a value, whose type derives from a plain type, and that type to None, if it is sent as plain data; or to a
reference, and the attributes to send with it and the data, or None to send the reference alone."""
PLAIN = (int, float, complex, str, bytes, bytearray, list, tuple, OrderedDict, dict, set, frozenset)
"""The plain types that can have subclasses. OrderedDict is before dict, from which it derives."""


class WireError(Exception):
    """A value that cannot be sent, or bytes that are no frame."""


_TYPES = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)}


def type_name(value: Any) -> str | None:
    """The name of a type or dtype that means the same on both sides (`dtype=np.float32`); None for anything else."""
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, np.dtype):
        return f"dtype {value.str}" if value.fields is None and _DTYPE.fullmatch(value.str) else None
    if not isinstance(value, type):
        return None
    name: str = value.__name__
    if _TYPES.get(name) is value:
        return name
    return f"numpy {name}" if np is not None and _numpy_types(np).get(name) is value else None


def named_type(name: str) -> Any:
    """The type or dtype that `type_name` names. Raises `WireError` for any other name; nothing is looked up by it."""
    kind, _, rest = name.rpartition(" ")
    if not kind and rest in _TYPES:
        return _TYPES[rest]
    if kind == "dtype" and _DTYPE.fullmatch(rest):
        import numpy as np

        return np.dtype(rest)
    if kind == "numpy":
        import numpy as np

        if rest in (types := _numpy_types(np)):
            return types[rest]
    raise WireError("a type that may not travel")


def _numpy_types(np: Any) -> dict[str, type]:
    """numpy's scalar types by name, abstract ones too."""
    if not _types:
        pending = [np.generic]
        while pending:
            kind = pending.pop()
            if kind.__module__ == "numpy":  # a subclass may be the candidate's
                _types[kind.__name__] = kind
                pending += kind.__subclasses__()
    return _types


_types: dict[str, type] = {}


def cannot_travel(value: Any) -> list[Any]:
    """The default `refer`: no value is sent by reference."""
    raise WireError(f"a value of type {type(value).__module__}.{type(value).__qualname__} cannot be sent")


class _Encoder:
    def __init__(self, refer: Refer, refer_subclass: ReferSubclass | None) -> None:
        self.buffers: list[Buffer] = []
        self.nodes = 0
        self.refer = refer
        self.refer_subclass = refer_subclass
        self.numpy = sys.modules.get("numpy")  # not imported: if it is not loaded there is no array to send

    def tree(self, value: Any, depth: int = 0) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise WireError(f"a value of more than {MAX_NODES} parts cannot be sent")
        if depth > MAX_DEPTH:
            raise WireError(f"a value nested more than {MAX_DEPTH} deep cannot be sent")
        kind = type(value)  # not `isinstance`: a proxy passes for the type that it imitates
        if value is None or kind is bool or (kind is str and value.isascii()):
            return value
        if self.numpy is not None and issubclass(kind, (self.numpy.ndarray, self.numpy.generic)):
            return self._array(value)  # before float, str and bytes: some numpy scalars derive from them
        if self.refer_subclass is not None and kind not in PLAIN and issubclass(kind, PLAIN):
            found = self.refer_subclass(value, next(base for base in PLAIN if issubclass(kind, base)))
            if found is not None:
                reference, attributes = found
                if attributes is None:
                    return ["@", *reference]
                return ["h", self._plain(value, kind, depth), self.tree(attributes, depth + 1), *reference]
        return self._plain(value, kind, depth)

    def _plain(self, value: Any, kind: type, depth: int) -> Any:
        if issubclass(kind, int):
            return self._int(int.__int__(value))
        if issubclass(kind, float):
            return self._float(float.__float__(value))
        if issubclass(kind, str):
            text = str.__str__(value)
            return ["u", self._buffer(text.encode("utf-8", "surrogatepass"))] if _PAIR.search(text) else text
        if issubclass(kind, list):
            return self._list(value, depth)
        if issubclass(kind, tuple):
            return ["t", *[self.tree(item, depth + 1) for item in tuple.__iter__(value)]]
        if issubclass(kind, dict):
            # the order of an OrderedDict is not that of the dict below it
            ordered = issubclass(kind, OrderedDict)
            pairs = ["o" if ordered else "d"]
            for key, item in OrderedDict.items(value) if ordered else dict.items(value):
                pairs += (self.tree(key, depth + 1), self.tree(item, depth + 1))
            return pairs
        return self._rare(value, kind, depth)

    def _rare(self, value: Any, kind: type, depth: int) -> Any:
        if issubclass(kind, complex):
            number = complex.__pos__(value)
            return ["c", self._float(number.real), self._float(number.imag)]
        if issubclass(kind, (bytes, bytearray)):
            base = bytes if issubclass(kind, bytes) else bytearray
            data = value if kind is base else base.__getitem__(value, slice(None))  # not by its own `__buffer__`
            return ["b" if base is bytes else "y", self._buffer(memoryview(data).cast("B"))]
        if issubclass(kind, (set, frozenset)):
            tag, iterate = ("s", set.__iter__) if issubclass(kind, set) else ("z", frozenset.__iter__)
            return [tag, *[self.tree(item, depth + 1) for item in iterate(value)]]
        if value is Ellipsis:
            return ["E"]
        if issubclass(kind, (slice, range)):
            tag = "S" if issubclass(kind, slice) else "r"
            return [tag, *[self.tree(x, depth + 1) for x in (value.start, value.stop, value.step)]]
        return ["@", *self.refer(value)]

    def _buffer(self, data: Buffer) -> int:
        self.buffers.append(data)
        return len(self.buffers) - 1

    def _int(self, value: int) -> Any:
        if -(1 << 63) <= value < 1 << 63:
            return value
        if value.bit_length() > MAX_INT_BITS:
            raise WireError(f"an int of more than {MAX_INT_BITS} bits cannot be sent")
        return ["i", hex(value)]

    def _float(self, value: float) -> Any:
        return value if value - value == 0 else ["f", str(value)]

    def _list(self, value: list[Any], depth: int) -> Any:
        items = list(list.__iter__(value))
        if len(items) >= 16:  # long lists of numbers are sent as raw bytes: smaller, faster, no limit of nodes
            kinds = set(map(type, items))
            try:
                if kinds == {float}:
                    return ["D", self._buffer(array("d", items).tobytes())]
                if kinds == {int}:
                    return ["Q", self._buffer(array("q", items).tobytes())]
            except OverflowError:
                pass
        return ["l", *[self.tree(item, depth + 1) for item in items]]

    def _array(self, value: Any) -> Any:
        np: Any = self.numpy
        value = value if isinstance(value, np.generic) else np.ndarray.view(value, np.ndarray)
        name = value.dtype.str
        if value.dtype.fields is not None or not _DTYPE.fullmatch(name):
            raise WireError(f"a numpy value of dtype {value.dtype} cannot be sent")
        if isinstance(value, np.generic):
            return ["n", name, self._buffer(value.tobytes()[: value.dtype.itemsize])]
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        flat = value.T if fortran else value if value.flags.c_contiguous else np.ascontiguousarray(value)
        # Not every dtype supports the buffer protocol (datetime64 does not), but its bytes do.
        raw = memoryview(flat.reshape(-1).view(np.uint8)) if flat.nbytes else b""
        return ["a", name, list(value.shape), "F" if fortran else "C", self._buffer(raw)]


class _Decoder:
    def __init__(self, buffers: list[memoryview], resolve: Resolve | None) -> None:
        self.buffers: list[memoryview | None] = [*buffers]
        self.nodes = 0
        self.resolve = resolve

    def value(self, tree: Any, depth: int = 0) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise WireError("a value too large or nested too deep")
        if not isinstance(tree, list):
            if isinstance(tree, dict):
                raise WireError("an untagged value")
            return tree
        tag, items = tree[0], tree[1:]
        if tag == "@":
            if self.resolve is None or not all(isinstance(item, (str, int)) for item in items):
                raise WireError("a reference where none is allowed")
            return self.resolve(items)
        if tag == "h":
            data, attributes = (self.value(item, depth + 1) for item in items[:2])
            if self.resolve is None or not all(isinstance(item, (str, int)) for item in items[2:]):
                raise WireError("a reference where none is allowed")
            return self.resolve(["data", data, attributes, *items[2:]])
        if tag in ("n", "a"):
            return self._array(tag, *items)
        if tag in ("b", "y", "D", "Q", "u"):
            return self._raw(tag, *items)
        if tag == "i":
            return int(items[0], 16)
        if tag == "f":
            return float(_NON_FINITE[_NON_FINITE.index(items[0])])  # each time another object: two NaN are two keys
        parts = [self.value(item, depth + 1) for item in items]
        if tag == "l":
            return parts
        if tag in ("d", "o"):
            made = dict if tag == "d" else OrderedDict
            return made(zip(parts[::2], parts[1::2]))  # noqa: B905 - strict= is not in Python 3.9
        return _MAKE[tag](parts)

    def _buffer(self, index: Any) -> memoryview:
        """Take a buffer. Each is taken once: a message that repeats one could become far larger than its bytes."""
        data = self.buffers[index] if type(index) is int and index >= 0 else None
        if data is None:
            raise WireError("a buffer that is not there")
        self.buffers[index] = None
        return data

    def _raw(self, tag: str, index: Any) -> Any:
        data = self._buffer(index)
        if tag == "b":
            return bytes(data)
        if tag == "y":
            return bytearray(data)
        if tag == "u":
            return bytes(data).decode("utf-8", "surrogatepass")
        numbers = array("d" if tag == "D" else "q")
        numbers.frombytes(data)
        return numbers.tolist()

    def _array(self, tag: str, name: str, *rest: Any) -> Any:
        shape, order, index = rest if tag == "a" else ([], "C", *rest)
        data = self._buffer(index)
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise WireError("an array of a dtype that may not be sent")
        if not (isinstance(shape, list) and len(shape) <= 32 and order in ("C", "F")):
            raise WireError("an array without a shape")
        count = 1
        for size in shape:
            if type(size) is not int or not 0 <= size < 1 << 62:
                raise WireError("an array of an impossible shape")
            count *= size
        try:
            import numpy as np
        except ImportError:
            raise WireError("a numpy value cannot be sent: numpy is not installed on the other side") from None
        dtype = np.dtype(name)
        if count * dtype.itemsize != len(data) or (dtype.itemsize == 0 and count > MAX_NODES):
            raise WireError("an array whose shape is not that of its data")
        made = np.ndarray(tuple(shape), dtype, data if len(data) else None, order=order)
        return made[()] if tag == "n" else made


_MAKE: dict[str, Callable[[list[Any]], Any]] = {
    "t": tuple,
    "s": set,
    "z": frozenset,
    "c": lambda parts: complex(*parts),
    "S": lambda parts: slice(*parts),
    "r": lambda parts: range(*parts),
    "E": lambda parts: Ellipsis if not parts else _MAKE[""](parts),
}


def dump(
    message: Any, refer: Refer = cannot_travel, refer_subclass: ReferSubclass | None = None
) -> tuple[bytes, list[Buffer]]:
    """`message` as a JSON header and the buffers that make up the body. Raises `WireError`."""
    encoder = _Encoder(refer, refer_subclass)
    tree = encoder.tree(message)
    lengths = [len(data) for data in encoder.buffers]
    header = json.dumps([tree, lengths], separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(header) > MAX_HEADER:
        raise WireError(f"a value of more than {MAX_HEADER >> 20} MiB besides its arrays and bytes cannot be sent")
    body: list[Buffer] = []
    for data in encoder.buffers:
        body.append(data)
        if len(data) % _ALIGN:
            body.append(bytes(_ALIGN - len(data) % _ALIGN))
    return header, body


def parse(header: Buffer, body: Buffer, resolve: Resolve | None = None) -> Any:
    """The message that `dump` encoded. Its arrays share the memory of `body`.

    Raises `WireError` and no other exception, whatever the bytes are.
    """
    try:
        tree, lengths = json.loads(bytes(header).decode("ascii"), parse_constant=_no_constant)
        view, buffers, start = memoryview(body), [], 0
        for length in lengths:
            if type(length) is not int or not 0 <= length <= len(view) - start:
                raise WireError("a buffer that is not there")
            buffers.append(view[start : start + length])
            start += length + -length % _ALIGN
        return _Decoder(buffers, resolve).value(tree)
    except WireError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, ImportError) as error:
        raise WireError(f"malformed data ({type(error).__name__})") from None


def _no_constant(name: str) -> Any:
    raise WireError(f"malformed data ({name})")
