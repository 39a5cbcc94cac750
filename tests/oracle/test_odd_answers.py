"""Right answers in odd styles: each judge takes them for what they are."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from tests.oracle import test_shared_pytest
from tests.oracle.conftest import grade

TESTS = """
    import math
    import numpy as np
    import pytest
    from pytest_recode.testing import assert_equivalent

    def test_list(candidate, reference):
        assert_equivalent(candidate.m.f([1.0, 2.0, 6.0]), reference.m.f([1.0, 2.0, 6.0]))

    def test_array(candidate, reference, rng):
        x = rng.normal(size=9)
        assert math.isclose(float(candidate.m.f(x)), float(np.mean(x)), rel_tol=1e-9)

    def test_empty(candidate):
        with pytest.raises(ValueError):
            candidate.m.f([])
"""
SHARED_TESTS = """\
import math
import numpy as np
import pytest
import stats
from pytest_recode.testing import assert_equivalent


def test_list(reference):
    assert_equivalent(stats.f([1.0, 2.0, 6.0]), reference.stats.f([1.0, 2.0, 6.0]))


def test_array(rng):
    x = rng.normal(size=9)
    assert math.isclose(float(stats.f(x)), float(np.mean(x)), rel_tol=1e-9)


def test_empty():
    with pytest.raises(ValueError):
        stats.f([])
"""
REFERENCE = """\
def f(values):
    if not len(values):
        raise ValueError("empty")
    return float(sum(values) / len(values))
"""
ODD = {
    "a generator": """\
def running(values):
    total = 0.0
    for count, value in enumerate(values, 1):
        total += value
        yield total / count

def f(values):
    mean = None
    for mean in running(values):
        pass
    if mean is None:
        raise ValueError("empty")
    return float(mean)
""",
    "a generator that is sent values": """\
def averager():
    total, count, mean = 0.0, 0, None
    while True:
        total += yield mean
        count += 1
        mean = total / count

def f(values):
    if len(values) == 0:
        raise ValueError
    steps = averager()
    next(steps)
    try:
        return float([steps.send(value) for value in values][-1])
    finally:
        steps.close()
""",
    "decorators": """\
import functools

def checked(*checks):
    def decorate(function):
        @functools.wraps(function)
        def inner(values):
            for check in checks:
                check(values)
            return function(values)
        return inner
    return decorate

def filled(values):
    if len(values) == 0:
        raise ValueError("empty")

@checked(filled)
def f(values):
    return float(functools.reduce(lambda a, b: a + b, values) / len(values))
""",
    "a class with __slots__ that is called": """\
class Mean:
    __slots__ = ("total", "count", "__weakref__")

    def __init__(self):
        self.total, self.count = 0.0, 0

    def __iadd__(self, value):
        self.total += value
        self.count += 1
        return self

    def __call__(self, values):
        mean = Mean()
        for value in values:
            mean += value
        if not mean.count:
            raise ValueError("empty")
        return float(mean.total / mean.count)

f = Mean()
""",
    "frozen dataclasses": """\
import dataclasses

@dataclasses.dataclass(frozen=True, order=True)
class Sample:
    values: tuple = ()
    weight: float = dataclasses.field(default=1.0, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "values", tuple(float(value) for value in self.values))

    @property
    def mean(self):
        if self == Sample():
            raise ValueError("empty")
        return sum(self.values) / len(self.values)

def f(values):
    return dataclasses.replace(Sample(), values=values).mean
""",
    "lru_cache": """\
from functools import lru_cache

@lru_cache(maxsize=None)
def total(values):
    return values[0] + total(values[1:]) if values else 0.0

def f(values):
    if len(values) == 0:
        raise ValueError("empty")
    return float(total(tuple(map(float, values))) / len(values))
""",
    "a subclass of numpy's array": """\
import numpy as np

class Series(np.ndarray):
    def __new__(cls, values, name="x"):
        made = np.asarray(values, float).view(cls)
        made.name = name
        return made

    def __array_finalize__(self, other):
        self.name = getattr(other, "name", None)

def f(values):
    series = Series(values)
    if not series.size:
        raise ValueError("empty")
    return series.mean().item()
""",
    "a module-level __getattr__": """\
import math

def __getattr__(name):
    if name == "f":
        return _made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

def _made(values):
    if len(values) == 0:
        raise ValueError("empty")
    return math.fsum(values) / len(values)
""",
    "an exception with attributes of its own": """\
class Empty(ValueError):
    def __init__(self, values):
        super().__init__()
        self.values = list(values)

    def __getattr__(self, name):
        raise KeyError(name)

    def __str__(self):
        return "empty"

def f(values):
    if len(values) == 0:
        raise Empty(values)
    return float(sum(values) / len(values))
""",
    "a descriptor, a metaclass and a protocol": """\
from typing import Protocol

class Reducer(Protocol):
    def reduce(self, values): ...

class Registry(type):
    kinds = {}

    def __init__(cls, name, bases, space):
        super().__init__(name, bases, space)
        Registry.kinds[name.lower()] = cls

class Part:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, holder, owner=None):
        return self if holder is None else getattr(holder, self.name)

    def __set__(self, holder, value):
        setattr(holder, self.name, value)

class Mean(metaclass=Registry):
    values = Part()

    def reduce(self, values):
        self.values = values
        if len(self.values) == 0:
            raise ValueError("empty")
        return float(sum(self.values) / len(self.values))

def f(values):
    reducer: Reducer = Registry.kinds["mean"]()
    return reducer.reduce(values)
""",
    "a context, closures and a walrus": """\
import contextlib

@contextlib.contextmanager
def counting():
    count = 0

    def add():
        nonlocal count
        count += 1
        return count

    yield add

def f(values):
    with counting() as add:
        total = sum(value for value in values if add())
        if (count := add() - 1) == 0:
            raise ValueError("empty")
    return float(total / count)
""",
    "what a numpy scalar names": """\
import numpy as np

NAMES = np.array(["empty", "full"])

def f(values):
    if len(values) == 0:
        raise ValueError(NAMES[0])
    return np.float64(np.add.reduce(np.asarray(values, float)) / np.float64(len(values)))
""",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_solved(walls: Sandbox, name: str) -> None:
    verdict = grade(walls, TESTS, ODD[name], REFERENCE)
    assert verdict.solved, [case.message for case in verdict.cases]


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
def test_an_odd_answer_is_solved_in_the_process_of_its_judge(walls: Sandbox, name: str) -> None:
    verdict = test_shared_pytest.graded(walls, ODD[name], SHARED_TESTS, REFERENCE, interfaces=("stats.f",))
    assert verdict.tampering == ()
    assert verdict.solved, [case.message for case in verdict.cases]


@pytest.mark.slow
def test_an_exception_that_answers_for_any_attribute(bare: Sandbox) -> None:
    """It is told like another one, whatever its attributes are."""
    code = """
        class Odd(Exception):
            def __getattr__(self, name):
                HOW

        def f(x):
            raise Odd("odd")
    """
    for how in ("return 0", "return name", "raise KeyError(name)", "return self", "return None"):
        [case] = grade(
            bare,
            "def test_f(candidate): assert candidate.m.f(1) == 1\n",
            code.replace("HOW", how),
            "def f(x): return x",
        ).cases
        assert case.exception is not None, case.message
        assert (case.kind, case.exception.type, case.exception.message) == ("exception", "Odd", "odd")
