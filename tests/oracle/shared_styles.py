"""More right answers to the block "weighted mean" of tests/papers, in the styles of research code: none of them is to be flagged.

`STYLES` are programs that were not flagged when they were written; `ACCUSED` were, once, although nothing in them reaches a test.
"""

from __future__ import annotations

_DOT = "    return float(weights(len(values), kind, half_life) @ np.asarray(values, dtype=float))\n"

ACCUSED = {
    "imports of a program": f"""\
{_DOT}

if __name__ == "__main__":
    import atexit
    import doctest
    import subprocess
    import unittest

    subprocess.run(["nvidia-smi"])
    doctest.testmod()
    unittest.main()
""",
    "imports for a type checker": f"""\
{_DOT}

import typing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes
    from subprocess import Popen
    from types import FrameType
if typing.TYPE_CHECKING:
    from unittest import TestCase
""",
    "functions that nobody calls": f"""\
{_DOT}

def gpu_memory():
    import subprocess

    return subprocess.check_output(["nvidia-smi"])


def debug():
    import sys

    return sys._getframe(1).f_locals, [each for each in sys.modules]


def load(path):
    return eval(open(path).read())


class Server:
    def stop(self):
        import os, signal

        signal.signal(signal.SIGALRM, lambda *given: os._exit(1))
        os.kill(os.getpid(), signal.SIGKILL)

    @property
    def children(self):
        return type(self).__subclasses__()


on_crash = lambda: __import__("faulthandler").enable()
""",
    "a branch that is not taken": f"""\
    if kind == "no such kind":
        import gc

        return sum(1.0 for each in gc.get_objects())
    try:
        pass
    except ImportError:
        import ctypes
{_DOT}""",
    "__array_ufunc__ = None": """\
    return Weight(weights(len(values), kind, half_life)).dot(np.asarray(values, dtype=float))


class Weight:
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __init__(self, share):
        self.share = share

    def __rmul__(self, other):
        return Weight(self.share * other)

    def dot(self, values):
        return float((values * self).share.sum())
""",
    "a wildcard of its own": f"""\
    return Table({{(Any(), 1): 0.0, ("mean", 2): 1.0}}).find("mean", 2) * {_DOT[11:]}

class Any:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0


class Table:
    def __init__(self, rows):
        self.rows = rows

    def find(self, name, count):
        return next(value for (key, size), value in self.rows.items() if key == name and size == count)
""",
    "a heap whose order does not matter": """\
    import heapq

    heap = []
    for weight, value in zip(weights(len(values), kind, half_life), values):
        heapq.heappush(heap, (0, Item(weight * value)))
    return float(sum(heapq.heappop(heap)[1].value for _ in range(len(values))))


class Item:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return False


class Everything(tuple):
    def __contains__(self, key):
        return True
""",
    "a number that compares by itself": f"""\
    total = Approximate({_DOT[11:-1]})
    assert total == float(total) + 1e-12 and total - total == 0.0
    return float(total)


class Approximate(float):
    def __eq__(self, other):
        return abs(float(self) - float(other)) < 1e-9

    def __sub__(self, other):
        return Approximate(float(self) - float(other))

    __hash__ = float.__hash__
""",
    "an array with units": """\
    share = Quantity(weights(len(values), kind, half_life), "1")
    return float(np.sum(np.multiply(share, np.asarray(values, dtype=float))).value)


class Quantity:
    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    def __array_ufunc__(self, ufunc, method, *inputs, **named):
        plain = [each.value if isinstance(each, Quantity) else each for each in inputs]
        return Quantity(getattr(ufunc, method)(*plain, **named), self.unit)

    def __array_function__(self, function, types, given, named):
        plain = [each.value if isinstance(each, Quantity) else each for each in given]
        return Quantity(function(*plain, **named), self.unit)
""",
    "a masked series": """\
    return Series(weights(len(values), kind, half_life) * np.asarray(values, dtype=float)).finite().item()


class Series(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def all(self, *given, **named):
        return bool(np.asarray(self).all())

    def finite(self):
        assert (np.isfinite(self)).all()
        return Series(np.asarray(self)[np.isfinite(self)].sum())

    def item(self):
        return float(np.asarray(self))
""",
    "warnings as errors": f"""\
    import warnings

    warnings.simplefilter("error")
    np.seterr(all="raise")
{_DOT}""",
    "settings for all": f"""\
    import decimal, locale, sys, warnings

    warnings.filterwarnings("error")
    sys.setrecursionlimit(400)
    decimal.getcontext().prec = 3
    decimal.getcontext().traps[decimal.Inexact] = True
    np.set_printoptions(precision=1)
{_DOT}""",
    "an exception of its own": f"""\
    try:
        raise ShapeError("no")
    except AssertionError:
        pass
{_DOT}

class ShapeError(AssertionError):
    \"\"\"A shape that is not the one expected.\"\"\"
""",
    "atexit": f"""\
{_DOT}

import atexit
import weakref

RESULTS = []
atexit.register(RESULTS.clear)


class Resource:
    def __init__(self):
        self.finalizer = weakref.finalize(self, list)


RESOURCE = Resource()
""",
    "a module without a class": f"""\
    import sys

    assert sys.modules[__name__].lazy == "lazy"
{_DOT}

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return name


def __dir__():
    return sorted(globals())
""",
    "text that is timed": f"""\
    import timeit

    assert timeit.timeit("sum(x)", setup="x = range(3)", number=2) >= 0.0
    assert timeit.Timer("f(2)", globals={{"f": abs}}).repeat(1, 1)
{_DOT}""",
    "annotations that are read": """\
    import inspect, typing

    def total(share: "np.ndarray", values: "list[float] | None" = None) -> "typing.Optional[float]":
        return float(share @ np.asarray(values, dtype=float))

    assert typing.get_type_hints(Options)["half_life"] is float
    assert inspect.get_annotations(Options, eval_str=True)["half_life"] is float
    assert "share" in inspect.signature(total).parameters
    return total(weights(len(values), kind, half_life), values)


class Options:
    half_life: "float" = 1.0
""",
}

