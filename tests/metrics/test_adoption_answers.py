"""A judge's answers: what the schema accepts counts, and what is missing is said."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from pytest_recode.metrics.adoption_by_model import items_of, judgements
from pytest_recode.researchers.json_answers import Records

INTERFACES = ("sinkhorn.transport_plan", "sinkhorn.cost")
PLAN = {"interface": INTERFACES[0], "error_type": "T2", "adopted": "YES", "resolved": "NO"}
COST = {"interface": INTERFACES[1], "error_type": "T3", "adopted": "PARTIAL", "resolved": "YES"}
WHOLE = json.dumps({"items": [PLAN, COST]})


def read(*answers: str, interfaces: tuple[str, ...] = INTERFACES) -> Records:
    records = judgements(Counter(interfaces))
    for answer in answers:
        records.add(answer)
    return records


def items(records: Records, interfaces: tuple[str, ...] = INTERFACES) -> list[dict[str, str]]:
    return items_of(records, Counter(interfaces))


def item(entry: dict[str, str]) -> dict[str, str]:
    return {**entry, "adopted": entry["adopted"].lower(), "resolved": entry["resolved"].lower()}


BOTH = [item(PLAN), item(COST)]


@pytest.mark.parametrize(
    "answer",
    [WHOLE, f"```json\n{WHOLE}\n```", f"Here it is:\n\n{WHOLE}\n\nI hope this helps.", WHOLE.replace("}]}", "},],}")],
    ids=["as asked", "fenced", "prose around", "trailing commas"],
)
def test_what_stands_around_json_does_not_matter(answer: str) -> None:
    records = read(answer)
    assert (items(records), records.problems) == (BOTH, ())


def test_what_is_missing_is_named_and_what_was_accepted_stays() -> None:
    records = read(json.dumps({"items": [PLAN, {**COST, "adopted": "MAYBE"}]}))
    assert records.accepted() == (INTERFACES[0],)
    assert records.problems == (
        "$.items[1].adopted: expected one of 'YES', 'PARTIAL', 'NO'",
        "there is no record for sinkhorn.cost",
    )
    assert items(records) == [item(PLAN)]  # never "no"
    records.add(json.dumps({"items": [{**PLAN, "adopted": "NO"}, COST]}))
    assert (items(records), records.problems) == (BOTH, ())


def test_several_items_of_one_interface_are_told_apart_by_their_order() -> None:
    interfaces = (INTERFACES[0], INTERFACES[0])
    records = read(json.dumps({"items": [PLAN]}), interfaces=interfaces)
    assert records.problems == ("sinkhorn.transport_plan has 1 of 2 items",)
    assert records.accepted() == ()
    records.add(json.dumps({"items": [PLAN, {**PLAN, "adopted": "NO"}]}))
    assert [one["adopted"] for one in items(records, interfaces)] == ["yes", "no"]


@pytest.mark.parametrize("answer", ["", "The implementer did well.", '{"items": [', "[" * 10_000, '{"items": 3}'])
def test_what_cannot_be_read_is_no_judgement(answer: str) -> None:
    records = read(answer)
    assert items(records) == []
    assert records.problems[-1] == "there is no record for sinkhorn.transport_plan, sinkhorn.cost"
