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


@pytest.mark.slow
def test_slow():
    pass
"""


@pytest.mark.parametrize(
    ("selected", "cases"),
    [
        ("not slow", ["each_value_once[a-x]", "each_value_once[b-y]", "each_value_once[c-x]"]
         + [f"one_in_three[{number}]" for number in (0, 3, 6)]),
        ("slow", ["each_value_once[a-y]", "each_value_once[b-x]", "each_value_once[c-y]"]
         + [f"one_in_three[{number}]" for number in (1, 2, 4, 5)] + ["slow"]),
    ],
)  # fmt: skip
def test_the_two_runs_have_each_case_once(pytester: pytest.Pytester, selected: str, cases: list[str]) -> None:
    pytester.makepyfile(test_family=TESTS)
    result = pytester.runpytest_inprocess("-p", "tests.slow", "-p", "no:recode", "--collect-only", "-q", "-m", selected)
    found = [line.partition("::test_")[2] for line in result.outlines if "::" in line]
    assert sorted(found) == sorted(cases)