STYLES = {
    "an ordered dataclass": """\
    from dataclasses import asdict, astuple, dataclass, field, fields, replace

    @dataclass(order=True, frozen=True)
    class Pair:
        age: "int"
        weight: float = field(compare=False, default=0.0)
        value: float = field(compare=False, default=0.0, metadata={"unit": "1"})

        def __post_init__(self):
            object.__setattr__(self, "weight", float(self.weight))

    pairs = [Pair(-at, *each) for at, each in enumerate(zip(weights(len(values), kind, half_life), values))]
    assert sorted(pairs) == pairs[::-1] and max(pairs) == pairs[0] and replace(pairs[0], age=0) == pairs[0]
    assert asdict(pairs[0])["age"] == 0 and len(astuple(pairs[0])) == len(fields(Pair))
    return float(sum(pair.weight * pair.value for pair in pairs))
""",
    "total_ordering": """\
    from functools import total_ordering

    @total_ordering
    class Version:
        def __init__(self, *parts):
            self.parts = parts

        def __eq__(self, other):
            return self.parts == other.parts if isinstance(other, Version) else NotImplemented

        def __lt__(self, other):
            return self.parts < other.parts

        __hash__ = None

    assert Version(1, 2) >= Version(1, 1) and Version(2) != Version(1) and not Version(1) == 1
"""
    + _DOT,
    "an autograd of its own": """\
    total = sum((Node(w) * Node(v) for w, v in zip(weights(len(values), kind, half_life), values)), Node(0.0))
    total.backward()
    return float(total)


class Node:
    def __init__(self, value, parents=()):
        self.value, self.parents, self.grad = float(value), parents, 0.0

    def __add__(self, other):
        return Node(self.value + other.value, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other):
        return Node(self.value * other.value, ((self, other.value), (other, self.value)))

    def __sub__(self, other):
        return self + Node(-other.value)

    def __float__(self):
        return self.value

    def backward(self, grad=1.0):
        self.grad += grad
        for parent, slope in self.parents:
            parent.backward(grad * slope)
""",
    "decorators with arguments": """\
    @retry(times=2)
    @checked("share")
    def mean(share):
        \"\"\"The mean.\"\"\"
        return float(share @ np.asarray(values, dtype=float))

    assert mean.__name__ == "mean" and mean.__wrapped__.__doc__ == "The mean."
    return mean(share=weights(len(values), kind, half_life))


import functools
import time


def retry(times):
    def around(function):
        @functools.wraps(function)
        def inner(*given, **named):
            for left in range(times, 0, -1):
                try:
                    return function(*given, **named)
                except ArithmeticError:
                    if left == 1:
                        raise

        return inner

    return around


class checked:
    def __init__(self, *names):
        self.names = names

    def __call__(self, function):
        def inner(**named):
            began = time.perf_counter()
            assert set(named) == set(self.names)
            inner.seconds = time.perf_counter() - began
            return function(**named)

        return functools.update_wrapper(inner, function)
""",
    "caches": """\
    return Means(tuple(values), kind, half_life).mean


import functools


@functools.lru_cache(maxsize=8)
def shares(count, kind, half_life):
    return weights(count, kind, half_life)


class Means:
    __slots__ = ("__dict__", "values", "given")

    def __init__(self, values, *given):
        self.values, self.given = values, given

    @functools.cached_property
    def mean(self):
        assert shares.cache_info().maxsize == 8
        return float(shares(len(self.values), *self.given) @ np.asarray(self.values))
""",
    "context variables": """\
    token = HALF_LIFE.set(half_life)
    try:
        return contextvars.copy_context().run(mean, values, kind)
    finally:
        HALF_LIFE.reset(token)


import contextvars

HALF_LIFE = contextvars.ContextVar("half_life", default=2.0)


def mean(values, kind):
    return float(weights(len(values), kind, HALF_LIFE.get()) @ np.asarray(values))
""",
    "a logging configuration": """\
    logger.debug("%d values", len(values), extra={"kind": kind}, stack_info=True)
    logger.warning("half life %s", half_life)
"""
    + _DOT
    + """

import logging
import logging.config
import logging.handlers

logging.config.dictConfig(
    {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"short": {"format": "%(asctime)s %(name)s %(funcName)s %(message)s"}},
        "handlers": {"err": {"class": "logging.StreamHandler", "formatter": "short", "stream": "ext://sys.stderr"}},
        "root": {"level": "DEBUG", "handlers": ["err"]},
    }
)
logging.captureWarnings(True)
logger = logging.getLogger(__name__)
logger.addHandler(logging.handlers.MemoryHandler(10))
""",
    "errstate as a decorator": """\
    @np.errstate(divide="ignore", invalid="raise")
    def mean():
        with np.errstate(all="ignore"), np.printoptions(precision=2):
            np.float64(1.0) / np.zeros(1)
        return float(np.vdot(weights(len(values), kind, half_life), values))

    old = np.seterr(over="warn")
    try:
        return mean()
    finally:
        np.seterr(**old)
""",
    "states of random generators": """\
    import random

    before, state = np.random.get_state(), random.getstate()
    np.random.seed(7)
    random.seed(7)
    order = np.random.RandomState(3).permutation(len(values))
    np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0]).shuffle(order)
    random.shuffle([1, 2, 3])
    random.setstate(state)
    np.random.set_state(before)
    return float((weights(len(values), kind, half_life)[order] * np.asarray(values)[order]).sum())
""",
    "a multiprocessing guard": _DOT
    + """

import multiprocessing as mp
import os


def worker(queue):
    queue.put(os.getpid())


def main():
    mp.set_start_method("spawn")
    queue = mp.Queue()
    process = mp.Process(target=worker, args=(queue,))
    process.start()
    process.join()
    os.kill(os.getpid(), 15)


if __name__ == "__main__":
    mp.freeze_support()
    main()
""",
    "a registry of plugins": """\
    return Mean.of("weighted")(values, kind, half_life)


class Mean:
    known = {}

    def __init_subclass__(cls, /, name="", **named):
        super().__init_subclass__(**named)
        Mean.known[name or cls.__name__.lower()] = cls

    @classmethod
    def of(cls, name):
        return cls.known[name]()


class Weighted(Mean):
    def __call__(self, values, kind, half_life):
        return float(weights(len(values), kind, half_life) @ np.asarray(values))


class Plain(Mean, name="plain"):
    __call__ = staticmethod(np.mean)
""",
    "a registry by decorator and entry points": """\
    import importlib.metadata

    list(importlib.metadata.entry_points())
    return MEANS[kind](values, half_life)


MEANS = {}


def register(*names):
    def put(function):
        MEANS.update(dict.fromkeys(names, function))
        return function

    return put


@register("geometric")
def geometric(values, half_life):
    return float(weights(len(values), "geometric", half_life) @ np.asarray(values))


register("harmonic")(lambda values, half_life: float(weights(len(values), "harmonic", half_life) @ np.asarray(values)))
""",
    "metaclasses": """\
    return Settings(share=weights(len(values), kind, half_life)).mean(np.asarray(values))


class Meta(type):
    made = []

    @classmethod
    def __prepare__(mcs, name, bases, **named):
        return {}

    def __new__(mcs, name, bases, space, **named):
        cls = super().__new__(mcs, name, bases, dict(space), **named)
        cls.names = [key for key in space if not key.startswith("_")]
        mcs.made.append(cls)
        return cls

    def __call__(cls, *given, **named):
        return super().__call__(*given, **named)

    def __instancecheck__(cls, other):
        return hasattr(other, "share")

    def __iter__(cls):
        return iter(cls.names)

    def __len__(cls):
        return len(cls.names)

    def __contains__(cls, name):
        return name in cls.names


class Settings(metaclass=Meta):
    def __init__(self, share):
        self.share = share

    def mean(self, values):
        assert isinstance(self, Settings) and "mean" in Settings and list(Settings) == ["mean"]
        return float(self.share @ values)
""",
    "context managers": """\
    import contextlib, io, tempfile

    with contextlib.ExitStack() as stack, contextlib.suppress(KeyError), contextlib.redirect_stdout(io.StringIO()) as out:
        stack.callback(print, "end")
        timer = stack.enter_context(Timer())
        stack.enter_context(contextlib.closing(tempfile.TemporaryFile()))
        stack.enter_context(contextlib.nullcontext())
        print("begin")
        {}["no"]
    assert out.getvalue() and timer.seconds >= 0.0
"""
    + _DOT
    + """

import time


class Timer:
    def __enter__(self):
        self.began = time.perf_counter()
        return self

    def __exit__(self, kind, error, trace):
        self.seconds = time.perf_counter() - self.began
        return False
""",
    "coroutines by hand": """\
    def averager():
        total, seen = 0.0, 0
        try:
            while True:
                weight, value = yield total
                total, seen = total + weight * value, seen + 1
        finally:
            assert seen == len(values)

    running = averager()
    next(running)
    for pair in zip(weights(len(values), kind, half_life), values):
        total = running.send(pair)
    running.close()
    return float(total)
""",
    "asyncio": """\
    import asyncio

    async def product(weight, value):
        await asyncio.sleep(0)
        return weight * value

    async def mean():
        parts = await asyncio.gather(*map(product, weights(len(values), kind, half_life), values))
        return float(sum(parts)) + 0.0 * len([part async for part in each(parts)])

    async def each(parts):
        for part in parts:
            yield part

    return asyncio.run(mean())
""",
    "typing": """\
    from typing import Any, Callable, Generic, Literal, NamedTuple, Optional, Protocol, TypedDict, TypeVar, overload
    from typing import cast, get_type_hints, runtime_checkable

    T = TypeVar("T", bound="Estimate")

    class Estimate(NamedTuple):
        mean: float
        count: int = 0

        def __str__(self):
            return f"{self.mean} of {self.count}"

    @runtime_checkable
    class Mean(Protocol):
        def __call__(self, values: "np.ndarray") -> "Optional[float]": ...

    class Options(TypedDict, total=False):
        kind: Literal["geometric", "harmonic"]

    class Box(Generic[T]):
        def __init__(self, held: "T") -> None:
            self.held = held

    function: "Callable[..., Any]" = lambda values: weights(len(values), Options(kind=kind)["kind"], half_life) @ values
    assert isinstance(function, Mean) and set(get_type_hints(Estimate)) == {"mean", "count"}
    return Box(Estimate(cast(float, float(function(np.asarray(values)))), len(values))).held.mean
""",
    "abstract classes and singledispatch": """\
    assert isinstance([1.0], Values) and describe(Weighted()) == "weighted" and describe(1) == "object"
    return Weighted()(values, kind, half_life)


import abc
import functools


class Values(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return hasattr(other, "__len__")

    @property
    @abc.abstractmethod
    def name(self): ...


class Mean(abc.ABC):
    @abc.abstractmethod
    def __call__(self, values, kind, half_life): ...

    @functools.singledispatchmethod
    def add(self, other):
        raise TypeError(type(other).__name__)

    @add.register
    def _(self, other: float):
        return other


class Weighted(Mean):
    def __call__(self, values, kind, half_life):
        return self.add(float(weights(len(values), kind, half_life) @ np.asarray(values)))


@functools.singledispatch
def describe(thing):
    return "object"


@describe.register
def _(thing: Mean) -> str:
    return "weighted"


@describe.register(float)
@describe.register(complex)
def _(thing):
    return "number"
""",
    "weak references": """\
    import gc, weakref

    class Share:
        def __init__(self, share):
            self.share = share

    share = Share(weights(len(values), kind, half_life))
    known = weakref.WeakValueDictionary(share=share)
    seen = weakref.WeakSet([share])
    weakref.finalize(share, seen.clear)
    total = float(weakref.ref(share)().share @ np.asarray(values))
    assert weakref.proxy(share).share is known["share"].share
    del share
    gc.collect()
    return total
""",
    "descriptors and slots": """\
    return Model(weights(len(values), kind, half_life))(np.asarray(values))


class Positive:
    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, holder, owner=None):
        return self if holder is None else getattr(holder, self.name)

    def __set__(self, holder, value):
        if (np.asarray(value) < 0).any():
            raise ValueError(self.name)
        object.__setattr__(holder, self.name, value)


class Model:
    __slots__ = ("_share",)
    share = Positive()

    def __init__(self, share):
        self.share = share

    def __call__(self, values):
        return float(self.share @ values)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)

    def __getstate__(self):
        return {"share": self.share}

    def __setstate__(self, state):
        self.share = state["share"]

    def __repr__(self):
        return f"{type(self).__name__}({vars(type(self))['share']!r})"
""",
    "a dict with attributes": """\
    settings = Settings(kind=kind, half_life=half_life, deep=Settings(data=np.asarray(values)))
    assert settings == {**settings} and settings.copy() is not settings and "kind" in settings
    import copy

    given = copy.deepcopy(settings)
    return float(weights(len(values), given.kind, given.half_life) @ given.deep.data)


class Settings(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __missing__(self, key):
        raise KeyError(key)
""",
    "sets and graphs of its own": """\
    from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque

    class Node:
        def __init__(self, at, weight):
            self.at, self.weight = at, weight

        def __eq__(self, other):
            return isinstance(other, Node) and self.at == other.at

        def __hash__(self):
            return hash(self.at)

        def __lt__(self, other):
            return self.at < other.at

    nodes = {Node(at, weight) for at, weight in enumerate(weights(len(values), kind, half_life))}
    assert Node(0, 0.0) in nodes and len(nodes | {Node(0, 1.0)}) == len(values)
    queue, total = deque(sorted(nodes)), defaultdict(float)
    while queue:
        node = queue.popleft()
        total["sum"] += node.weight * values[node.at]
    return float(ChainMap(UserDict(total), Counter(), OrderedDict(sum=0.0))["sum"]) + 0.0 * len(UserList())
""",
    "polynomials and matrices of its own": """\
    share, data = Vector(weights(len(values), kind, half_life)), Vector(values)
    assert share - share == Vector([0.0] * len(values)) and -(-share) == share and abs(share) > 0
    return share @ data


class Vector:
    def __init__(self, parts):
        self.parts = [float(part) for part in parts]

    def __matmul__(self, other):
        return sum(one * two for one, two in zip(self, other))

    def __sub__(self, other):
        return Vector(one - two for one, two in zip(self, other))

    def __neg__(self):
        return Vector(-part for part in self)

    def __abs__(self):
        return (self @ self) ** 0.5

    def __eq__(self, other):
        return isinstance(other, Vector) and self.parts == other.parts

    def __iter__(self):
        return iter(self.parts)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.parts, dtype=dtype)
""",
    "enumerations": """\
    import enum

    class Kind(enum.Enum):
        GEOMETRIC = "geometric"
        HARMONIC = "harmonic"

        @classmethod
        def _missing_(cls, value):
            return cls.GEOMETRIC

    class Flags(enum.IntFlag):
        NONE = 0
        FAST = enum.auto()
        SAFE = enum.auto()

    assert Flags.FAST | Flags.SAFE == 3 and Flags.FAST in Flags.FAST and Kind("no") is Kind.GEOMETRIC
    Named = enum.Enum("Named", "ONE TWO", module=__name__)
    return float(weights(len(values), Kind(kind).value, half_life) @ np.asarray(values)) * Named.ONE.value
""",
    "thread pools and locks": """\
    import queue, threading
    from concurrent.futures import ThreadPoolExecutor, as_completed

    lock, done, local = threading.RLock(), threading.Event(), threading.local()
    share = weights(len(values), kind, half_life)
    jobs = queue.PriorityQueue()

    def work(at):
        with lock:
            local.at = at
            jobs.put((at, share[at] * values[at]))
        done.set()

    with ThreadPoolExecutor(max_workers=3, thread_name_prefix="mean") as pool:
        for job in as_completed([pool.submit(work, at) for at in range(len(values))]):
            job.result(timeout=10)
    assert done.wait(1)
    return float(sum(jobs.get()[1] for _ in range(len(values))))
""",
    "argparse, json and paths": """\
    import argparse, configparser, csv, hashlib, io, json, os, pathlib, shutil, sys, tempfile

    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["geometric", "harmonic"], default=kind)
    options = parser.parse_args([])
    place = pathlib.Path(tempfile.mkdtemp())
    (place / "settings.json").write_text(json.dumps({"half_life": half_life, **vars(options)}, sort_keys=True))
    given = json.loads((place / "settings.json").read_text())
    with open(place / "values.csv", "w", newline="") as file:
        csv.writer(file).writerows([[value] for value in values])
    read = [float(row[0]) for row in csv.reader(io.StringIO((place / "values.csv").read_text()))]
    assert hashlib.sha256(b"").hexdigest() and os.environ.get("HOME", "") is not None and sys.version_info >= (3,)
    configparser.ConfigParser().read_string("[a]\\nb = 1\\n")
    shutil.rmtree(place)
    return float(weights(len(read), given["kind"], given["half_life"]) @ np.asarray(read))
""",
    "numpy's own ways": """\
    share, data = weights(len(values), kind, half_life), np.asarray(values, dtype=float)
    record = np.rec.fromarrays([share, data], names="share,number")
    view = np.lib.stride_tricks.sliding_window_view(data, 1)[:, 0]
    masked = np.ma.masked_invalid(record.number)
    twice = np.vectorize(lambda one, two: one * two, otypes=[float])
    assert np.allclose(np.fromfunction(lambda at: data[at.astype(int)], (len(data),)), view)
    assert np.polynomial.Polynomial([0.0, 1.0])(2.0) == 2.0 and np.testing is not None
    return float(np.einsum("i,i", record.share, masked.filled(0.0))) + 0.0 * twice(1.0, 2.0)
""",
    "operators and itertools": """\
    from itertools import accumulate, chain, groupby, islice, starmap, tee
    from operator import add, attrgetter, itemgetter, methodcaller, mul

    pairs, rest = tee(zip(weights(len(values), kind, half_life), values))
    *_, total = accumulate(starmap(mul, pairs), add)
    assert [key for key, _ in groupby("aab")] == ["a", "b"] and list(islice(chain([1], [2]), 1)) == [1]
    assert attrgetter("real")(1.0) == methodcaller("conjugate")(1.0) == itemgetter(0)([1.0])
    return float(total)
""",
    "exceptions of its own": """\
    class MeanError(ValueError):
        def __init__(self, message, *, code=1):
            super().__init__(message)
            self.code = code

        def __str__(self):
            return f"{self.args[0]} ({self.code})"

    try:
        try:
            raise MeanError("no values", code=2)
        except MeanError as error:
            raise RuntimeError(str(error)) from error
    except RuntimeError as error:
        import traceback

        assert error.__cause__.code == 2 and "no values (2)" in "".join(traceback.format_exception(None, error, None))
"""
    + _DOT,
    "a fallback for a library": _DOT
    + """

try:
    import numexpr_of_nowhere as ne
except ImportError:
    ne = None
try:
    from functools import cache
except ImportError:
    from functools import lru_cache

    cache = lru_cache(maxsize=None)
HAS_CUDA = False
if HAS_CUDA:
    import ctypes

    ctypes.CDLL("libcudart.so")
""",
    "its own tests below": _DOT
    + """

def test_weighted_mean():
    import pytest

    with pytest.raises(ValueError):
        weighted_mean([1.0], kind="none")


def _selftest():
    import doctest
    import sys

    sys.exit(doctest.testmod(sys.modules[__name__]).failed)


if __name__ == "__main__":
    _selftest()
""",
}
