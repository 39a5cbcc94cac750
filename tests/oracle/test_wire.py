from __future__ import annotations

import os
import random
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from pytest_recode.inside.wire import codec, frames


def there_and_back(value: Any) -> Any:
    header, body = codec.dump(value)
    return codec.parse(header, bytearray(b"".join(body)))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**100), 2**5000),
        *(0.0, -0.0, 5e-324, 1.7e308, float("inf"), float("-inf"), float("nan"), 0.1),
        *(1 + 2j, complex(float("nan"), float("-inf"))),
        *("", "a", "ü\n\x00", "\ud800", b"", b"\x00\xff", bytearray(b"x")),
        *([], [1, [2]], [0.5] * 20, [2**70] * 20, list(range(20)), [True] * 20, [float("nan")] * 20),
        *((), (1, (2,)), {}, {"a": 1, 2: "b", (1, None): [2], None: 0, 1.5: b""}, {"l": ["l", "d", "@"]}),
        *(OrderedDict(), OrderedDict(b=1, a=[2])),
        *(set(), {1, "a"}, frozenset({(1, 2)}), slice(1, None, 2), ..., range(3, 10, 2)),
    ],
)
def test_plain_data_travels(value: Any) -> None:
    back = there_and_back(value)
    assert repr(back) == repr(value)
    assert type(back) is type(value)


DTYPES = "? b B <i2 >i2 i4 u4 i8 u8 >u8 e <f4 >f8 f g F D G M8[ns] M8[25s] M8 m8[D] S5 S0 U3 >U3".split()  # noqa: SIM905


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_arrays_travel(dtype: str, shape: tuple[int, ...]) -> None:
    count = int(np.prod(shape))
    array = np.arange(count).reshape(shape).astype(dtype)
    for sent in (array, np.asfortranarray(array), array[..., ::-1] if shape else array, array.T):
        back = there_and_back(sent)
        assert (back.dtype.str, back.shape) == (sent.dtype.str, sent.shape)
        assert back.tobytes() == sent.tobytes()
        assert back.flags.writeable
    scalar = np.zeros((), dtype)[()]
    back = there_and_back(scalar)
    assert type(back) is type(scalar)
    assert back.dtype == scalar.dtype


def test_subclasses_travel_as_the_plain_type() -> None:
    for base, value in ((int, 3), (float, 1.5), (str, "a"), (bytes, b"a"), (list, [1]), (tuple, (1,)), (dict, {1: 2})):
        back = there_and_back(type("Sub", (base,), {"__eq__": lambda *_: True, "__hash__": None})(value))
        assert type(back) is base
        assert back == value
    assert type(there_and_back(np.zeros(2).view(type("Sub", (np.ndarray,), {})))) is np.ndarray
    assert type(there_and_back(np.ma.masked_array([1.0]))) is np.ndarray


OVERRIDES = "iter getitem len int float complex pos index str repr buffer bytes contains".split()  # noqa: SIM905
METHODS = "items keys values real imag dtype shape flags tolist tobytes view start".split()  # noqa: SIM905


@pytest.mark.parametrize(
    "value",
    [
        *(3, 1.5, 1 + 2j, "a", b"a", bytearray(b"a"), [1], (1,), {1: 2}, OrderedDict(a=1), {1, 2}, frozenset({3})),
        *(np.arange(3), np.ones((2, 2))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_travels_as_its_data_whatever_its_own_methods_return(value: Any) -> None:
    def other(*_: Any) -> Any:
        return iter([9])

    base = type(value)
    overrides = {f"__{name}__": other for name in OVERRIDES} | {name: property(other) for name in METHODS}
    overridden = type("Sub", (base,), {**overrides, "__eq__": lambda *_: True, "__hash__": None})
    made = value.view(overridden) if base is np.ndarray else overridden(value)
    back = there_and_back(made)
    assert type(back) is base
    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "a value of type builtins.object"),
        (float, "a value of type builtins.type"),
        ([len], "a value of type builtins.builtin_function_or_method"),
        (np.array([None]), "a numpy value of dtype object"),
        (np.zeros(2, "i4,f8"), "a numpy value of dtype [('f0', '<i4'), ('f1', '<f8')]"),
        (1 << (1 << 21), "an int of more than 1048576 bits"),
    ],
    ids=["object", "type", "function", "object array", "structured array", "huge int"],
)
def test_what_cannot_travel(value: Any, words: str) -> None:
    with pytest.raises(frames.WireError) as info:
        codec.dump(value)
    assert str(info.value).startswith(words)


