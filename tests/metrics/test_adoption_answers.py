"""A judge's answers: what the schema accepts counts, and what is missing is said."""

from __future__ import annotations

import json

import pytest

from pytest_recode.feedback.adoption_answers import Judgements
from pytest_recode.metrics.adoption_by_model import schema

WANTED = ("sinkhorn.transport_plan", "sinkhorn.cost")
PLAN = {"interface": WANTED[0], "error_type": "T2", "adopted": "YES", "resolved": "NO"}
COST = {"interface": WANTED[1], "error_type": "T3", "adopted": "PARTIAL", "resolved": "YES"}
WHOLE = json.dumps({"items": [PLAN, COST]})


def read(*answers: str, wanted: tuple[str, ...] = WANTED) -> Judgements:
    found = Judgements(wanted=wanted, schema=schema(list(dict.fromkeys(wanted))))
    for answer in answers:
        found.add(answer)
    return found


def item(given: dict[str, str]) -> dict[str, str]:
    return {**given, "adopted": given["adopted"].lower(), "resolved": given["resolved"].lower()}


BOTH = [item(PLAN), item(COST)]


@pytest.mark.parametrize(
    "answer",
    [WHOLE, f"```json\n{WHOLE}\n```", f"Here it is:\n\n{WHOLE}\n\nI hope this helps.", WHOLE.replace("}]}", "},],}")],
    ids=["as asked", "fenced", "prose around", "trailing commas"],
)
def test_what_stands_around_json_does_not_matter(answer: str) -> None:
    found = read(answer)
    assert (found.items(), found.problems) == (BOTH, ())


def test_what_is_missing_is_named_and_what_was_accepted_stays() -> None:
    found = read(json.dumps({"items": [PLAN, {**COST, "adopted": "MAYBE"}]}))
    assert found.accepted() == (WANTED[0],)
    assert found.problems == (
        "$.items[1].adopted: expected one of 'YES', 'PARTIAL', 'NO'",
        "sinkhorn.cost has 0 of 1 items",
    )
    assert found.items() == [item(PLAN)]  # never "no"
    found.add(json.dumps({"items": [{**PLAN, "adopted": "NO"}, COST]}))
    assert (found.items(), found.problems) == (BOTH, ())


def test_several_items_of_one_interface_are_told_apart_by_their_order() -> None:
    wanted = (WANTED[0], WANTED[0])
    found = read(json.dumps({"items": [PLAN]}), wanted=wanted)
    assert found.problems == ("sinkhorn.transport_plan has 1 of 2 items",)
    assert found.accepted() == ()
    found.add(json.dumps({"items": [PLAN, {**PLAN, "adopted": "NO"}]}))
    assert [one["adopted"] for one in found.items()] == ["yes", "no"]


@pytest.mark.parametrize("answer", ["", "The implementer did well.", '{"items": [', "[" * 10_000, '{"items": 3}'])
def test_what_cannot_be_read_is_no_judgement(answer: str) -> None:
    found = read(answer)
    assert found.items() == []
    assert len(found.problems) >= 2
