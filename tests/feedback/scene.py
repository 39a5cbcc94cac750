"""A small task and turns of it, for the tests of what is said about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_recode.episode import Move, Turn
from pytest_recode.task import Parts, Task
from pytest_recode.verdict import Case, Exc, Outcome, Verdict

REFERENCE = '''\
import math

from tools import centre, scale as rescale

EPSILON = 1e-12


def mean(values, weights=None):
    """The weighted mean."""
    weights = weights or [1.0] * len(values)
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights)) / total


def deviation(values, *, ddof=1):
    """The standard deviation."""
    centred = centre(values)
    return math.sqrt(_squares(centred) / (len(values) - ddof + EPSILON))


def _squares(values):
    return sum(v * v for v in values)


class Running:
    """Mean and deviation of a stream."""

    def __init__(self, start=0.0):
        self.total = start

    def push(self, value, weight=1.0):
        self.total += value * weight
        return self.total
'''

STUB = '''\
def mean(values, weights=None):
    """The weighted mean."""
    raise NotImplementedError


def deviation(values, *, ddof=1):
    raise NotImplementedError


class Running:
    def push(self, value, weight=1.0):
        raise NotImplementedError
'''

TESTS = """\
import pytest

CASES = [3.14159, 2.71828, "a secret label", 1728.5]


@pytest.mark.interface("stats.mean")
def test_mean_of_unequal_weights(candidate):
    got = candidate.stats.mean(CASES[:2], weights=[0.125, 0.875])
    assert abs(got - 2.771204) < 1e-6, "the mean of CASES is off by more than the tolerance"
"""

INTERFACES = ("stats.mean", "stats.deviation", "stats.Running.push")


def parts(
    words: Mapping[str, Mapping[str, str]] | None = None, paper: str | None = "Means are sums, divided.\n"
) -> Parts:
    return Parts(
        instruction="Write mean(values, weights=None), deviation(values, *, ddof=1) and Running.push in stats.py.\n",
        paper=paper,
        repo={
            "stats.py": STUB.encode(),
            "tools.py": b"def centre(values):\n    return values\n\n\ndef scale(values):\n    return values\n",
        },
        reference={"stats.py": REFERENCE.encode()},
        tests={"test_stats.py": TESTS.encode()},
        feedback=words,
    )


def task(interfaces: tuple[str, ...] = INTERFACES) -> Task:
    return Task(
        id="stats",
        title="Means",
        format="directory",
        manifest=Path("task.yaml"),
        targets=("stats.py",),
        interfaces=interfaces,
        load=parts,
    )


def case(
    interface: str = "stats.mean",
    kind: str = "mismatch",
    *,
    passed: bool = False,
    name: str = "test_stats.py::test_mean_of_unequal_weights[a secret label]",
    exception: Exc | None = None,
) -> Case:
    """A case that would give the tests away if its id or its message were ever shown."""
    return Case(
        id=f"{name}-{interface}-{kind}",
        interface=interface,
        outcome=Outcome.PASSED if passed else Outcome.FAILED,
        kind="" if passed else kind,
        message="" if passed else f"E  assert abs(got - 2.771204) < 1e-6\n{TESTS}",
        exception=exception,
    )


def turn(code: str | bytes | None, *cases: Case, number: int = 1) -> Turn:
    """A turn whose stats.py is `code`; None: the agent deleted it."""
    data = code.encode() if isinstance(code, str) else code
    return Turn(
        number=number,
        feedback=None,
        move=Move(),
        verdict=Verdict(cases=cases, seed=7),
        targets={} if data is None else {"stats.py": data},
    )
