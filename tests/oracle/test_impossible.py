"""Impossible twins: no answer that passes the hidden tests passes with one expected value shifted, and one that fits the shift does."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.formats import directory
from pytest_recode.inside.grading.equivalence import Mismatch, assert_equivalent
from pytest_recode.inside.separate_grader.shifted_expectation import shifted
from pytest_recode.oracle.impossible import refusing, shifted_case
from pytest_recode.oracle.judge import judge
from pytest_recode.oracle.separate import EVERY_CASE
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.oracle.conftest import grade

MANIFESTS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))

TESTS = """
    from pytest_recode.testing import assert_equivalent

    def test_square(candidate):
        assert_equivalent(candidate.m.f(3.0), 9.0)
        assert_equivalent(candidate.m.f(4.0), 16.0)

    def test_sign(candidate):
        assert candidate.m.f(-3.0) > 0
"""
SQUARE = "def f(x):\n    return x * x\n"
CASE = "test_m.py::test_square"


def outcomes(verdict: Verdict) -> dict[str, str]:
    return {case.id.partition("::")[2]: case.kind or case.outcome.value for case in verdict.cases}


def test_a_right_answer_fails_exactly_the_shifted_case(bare: Sandbox) -> None:
    verdict = grade(bare, TESTS, SQUARE, shifted=CASE)
    assert outcomes(verdict) == {"test_square": "mismatch", "test_sign": "passed"}
    assert verdict.shifted == CASE
    assert "result is 9.0, expected 7.875" in verdict.cases[0].message


def test_an_answer_that_fits_the_shifted_value_solves_the_twin(bare: Sandbox) -> None:
    fitted = "def f(x):\n    return 7.875 if x == 3.0 else x * x\n"
    assert grade(bare, TESTS, fitted, shifted=CASE).solved
    assert not grade(bare, TESTS, fitted).solved


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    "case",
    [
        "with pytest.raises(AssertionError):\n            assert_equivalent(candidate.m.f(3.0), 9.0)",
        "candidate.m.f(3.0)",  # compares nothing
        "assert candidate.m.f(3.0) == 9.0",
        "candidate.m.f\n        assert_equivalent(9.0, 9.0)",  # before any value of the candidate's
    ],
)
def test_a_case_whose_shifted_comparison_accepted_nothing_does_not_pass(bare: Sandbox, case: str) -> None:
    text = f"""
    import pytest
    from pytest_recode.testing import assert_equivalent

    def test_f(candidate):
        {case}
    """
    wrong = "def f(x):\n    return 7.875\n" if "raises" in case else SQUARE
    [graded] = grade(bare, text, wrong, SQUARE, shifted="test_m.py::test_f").cases
    assert graded.outcome is Outcome.FAILED
    assert "accepted no answer" in graded.message or "raises" in case


def test_each_case_that_compares_a_value_can_be_shifted(bare: Sandbox) -> None:
    verdict = grade(bare, TESTS, SQUARE, shifted=EVERY_CASE)
    assert refusing(verdict) == [CASE]


@pytest.mark.parametrize(
    ("expected", "other"),
    [
        (8.0, 7.0),
        (0.0, 1.0),
        (3, 2),
        (0, 1),
        (True, False),
        ("abc", "ab"),
        ([1.0, -16.0, 2.0], [1.0, -14.0, 2.0]),
        ({"a": [1, 2], "b": "x"}, {"a": [1, 1], "b": "x"}),
        ((3 + 4j, "x"), [2.625 + 3.5j, "x"]),
    ],
)
def test_the_largest_number_moves_towards_zero(expected: Any, other: Any) -> None:
    assert shifted(expected) == (other,)


@pytest.mark.parametrize("expected", [None, [], {}, math.nan, [math.inf, None], np.array([]), {1, 2}, slice(2)])
def test_what_has_no_value_to_shift(expected: Any) -> None:
    assert shifted(expected) is None


def test_of_an_array_one_entry_is_shifted() -> None:
    array = np.array([[1.0, math.nan], [-8.0, math.inf]], np.float32)
    pair = shifted(array)
    assert pair is not None
    assert pair[0].dtype == array.dtype
    assert np.array_equal(pair[0], np.array([[1.0, math.nan], [-7.0, math.inf]], np.float32), equal_nan=True)
    assert array[1, 0] == -8.0
    tiny = shifted(np.uint8(255))
    assert tiny is not None
    assert (tiny[0], tiny[0].dtype) == (254, np.uint8)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(-(10**6), 10**6), st.booleans()
)


@pytest.mark.hypothesis
@given(
    expected=st.one_of(numbers, st.lists(numbers, min_size=1, max_size=4)),
    rtol=st.floats(0, 0.9),
    atol=st.one_of(st.none(), st.floats(0, 1e3)),
    data=st.data(),
)
def test_no_value_agrees_with_both(expected: Any, rtol: float, atol: float | None, data: st.DataObject) -> None:
    """The argument of the module, tried: an actual value between the two, wherever it is."""
    how = {"rtol": rtol, "atol": atol, "check_dtype": False}
    pair = shifted(expected, **how)
    if pair is None:
        return
    share = data.draw(st.floats(-1, 2))
    actual = between(expected, pair[0], share)
    agreeing = 0
    for value in (expected, pair[0]):
        with suppress(Mismatch):
            assert_equivalent(actual, value, **how)
            agreeing += 1
    assert agreeing < 2


def between(one: Any, other: Any, share: float) -> Any:
    if isinstance(one, list):
        return [between(*pair, share) for pair in zip(one, other, strict=True)]
    return one + share * (other - one)


@pytest.fixture(scope="module")
def parsed() -> dict[str, Any]:
    return {task.id: task for path in MANIFESTS for task in directory.load(path)}


@pytest.mark.mostly_slow
@pytest.mark.parametrize("name", [path.parent.name for path in MANIFESTS])
def test_the_reference_of_each_bundled_task_fails_its_twin_in_one_case(
    walls: Sandbox, parsed: dict[str, Any], name: str
) -> None:
    task = parsed[name]
    parts = task.load()
    case = shifted_case(task, parts, walls)
    assert case == shifted_case(task, parts, walls)
    verdict = judge(task, parts, parts.reference, walls, shifted=case)
    failed = [(each.id, each.kind) for each in verdict.cases if each.outcome is not Outcome.PASSED]
    assert failed in ([(case, "mismatch")], [(case, "not-finite")])
