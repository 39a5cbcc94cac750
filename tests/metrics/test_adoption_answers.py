"""A judge's answer, however it is written: nothing useful is lost, and nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recode.feedback.adoption_answers import Judgements, answer_of

WANTED = ("sinkhorn.transport_plan", "sinkhorn.cost")
PLAN = {"interface": WANTED[0], "error_type": "T2", "adopted": "YES", "resolved": "NO"}
COST = {"interface": WANTED[1], "error_type": "T3", "adopted": "PARTIAL", "resolved": "YES"}
WHOLE = json.dumps({"items": [PLAN, COST]})


def read(*answers: str, wanted: tuple[str, ...] = WANTED) -> Judgements:
    found = Judgements(wanted=wanted)
    for answer in answers:
        found.add(answer)
    return found


def item(given: dict[str, str]) -> dict[str, str]:
    return {**given, "adopted": given["adopted"].lower(), "resolved": given["resolved"].lower()}


BOTH = [item(PLAN), item(COST)]


@pytest.mark.parametrize(
    "answer",
    [
        WHOLE,
        f"```json\n{WHOLE}\n```",
        f"Here is what I found for {{the two}} interfaces:\n\n{WHOLE}\n\nI hope this helps {{you}}.",
        WHOLE.replace("}]}", "},],}"),
        WHOLE.replace('"}', '",}'),
        str({"items": [PLAN, COST]}),
        json.dumps([PLAN, COST]),
        json.dumps(PLAN) + "\n" + json.dumps(COST),
        json.dumps({"items": [PLAN]}) + "\nand\n" + json.dumps({"items": [COST]}),
        json.dumps({"items": [{**PLAN, "adopted": "NO"}, COST]}) + "\nNo, rather:\n" + json.dumps({"items": [PLAN]}),
        json.dumps({"result": {"judgements": [PLAN, COST]}}),
        json.dumps({one["interface"]: {key: one[key] for key in one if key != "interface"} for one in (PLAN, COST)}),
        json.dumps({"items": [{**PLAN, "confidence": 0.9, "reason": "it was", "evidence": None}, {**COST, "notes": None}]}),
        WHOLE.replace("sinkhorn.transport_plan", "`transport_plan()`").replace("sinkhorn.cost", "sinkhorn.py::cost"),
        WHOLE.replace('"interface"', '"function_name"').replace('"adopted"', '"Adopted?"').replace('"resolved"', '"is_resolved"'),
        WHOLE.replace('"error_type"', '"category"').replace('"T2"', '"Type 2: alignment"').replace('"T3"', '"missing knowledge"'),
        WHOLE.replace('"YES"', "true").replace('"NO"', "false").replace('"PARTIAL"', '"partially"'),
        WHOLE.replace('"YES"', '"Yes, fully"').replace('"NO"', '"No - as before."').replace('"PARTIAL"', '"Partly (one of two)"'),
        WHOLE.replace('"YES"', '{"answer": "YES", "why": "the code changed as asked"}'),
        WHOLE[:-2],
    ],
    ids=[
        *("as asked", "fenced", "prose around", "comma in list", "comma in object", "single quotes", "list alone", "one a line"),
        *("two answers", "corrected", "other keys", "interfaces as keys", "more and null fields", "other interfaces", "other fields"),
        *("other categories", "true and false", "answers with reasons", "answer in an object", "cut off"),
    ],
)  # fmt: skip
def test_every_way_to_write_it_is_read(answer: str) -> None:
    found = read(answer)
    assert sorted(found.items(), key=lambda one: one["interface"]) == sorted(BOTH, key=lambda one: one["interface"])
    assert found.problems() == ()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *((True, "yes"), (False, "no"), (1, "yes"), (0, "no"), (0.5, "partial")),
        *(("y", "yes"), ("**YES**", "yes"), ("Fully adopted", "yes"), ("not adopted", "no"), ("partially_resolved", "partial")),
        *(("unresolved", "no"), ("n", "no"), ("in part", "partial"), ("yes: it divides now", "yes")),
        *(("No change was needed", ""), ("N/A", ""), ("unclear", ""), ("", ""), (None, ""), (2, ""), ("YES or NO", ""), (["YES"], "")),
        *(("not sure", ""), ("yes/no", ""), ("none", "")),
    ],
)  # fmt: skip
def test_an_answer_is_what_it_says_or_nothing(given: Any, meant: str) -> None:
    assert answer_of(given) == meant


def test_what_is_missing_is_named_and_what_was_accepted_stays() -> None:
    found = read(json.dumps({"items": [PLAN, {**COST, "adopted": "MAYBE"}]}))
    assert found.accepted() == (WANTED[0],)
    assert found.problems() == ("sinkhorn.cost: its adopted is none of YES, PARTIAL, NO",)
    assert found.items() == [item(PLAN)]  # never "no"
    found.add(json.dumps({"items": [{"interface": "cost", "adopted": "PARTIAL"}]}))
    assert (found.items(), found.problems()) == (BOTH, ())


def test_a_later_answer_does_not_change_what_was_accepted() -> None:
    found = read(json.dumps({"items": [PLAN]}))
    assert found.problems() == ("there is no item for sinkhorn.cost",)
    found.add(json.dumps({"items": [{**PLAN, "adopted": "NO"}, COST]}))
    assert found.items() == BOTH


def test_without_an_error_type_the_rest_counts() -> None:
    found = read(json.dumps({"items": [{**PLAN, "error_type": None}]}), wanted=WANTED[:1])
    assert found.problems() == ("sinkhorn.transport_plan: its error_type is none of T0, T1, T2, T3, T4",)
    assert found.items() == [{"interface": WANTED[0], "adopted": "yes", "resolved": "no"}]


def test_one_interface_need_not_be_named() -> None:
    found = read('{"error_type": "T2", "adopted": "YES", "resolved": "NO"}', wanted=WANTED[:1])
    assert found.items() == [item(PLAN)]


def test_several_items_of_one_interface_are_told_apart_by_their_order() -> None:
    wanted = (WANTED[0], WANTED[0])
    found = read(json.dumps({"items": [{**PLAN, "interface": "transport_plan"}]}), wanted=wanted)
    assert found.problems() == ("there are only 1 of 2 items for sinkhorn.transport_plan",)
    assert found.accepted() == ()
    found.add(json.dumps({"items": [{**PLAN, "adopted": "NO"}]}))
    assert [one["adopted"] for one in found.items()] == ["yes", "no"]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "it was empty"),
        ("The implementer did well.", "it held no JSON object"),
        ('{"items": [', "its JSON is broken"),
        ('{"items": [{"interface": "sinkhorn.other", "adopted": "YES"}]}', "there is no item for"),
    ],
)
def test_what_cannot_be_read_is_no_judgement(answer: str, problem: str) -> None:
    found = read(answer)
    assert found.items() == []
    assert problem in "; ".join(found.problems())
