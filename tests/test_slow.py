"""Which cases of a large family the default run keeps."""

from __future__ import annotations

import pytest

TESTS = """\
import pytest


@pytest.mark.mostly_slow
@pytest.mark.parametrize("way", ["x", "y"])
@pytest.mark.parametrize("task", ["a", "b", "c"])
def test_each_value_once(task, way):
    pass


@pytest.mark.mostly_slow(one_in=3)
@pytest.mark.parametrize("name", range(7))
def test_one_in_three(name):
    pass


@pytest.fixture(params=["-n0", "-n2"], ids=["alone", "workers"])
def workers(request):
    return request.param


@pytest.mark.alone
def test_zeroth(workers):
    pass


@pytest.mark.slow
def test_left_out(workers):
    pass


def test_first(workers):
    pass


def test_second(workers):
    pass


@pytest.mark.both_ways
def test_third(workers):
    pass


@pytest.mark.parametrize("workers", ["-n2"])
def test_fourth(workers):
    pass


@pytest.mark.slow
def test_slow():
    pass
"""


DEFAULT = [
    *("each_value_once[a-x]", "each_value_once[b-y]", "each_value_once[c-x]"),
    *("one_in_three[0]", "one_in_three[3]", "one_in_three[6]"),
    *(
        "zeroth[alone]",
        "first[workers]",
        "second[alone]",
        "third[alone]",
        "third[workers]",
        "fourth[-n2]",
    ),
]
SLOW = [
    *("each_value_once[a-y]", "each_value_once[b-x]", "each_value_once[c-y]"),
    *("one_in_three[1]", "one_in_three[2]", "one_in_three[4]", "one_in_three[5]"),
    *("zeroth[workers]", "left_out[alone]", "left_out[workers]", "first[alone]", "second[workers]", "slow"),
]


@pytest.mark.parametrize(("selected", "cases"), [("not slow", DEFAULT), ("slow", SLOW)])
def test_the_two_runs_have_each_case_once(pytester: pytest.Pytester, selected: str, cases: list[str]) -> None:
    pytester.makepyfile(test_family=TESTS)
    result = pytester.runpytest_inprocess("-p", "tests.slow", "-p", "no:recode", "--collect-only", "-q", "-m", selected)
    found = [line.partition("::test_")[2] for line in result.outlines if "::" in line]
    assert sorted(found) == sorted(cases)
