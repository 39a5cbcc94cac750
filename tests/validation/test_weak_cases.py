"""Which text names the cases that pass for answers that mean nothing."""

from __future__ import annotations

from pytest_recode.validation.weak_cases import weak_cases


def test_cases_that_pass_for_the_same_answers_are_named_once() -> None:
    passing = {"nan": ["a", "b"], "0.0": ["b", "c", "a"], "None": [], "True": ["b", "a"]}
    assert weak_cases(passing) == [
        "cases a, b pass for 3 of 4 constant answers: nan, 0.0, True",
        "case c passes for 1 of 4 constant answers: 0.0",
    ]


def test_no_case_is_named_if_none_passes() -> None:
    assert weak_cases({"nan": [], "None": []}) == weak_cases({"the empty target": []}) == weak_cases({}) == []


def test_an_answer_alone_is_named_with_its_cases() -> None:
    assert weak_cases({"the empty target": ["a", "b"]}) == ["the empty target passes a, b"]
