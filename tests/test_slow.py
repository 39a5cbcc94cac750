"""Which cases of a test the default run has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = """\
import pytest


@pytest.mark.mostly_slow
@pytest.mark.parametrize("way", ["x", "y"])
@pytest.mark.parametrize("task", ["a", "b", "c"])
def test_two_parameters(task, way):
    pass


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", range(7))
def test_seven_cases(name):
    pass


@pytest.fixture(params=["-n0", "-n2"], ids=["alone", "workers"])
def workers(request):
    return request.param


@pytest.mark.slow
def test_left_out(workers):
    pass


def test_first(workers):
    pass


@pytest.mark.parametrize("workers", ["-n2"])
def test_fourth(workers):
    pass


@pytest.mark.slow
def test_slow():
    pass
"""


DEFAULT = ["two_parameters[a-x]", "seven_cases[0]", "first[alone]", "fourth[-n2]"]
SLOW = [
    *("two_parameters[a-y]", *(f"two_parameters[{task}-{way}]" for task in "bc" for way in "xy")),
    *(f"seven_cases[{number}]" for number in range(1, 7)),
    *("left_out[alone]", "left_out[workers]", "first[workers]", "slow"),
]


@pytest.mark.parametrize(("selected", "cases"), [("not slow", DEFAULT), ("slow", SLOW)])
def test_the_two_runs_have_each_case_once(pytester: pytest.Pytester, selected: str, cases: list[str]) -> None:
    pytester.makepyfile(test_family=TESTS)
    result = pytester.runpytest_inprocess("-p", "tests.slow", "-p", "no:recode", "--collect-only", "-q", "-m", selected)
    found = [line.partition("::test_")[2] for line in result.outlines if "::" in line]
    assert sorted(found) == sorted(cases)


def test_every_invariant_has_a_test_and_every_test_an_invariant() -> None:
    root = Path(__file__).parents[1]
    page = (root / "docs/explanation/invariants.md").read_text()
    stated = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
    marked = re.compile(r'^@pytest\.mark\.invariant\("(.*)"\)', re.MULTILINE)
    tested = {name for path in (root / "tests").rglob("test_*.py") for name in marked.findall(path.read_text())}
    assert len(stated) == 12
    assert tested == stated
