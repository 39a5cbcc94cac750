"""Which text names the cases that pass for answers that mean nothing."""

from __future__ import annotations

from pytest_recode.validation.weak_cases import weak_cases


def test_cases_that_pass_for_the_same_answers_are_named_once() -> None:
    passing = {"nan": ["a", "b"], "0.0": ["b", "c", "a"], "None": [], "True": ["b", "a"]}
    assert weak_cases(passing) == [
        "cases a, b pass for 3 of 4 constant answers: nan, 0.0, True: assert what fails for these values, in the case or in one more",
        "case c passes for 1 of 4 constant answers: 0.0: assert what fails for this value, in the case or in one more",
    ]


def test_no_case_is_named_if_none_passes() -> None:
    assert weak_cases({"nan": [], "None": []}) == weak_cases({"the empty target": []}) == weak_cases({}) == []


def test_an_answer_alone_is_named_with_its_cases() -> None:
    assert weak_cases({"the empty target": ["a", "b"]}) == [
        "the empty target passes a, b: assert in each something that fails for it"
    ]


def test_the_next_step_for_a_target_that_always_raises() -> None:
    [line] = weak_cases({"ValueError": ["a"], "nan": []})
    assert line.endswith(
        "ValueError: a target that always raises ValueError passes: make a valid call in the same case"
    )
    [line] = weak_cases({"ValueError": ["a"], "nan": ["a"]})
    assert line.endswith(
        "make a valid call in the same case, and assert what fails for this value, in the case or in one more"
    )