@pytest.mark.slow
def test_too_deep_or_too_many_parts() -> None:
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    many: list[Any] = [0]
    for _ in range(60):
        many = [many, many]
    for value, words in (
        (deep, "a value nested more than 100 deep"),
        (many, "a value of more than 2000000 parts"),
    ):
        with pytest.raises(frames.WireError) as info:
            codec.dump(value)
        assert str(info.value).startswith(words)


HOSTILE = [
    b"",
    b"[]",
    b"[1]",
    b"{}",
    b"[[],[]]",
    b"\xff",
    b"[NaN,[]]",
    b"[{},[]]",
    b'[["nonesuch"],[]]',
    b'[["@","object",1],[]]',
    b'[["b",0],[]]',
    b'[["b",0],[-1]]',
    b'[["b",0],[9]]',
    b'[["b",0],[true]]',
    b'[["b","0"],[4]]',
    b'[["b",-1],[4]]',
    b'[["b",false],[4]]',
    b'[["l",["b",0],["b",0]],[4]]',
    b'[["l",["D",0],["D",0]],[8]]',
    b'[["l",["a","<f8",[1],"C",0],["n","<f8",0]],[8]]',
    b'[["i","zz"],[]]',
    b'[["f","1.0"],[]]',
    b'[["c","x"],[]]',
    b'[["T","object"],[]]',
    b'[["T","float"],[]]',
    b'[["T","numpy float64"],[]]',
    b'[["T","dtype <f8"],[]]',
    b'[["T",1],[]]',
    b'[["s",["l"]],[]]',
    b'[["d",["l"],1],[]]',
    b'[["r",0,1,0],[]]',
    b'[["Q",0],[3]]',
    b'[["a","O",[1],"C",0],[8]]',
    b'[["a","V8",[1],"C",0],[8]]',
    b'[["a","i4,f8",[1],"C",0],[8]]',
    b'[["a","<f8",[2],"C",0],[8]]',
    b'[["a","<f8",[-1],"C",0],[8]]',
    b'[["a","<f8",[4611686018427387904,4],"C",0],[0]]',
    b'[["a","<f8",[1.0],"C",0],[8]]',
    b'[["a","<f8",[true],"C",0],[8]]',
    b'[["a","<f8",1,"C",0],[8]]',
    b'[["a","<f8",[1],"Z",0],[8]]',
    b'[["a","<f8",[1],"C"],[8]]',
    b'[["a","|S0",[1000000000000],"C",0],[0]]',
    b'[["n","O",0],[8]]',
    b"[" * 100_000,
    b'[["l",' * 500 + b"1" + b"]" * 500 + b",[]]",
]


@pytest.mark.invariant("candidate-output-is-data")
@pytest.mark.parametrize("header", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bytes_are_a_wire_error(header: bytes) -> None:
    with pytest.raises(frames.WireError):
        codec.parse(header, bytes(8))


@pytest.mark.invariant("candidate-output-is-data")
def test_any_bytes_are_a_message_or_a_wire_error() -> None:
    header, parts = codec.dump(
        {"a": np.arange(5.0), "b": [1, (2, 3)], "c": {1: 2}, "d": 2**80, "e": float("nan"), "f": {1}}
    )
    body = b"".join(parts)
    source = random.Random(0)
    refused = 0
    for _ in range(5000):
        changed = bytearray(header)
        for _ in range(source.randint(1, 4)):
            changed[source.randrange(len(changed))] = source.choice(b'[]{},"0123456789aldtnfSrE@-.')
        try:
            codec.parse(changed, body)
        except frames.WireError:
            refused += 1
    assert refused > 3000


def test_frames_over_a_pipe() -> None:
    reading, writing = os.pipe()
    array = np.random.default_rng(0).random(1 << 20)
    with os.fdopen(reading, "rb", buffering=0) as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        sender = threading.Thread(target=frames.write_message, args=(writer, {"array": array, "n": 1}))
        sender.start()
        message = frames.read_message(reader, 1 << 24)
        sender.join()
        assert message["n"] == 1
        assert (message["array"] == array).all()
        frames.write_message(writer, {"n": 2})
        with pytest.raises(frames.WireError, match="a frame of more than 0 MiB"):
            frames.read_message(reader, 10)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader:
        os.write(writing, b"rcd1")
        os.close(writing)
        with pytest.raises(EOFError):
            frames.read_message(reader, 1 << 24)


def test_bytes_that_are_no_frame() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as reader:
        os.write(writing, b"garbage" * 10)
        os.close(writing)
        with pytest.raises(frames.WireError, match=r"^bytes that are no frame$"):
            frames.read_message(reader, 1 << 24)
