"""The check and the schema of a value are derived from its type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema
import pytest

import pytest_recode.records
from docs.generate import record_schema
from pytest_recode.records.typed_schema import Count, Level, Name, Share, check_of, known, one_of, schema_of
from tests.metrics.samples import own_run, record, replay


class Inner(TypedDict):
    name: Annotated[Name, "of a thing"]
    level: NotRequired[Level | None]


class Outer(TypedDict):
    kind: Literal["outer"]
    count: Count
    share: Share
    colour: Annotated[str, known("red", "green")]
    size: Annotated[str, one_of("S", "M")] | None
    inner: list[Inner]
    one: Inner | None
    more: NotRequired[dict[str, float]]


GOOD: dict[str, Any] = {
    "kind": "outer",
    "count": 0,
    "share": 1,
    "colour": "of a later version",
    "size": None,
    "inner": [{"name": "a"}, {"name": "b", "level": None}, {"name": "c", "level": "L4"}],
    "one": None,
    "more": {"x": 1.5, "y": 2},
    "added by a later version": [],
}


def test_what_the_type_allows_is_right() -> None:
    assert check_of(Outer)(GOOD) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "inner"}, ".kind is 'inner': must be outer"),
        ({"count": -1}, ".count is -1: must be a whole number from 0"),
        ({"count": True}, ".count is true: must be a whole number from 0"),
        ({"count": 2**53 + 1}, ".count is 9007199254740993: must be a whole number from 0"),
        ({"share": float("inf")}, ".share is inf: must be a number"),
        ({"share": True}, ".share is true: must be a number"),
        ({"share": 10**400}, ""),
        ({"colour": None}, ".colour is null: must be a text"),
        ({"size": "L"}, ".size is 'L': must be S or M or null"),
        ({"inner": {}}, ".inner is {}: must be a list"),
        ({"inner": [{"name": "a"}, {"name": " "}]}, ".inner[1].name is ' ': must be a nonempty text"),
        ({"inner": [{"name": "a"}, {"level": "L1"}]}, ".inner[1]: lacks 'name'"),
        ({"inner": [{"name": "a", "level": "L5"}]}, ".inner[0].level is 'L5': must be L0 or L1 or L2 or L3 or L4 or null"),
        ({"one": []}, ".one is []: must be an object or null"),
        ({"one": {"name": 1}}, ".one.name is 1: must be a nonempty text or null"),
        ({"more": {"x": "1"}}, ".more.x is '1': must be a number"),
    ],
)  # fmt: skip
def test_the_first_wrong_key_is_named(change: dict[str, Any], words: str) -> None:
    assert check_of(Outer)(GOOD | change) == words


def test_the_schema_of_a_type() -> None:
    inner = {
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "of a thing"},
            "level": {"enum": ["L0", "L1", "L2", "L3", "L4", None]},
        },
    }
    found = schema_of(Outer)
    assert found["required"] == ["kind", "count", "share", "colour", "size", "inner", "one"]
    assert found["properties"] == {
        "kind": {"enum": ["outer"]},
        "count": {"type": "integer", "minimum": 0},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "colour": {"enum": ["red", "green"]},
        "size": {"enum": ["S", "M", None]},
        "inner": {"type": "array", "items": {"type": "object", **inner}},
        "one": {"type": ["object", "null"], **inner},
        "more": {"type": "object", "additionalProperties": {"type": "number"}},
    }


def test_the_published_schema_is_that_of_the_type() -> None:
    """If not: `python -m docs.generate`."""
    path = Path(pytest_recode.records.__file__).parent / "records.schema.json"
    assert path.read_text("utf-8") == record_schema()


@pytest.mark.parametrize(
    "one", [record("a", (1, 4)), record("b", (), outcome="error"), own_run("m", "GPT_4_1")[0], replay(record("a", (1, 4)), 2, 4)]
)  # fmt: skip
def test_the_samples_of_other_tests_are_records(one: dict[str, Any]) -> None:
    jsonschema.validate(one, json.loads(record_schema()))
