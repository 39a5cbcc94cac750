"""A judge's answers: what the schema accepts counts, and what is missing is said."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from pytest_recode.feedback.json_answers import Records
from pytest_recode.metrics.adoption_by_model import items_of, judgements

WANTED = ("sinkhorn.transport_plan", "sinkhorn.cost")
PLAN = {"interface": WANTED[0], "error_type": "T2", "adopted": "YES", "resolved": "NO"}
COST = {"interface": WANTED[1], "error_type": "T3", "adopted": "PARTIAL", "resolved": "YES"}
WHOLE = json.dumps({"items": [PLAN, COST]})


def read(*answers: str, wanted: tuple[str, ...] = WANTED) -> Records:
    records = judgements(Counter(wanted))
    for answer in answers:
        records.add(answer)
    return records


def items(records: Records, wanted: tuple[str, ...] = WANTED) -> list[dict[str, str]]:
    return items_of(records, Counter(wanted))


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
    assert (items(found), found.problems) == (BOTH, ())


def test_what_is_missing_is_named_and_what_was_accepted_stays() -> None:
    found = read(json.dumps({"items": [PLAN, {**COST, "adopted": "MAYBE"}]}))
    assert found.accepted() == (WANTED[0],)
    assert found.problems == (
        "$.items[1].adopted: expected one of 'YES', 'PARTIAL', 'NO'",
        "there is no record for sinkhorn.cost",
    )
    assert items(found) == [item(PLAN)]  # never "no"
    found.add(json.dumps({"items": [{**PLAN, "adopted": "NO"}, COST]}))
    assert (items(found), found.problems) == (BOTH, ())


def test_several_items_of_one_interface_are_told_apart_by_their_order() -> None:
    wanted = (WANTED[0], WANTED[0])
    found = read(json.dumps({"items": [PLAN]}), wanted=wanted)
    assert found.problems == ("sinkhorn.transport_plan has 1 of 2 items",)
    assert found.accepted() == ()
    found.add(json.dumps({"items": [PLAN, {**PLAN, "adopted": "NO"}]}))
    assert [one["adopted"] for one in items(found, wanted)] == ["yes", "no"]


@pytest.mark.parametrize("answer", ["", "The implementer did well.", '{"items": [', "[" * 10_000, '{"items": 3}'])
def test_what_cannot_be_read_is_no_judgement(answer: str) -> None:
    found = read(answer)
    assert items(found) == []
    assert found.problems[-1] == "there is no record for sinkhorn.transport_plan, sinkhorn.cost"
