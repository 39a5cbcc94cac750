"""Numbers that hidden tests measure: they travel with the verdict, decide nothing, and are the tests' own."""

from __future__ import annotations

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.feedback.levels import render
from pytest_recode.oracle.judge import KeptGraders
from pytest_recode.sandboxes import Sandbox
from tests.oracle.conftest import grade

ANSWER = "def f(x):\n    return x / 2\n"
TESTS = """\
def test_half(candidate, score):
    half = candidate.m.f(3.0)
    score("half", half)
    score("whole", 3)
    assert half == 1.5

def test_other(candidate, score):
    score("other", candidate.m.f(1.0))
    assert candidate.m.f(1.0) == 1.0
"""


def test_a_verdict_has_them_also_of_failed_cases(sandbox: Sandbox) -> None:
    verdict = grade(sandbox, TESTS, ANSWER)
    assert verdict.scores == {"half": 1.5, "whole": 3.0, "other": 0.5}
    assert [case.outcome.value for case in verdict.cases] == ["passed", "failed"]


def test_feedback_of_every_level_says_them(sandbox: Sandbox) -> None:
    verdict = grade(sandbox, TESTS, ANSWER)
    text = render(verdict, [], 0, 1, targets=["m.py"])
    assert text.startswith(
        "Feedback on turn 1, level L0.\nhidden tests: 1 of 2 fail.\nmeasured: half 1.5, whole 3, other 0.5.\n"
    )


def test_a_grader_of_several_answers_has_those_of_each(bare: Sandbox) -> None:
    graders = KeptGraders()
    try:
        answers = [ANSWER, ANSWER.replace("x / 2", "x")]
        found = [grade(bare, TESTS, answer, seed=1, graders=graders).scores["half"] for answer in answers]
    finally:
        graders.close()
    assert found == [1.5, 3.0]


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ('score("a", float("nan"))', "'a' is nan, and not a finite number"),
        ('score("a", 10**400)', "and not a finite number"),
        ('score("a", "much")', "'a' is 'much', and not a finite number"),
        ('score("a", 1)\n    score("a", 2)', "the test reports 'a' twice"),
        ('score("a\\n", 1)', "is no text of one line"),
        ('score("", 1)', "is no text of one line"),
    ],
)
@pytest.mark.mostly_slow
def test_a_wrong_one_is_the_fault_of_the_test(bare: Sandbox, call: str, fault: str) -> None:
    with pytest.raises(GraderError, match=fault):
        grade(bare, f"def test_f(candidate, score):\n    {call}\n", ANSWER)


def test_what_a_candidate_returns_is_no_number_unless_it_is_one(bare: Sandbox) -> None:
    """A test that passes on what the candidate returned unchecked cannot be made to break the grading."""
    tests = 'def test_f(candidate, score):\n    score("a", candidate.m.f())\n'
    for value in ("float('inf')", "'much'", "None", "[1]", "object()"):
        verdict = grade(bare, tests, f"def f():\n    return {value}\n", "def f():\n    return 1\n")
        assert [case.outcome.value for case in verdict.cases] == ["failed"]
        assert verdict.scores == {}
