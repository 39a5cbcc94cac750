"""The types of a record say what its JSON schema says: the same keys, required and optional, with the same types of values."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

import pytest_recode.records
from pytest_recode.records.record import EpisodeFacts, Record, TurnRecord

SCHEMA = json.loads((Path(pytest_recode.records.__file__).parent / "records.schema.json").read_text("utf-8"))
NAMES = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def kinds(schema: Mapping[str, Any]) -> set[type]:
    """The Python types of plain values that a schema takes; `dict` and `list` for objects and arrays."""
    schema = resolved(schema)
    if "oneOf" in schema:
        return set().union(*map(kinds, schema["oneOf"]))
    if "const" in schema or "enum" in schema:
        return {type(value) for value in schema.get("enum", [schema.get("const")])}
    named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {{"object": dict, "array": list}.get(name) or NAMES[name] for name in named}


def members(annotation: Any) -> list[Any]:
    return list(get_args(annotation)) if get_origin(annotation) in (Union, types.UnionType) else [annotation]


def differences(schema: Mapping[str, Any], annotation: Any, where: str = "record") -> list[str]:
    found = []
    plain = {dict if is_typeddict(each) else get_origin(each) or each for each in members(annotation)}
    if plain != kinds(schema):
        found.append(f"{where}: {plain} and {kinds(schema)}")
    for option in map(resolved, resolved(schema).get("oneOf", [schema])):
        for each in members(annotation):
            if "items" in option and get_origin(each) is list:
                found += differences(option["items"], get_args(each)[0], f"{where}[]")
            if "properties" in option:
                if is_typeddict(each):
                    found += of_object(option, each, where)
                elif each is not type(None):
                    found.append(f"{where}: {each} is no TypedDict")
    return found


def of_object(schema: Mapping[str, Any], typed: Any, where: str) -> list[str]:
    hints = get_type_hints(typed, include_extras=True)
    required = {key for key, hint in hints.items() if get_origin(hint) is not NotRequired}
    found = []
    if hints.keys() != schema["properties"].keys():
        found.append(f"{where}: keys {sorted(hints.keys() ^ schema['properties'].keys())}")
    if required != set(schema["required"]):
        found.append(f"{where}: required {sorted(required ^ set(schema['required']))}")
    for key in hints.keys() & schema["properties"].keys():
        hint = hints[key]
        plain = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        found += differences(schema["properties"][key], plain, f"{where}.{key}")
    return found


def test_the_types_say_what_the_schema_says() -> None:
    assert differences(SCHEMA, Record) == []


def changed(path: tuple[str, ...], change: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(SCHEMA))
    place = copy
    for name in path:
        place = place[name]
    change(place)
    return copy


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ((), lambda at: at["properties"].pop("attempt")),
        ((), lambda at: at["required"].remove("digest")),
        ((), lambda at: at["required"].append("waited")),
        (("properties", "settings", "properties"), lambda at: at.update(more={"type": "string"})),
        (("properties", "error"), lambda at: at.update(type="object")),
        (("properties", "replay", "properties", "turn"), lambda at: at.update(type="string")),
        (("properties", "digest"), lambda at: at.update(type="string")),
        (("properties", "outcome"), lambda at: at.update(enum=["solved", None])),
    ],
)
def test_any_difference_is_seen(path: tuple[str, ...], change: Any) -> None:
    assert differences(changed(path, change), Record)


def test_a_difference_in_a_turn_is_seen() -> None:
    turn = changed(("$defs", "turn"), lambda at: at["required"].remove("seed"))["$defs"]["turn"]
    assert differences(turn, TurnRecord)


def test_a_record_begins_with_the_facts_of_its_episode() -> None:
    hints = get_type_hints(Record, include_extras=True)
    assert get_type_hints(EpisodeFacts, include_extras=True).items() <= hints.items()
