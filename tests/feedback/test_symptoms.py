"""Sentences that follow from the kind of a failure alone, where an author's text on wrong values would lead away from the cause."""

from __future__ import annotations

import inspect
import re

import pytest

from pytest_recode import verdict
from pytest_recode.feedback.derived import USUALLY
from pytest_recode.feedback.symptoms import PHRASES, SYMPTOMS
from pytest_recode.researchers.researcher import researcher
from pytest_recode.verdict import Exc
from tests.feedback.scene import REFERENCE, STUB, case, parts, task, turn

WRONG = REFERENCE.replace("/ total", "* total")
WORDS = {
    "stats.mean": {
        "category": "T2",
        "description": "The mean is off.",
        "analysis": "The weights are not used.",
        "suggestion": "Divide by the sum of the weights.",
    }
}
NOT_OF_VALUES = ("dtype", "no-exception", "other-exception", "no-warning")


def labels(
    level: int, *kinds: str, code: str = WRONG, words: dict[str, dict[str, str]] | None = WORDS
) -> dict[str, str]:
    """The labelled lines on `stats.mean`, whose hidden tests fail in these ways."""
    played = turn(code, *(case(kind=kind) for kind in kinds))
    text = researcher(task(), parts(words))([played], level).text
    return dict(re.findall(r"^(Symptom|Description|Analysis|Suggestion): (.*)$", text, re.MULTILINE))


def test_every_kind_of_a_case_has_its_symptom() -> None:
    documented = re.search(r'"""Kind of failure: ([^;]*);', inspect.getsource(verdict))
    assert documented is not None
    assert {*re.findall(r'"([a-z-]+)"', documented[1]), ""} == set(SYMPTOMS)


@pytest.mark.parametrize("kind", NOT_OF_VALUES)
def test_at_l1_an_authors_text_on_wrong_values_is_not_said_of_other_failures(kind: str) -> None:
    assert set(labels(1, kind)) == set(labels(1, kind, words=None)) == {"Symptom"}


@pytest.mark.parametrize("kind", NOT_OF_VALUES)
def test_l2_says_how_it_comes_about_before_what_usually_goes_wrong(kind: str) -> None:
    found = labels(2, kind)["Analysis"]
    ours, usual = found.split(f" {USUALLY} ")
    assert ours == sentence(kind)
    assert usual == "The weights are not used."
    assert labels(2, kind, words=None)["Analysis"] == ours


@pytest.mark.parametrize("kind", sorted(set(SYMPTOMS) - set(NOT_OF_VALUES)))
def test_nothing_is_added_to_other_symptoms(kind: str) -> None:
    found = labels(2, kind, words=None)
    assert "Description" not in found
    assert found["Analysis"] == ("The fault is in what `mean` does, or in what it or its hidden tests use.")


@pytest.mark.parametrize("kind", NOT_OF_VALUES)
def test_beside_wrong_values_both_are_said(kind: str) -> None:
    found = labels(3, "mismatch", kind)
    assert found["Description"] == "The mean is off."
    assert found["Analysis"] == f"{sentence(kind)} The weights are not used."
    assert found["Suggestion"].endswith(" Divide by the sum of the weights.")
    assert SYMPTOMS[kind].advice.format(name="mean")[1:] in found["Suggestion"]


def test_the_most_frequent_kind_is_said_first() -> None:
    for kinds in (("no-exception", "not-finite", "not-finite"), ("not-finite", "no-exception", "no-exception")):
        found = labels(1, *kinds)
        assert found["Description"] == "The mean is off."
        assert found["Symptom"].lower().startswith(SYMPTOMS[kinds[1]].symptom.lower())


def test_how_it_comes_about_is_said_of_each_kind() -> None:
    assert labels(2, "no-exception", "other-exception", words=None)["Analysis"] == (
        "A check in `mean` is missing, or lets too much pass. A check in `mean` is missing, comes after the code that raises, or raises"
        " another type."
    )


@pytest.mark.parametrize("kind", ["exception", "other-exception"])
def test_an_exception_of_a_stub_is_told_as_that(kind: str) -> None:
    """It is no other one than the one asked for, and no statement to compare with the instruction."""
    raised = Exc(type="NotImplementedError", message="", frames=("stats.py:3 in mean: raise NotImplementedError",))
    [item] = researcher(task(), parts(WORDS))([turn(STUB, case(kind=kind, exception=raised))], 4).items
    assert item.description == "NotImplementedError is raised: code is still to be written."
    assert item.analysis == (
        "`mean` is still as the repository came with it. NotImplementedError is raised at stats.py:3 in mean."
    )
    assert item.suggestion == "Write `mean`. Divide by the sum of the weights."


def test_of_code_that_is_missing_no_cause_of_wrong_results_is_told() -> None:
    [item] = researcher(task(), parts(WORDS))([turn("x = 1", case(kind="exception"))], 4).items
    assert item.analysis == "stats.py defines no `mean`."
    assert item.suggestion.endswith("Divide by the sum of the weights.")


def test_a_missing_piece_explains_the_symptom_itself() -> None:
    for code in (STUB, "x = 1", "def mean(values): return 1", "def mean("):
        assert sentence("dtype") not in labels(2, "dtype", code=code)["Analysis"]


def test_of_code_that_is_right_no_fault_is_described() -> None:
    played = turn(REFERENCE.replace("EPSILON = 1e-12", "EPSILON = 1"), case("stats.deviation", "no-exception"))
    [item] = researcher(task(), parts())([played], 2).items
    assert "Nothing needs to be changed in the code of `deviation` itself" in item.analysis
    assert "a check that the instruction asks of" not in item.analysis.lower()


def test_authors_of_each_field_are_recorded() -> None:
    played = turn(WRONG, case(), case(kind="dtype"))
    [item] = researcher(task(), parts(WORDS))([played], 3).items
    assert item.authors["description"] == "task"
    assert {item.authors[name] for name in ("analysis", "suggestion")} == {"derived+task"}


def test_phrases_name_nothing_but_the_interface() -> None:
    assert {field for phrase in PHRASES for field in re.findall(r"\{.*?\}", phrase)} == {"{name}"}


def sentence(kind: str) -> str:
    phrase = SYMPTOMS[kind].analysis.format(name="mean")
    return f"{phrase[0].upper()}{phrase[1:]}."


def test_an_interface_that_is_missing_is_said_to_be_undefined_whatever_the_test_asks_for() -> None:
    missing = Exc(type="AttributeError", message="module 'stats' has no attribute 'mean'")
    cases = (case(kind="undefined", exception=missing), case("stats.deviation", "undefined", exception=missing))
    played = turn("def deviation(values, *, ddof=1):\n    return 1\n", *cases)
    for words in (None, WORDS):
        text = researcher(task(), parts(words))([played], 3).text
        mean, deviation = text.split("Interface: ")[1:]
        for part in (mean, deviation):
            assert "Symptom: A function or class that the hidden tests use is not defined.\n" in part
        assert "exception is raised than" not in text
        assert "Stats.py defines no `mean`." in mean.replace("stats.py", "Stats.py")
        assert "Define in each target all that the instruction names there, under exactly these names." in deviation
