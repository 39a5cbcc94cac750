"""Check, schema, dump and load of a value are derived from its type."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.episode import Audit, Feedback, FeedbackItem, Move
from pytest_recode.records.checkpoint import Checkpoint
from pytest_recode.records.record import AuditRecord, FeedbackItemRecord, FeedbackRecord, UsageRecord
from pytest_recode.records.transcript_lines import FeedbackLine
from pytest_recode.schema.rules import (
    INLINE,
    LATER,
    NOT_STORED,
    Count,
    Level,
    LevelNumber,
    Milliseconds,
    Name,
    NamedFile,
    NonNegative,
    Number,
    Seed,
    Share,
    Stored,
    TextOrNull,
    known,
    one_of,
)
from pytest_recode.schema.stored_forms import DamagedError, check_of, dump, load, parsed, schema_of, view
from pytest_recode.usage import Usage
from pytest_recode.verdict import Verdict


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


# -- dataclasses ----------------------------------------------------------------------------------------------------


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    colour: Colour
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    number: Annotated[Number, Stored(key="turn")]
    level: LevelNumber
    parts: tuple[Part, ...] = ()
    first: Part | None = None
    author: TextOrNull = ""
    mode: NamedFile = ("digest", 0o644)
    seconds: Milliseconds = 0.0
    named: Annotated[Mapping[str, Part], LATER] = field(default_factory=dict)
    cut: Annotated[Count | None, Stored(later=True, absent=None)] = 0
    cache: Annotated[bool, NOT_STORED] = field(default=True, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    event: Literal["whole"] = "whole"
    whole: Annotated[Whole, INLINE]


WHOLE = Whole(
    number=1,
    level=3,
    parts=(Part(colour=Colour.RED, data=b"\xff"),),
    named={"a": Part(colour=Colour.BLUE)},
    seconds=0.1234,
)
STORED = {
    "event": "whole",
    "turn": 1,
    "level": "L3",
    "parts": [{"colour": "red", "data": "/w=="}],
    "first": None,
    "author": None,
    "mode": ["digest", 0o644],
    "seconds": 0.123,
    "named": {"a": {"colour": "blue", "data": ""}},
    "cut": 0,
}


def test_a_dataclass_becomes_plain_and_is_loaded() -> None:
    assert dump(Line(whole=WHOLE)) == STORED
    loaded = load(Line, STORED)
    assert loaded.whole == load(Whole, STORED)
    assert dump(loaded) == STORED
    assert check_of(Line)(STORED) == ""
    jsonschema.validate(STORED, schema_of(Line))


def test_what_an_earlier_version_did_not_store() -> None:
    stored = {key: value for key, value in STORED.items() if key not in ("named", "cut")}
    assert check_of(Line)(stored) == ""
    whole = load(Line, stored).whole
    assert whole.named == {}
    assert whole.cut is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"turn": 0}, ".turn is 0: must be a whole number from 1"),
        ({"level": 3}, ".level is 3: must be L0 or L1 or L2 or L3 or L4"),
        ({"parts": [{"colour": "green", "data": ""}]}, ".parts[0].colour is 'green': must be red or blue"),
        ({"parts": [{"colour": "red", "data": 1}]}, ".parts[0].data is 1: must be base64"),
        ({"first": {"colour": "red"}}, ".first: lacks 'data' or null"),
        ({"author": 1}, ".author is 1: must be a text or null"),
        ({"mode": ["digest"]}, ".mode is ['digest']: must be a digest and a file mode"),
        ({"named": {"a": None}}, ".named.a is null: must be an object"),
    ],
)
def test_the_wrong_key_of_a_stored_dataclass_is_named(change: dict[str, Any], words: str) -> None:
    assert check_of(Line)(STORED | change) == words
    with pytest.raises(DamagedError) as raised:
        load(Line, STORED | change)
    assert str(raised.value) == words.removeprefix(".")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(STORED | change, schema_of(Line))


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_damaged(text: bytes) -> None:
    with pytest.raises(DamagedError, match="Error: "):
        parsed(text)


@pytest.mark.parametrize("stored", [None, [], "turn", 3, {}])
def test_nothing_but_a_stored_value_is_loaded(stored: Any) -> None:
    for kind in (Line, Outer):
        with pytest.raises(DamagedError):
            load(kind, stored)


class PartOfWhole(TypedDict):
    level: int
    author: str | None
    cut: NotRequired[Count]


def test_a_part_of_a_dataclass_as_a_typed_dict() -> None:
    assert view(WHOLE, PartOfWhole) == {"level": 3, "author": None, "cut": 0}
    assert view(load(Whole, {key: STORED[key] for key in STORED if key != "cut"}), PartOfWhole) == {
        "level": 3,
        "author": None,
    }


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20)  # candidates write lone surrogates, too
RULED = {
    Count: st.integers(0, 2**53),
    Number: st.integers(1, 2**53),
    Seed: st.integers(0, 2**64 - 1),
    LevelNumber: st.integers(0, 4),
    NonNegative: st.floats(0, allow_infinity=False),
    Share: st.floats(0, 1),
    Milliseconds: st.integers(0, 10**7).map(lambda number: number / 1000),
    NamedFile: st.tuples(TEXTS, st.integers(0, 0o7777)),
}
PLAIN = {
    str: TEXTS,
    bool: st.booleans(),
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bytes: st.binary(max_size=50),
    Any: st.recursive(st.none() | st.booleans() | TEXTS, lambda values: st.lists(values, max_size=3), max_leaves=5),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, derived from it."""
    if hint in RULED:
        return RULED[hint]
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bare = [rule for rule in RULED if get_args(rule)[0] == args[0] and set(get_args(rule)[1:]) <= set(args[1:])]
        return RULED[bare[0]] if bare else values(args[0])
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, args))
    if origin is tuple:
        return st.lists(values(args[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXTS, values(args[1]), max_size=3)
    if origin is Literal:
        return st.sampled_from(args)
    if hint is type(None):
        return st.none()
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        stored = {name: each for name, each in hints.items() if NOT_STORED not in getattr(each, "__metadata__", ())}
        return st.builds(hint, **{name: values(each) for name, each in stored.items()})
    return PLAIN[hint] if hint in PLAIN else st.sampled_from(hint)


@pytest.mark.parametrize(
    ("kind", "part"),
    [(Usage, UsageRecord), (Audit, AuditRecord), (FeedbackItem, FeedbackItemRecord), (Feedback, FeedbackRecord)],
)
@given(data=st.data())
def test_the_part_of_a_value_that_a_record_has_is_right(kind: Any, part: Any, data: st.DataObject) -> None:
    assert check_of(part)(json.loads(json.dumps(view(data.draw(values(kind)), part)))) == ""


@pytest.mark.parametrize("kind", [Usage, Move, Verdict, Feedback, FeedbackLine, Checkpoint, Line])
@given(data=st.data())
def test_a_stored_value_survives(kind: Any, data: st.DataObject) -> None:
    value = data.draw(values(kind))
    stored = json.loads(json.dumps(dump(value)))
    assert check_of(kind)(stored) == ""
    jsonschema.validate(stored, schema_of(kind))
    assert load(kind, stored) == value
