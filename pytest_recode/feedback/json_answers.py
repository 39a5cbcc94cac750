"""Read a model's answer as the JSON that its schema asks for: a list of records under one name.

A provider that enforces schemas sends that JSON alone. Of the others, `json_repair` reads it out of fences and prose. Either way it is
validated by `jsonschema`, and never adapted to the schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_ANSWER = 200_000
"""Maximum characters of an answer; a longer one is not parsed."""
MOST_PROBLEMS = 20

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The records that the schema accepts, and for the model where the answer is otherwise, and what the schema asks for there."""

    records: tuple[Record, ...] = ()
    problems: tuple[str, ...] = ()


def read(text: str, schema: Mapping[str, Any]) -> Read:
    """The valid records of an answer. Of several JSON values in a text, the last one that is valid counts."""
    from jsonschema import Draft202012Validator

    if len(text) > MOST_ANSWER:
        return Read(problems=(f"$: it is longer than {MOST_ANSWER} characters",))
    value = _value(text)
    validator = Draft202012Validator(schema)
    several = reversed(value) if isinstance(value, list) else ()
    value = next((each for each in several if validator.is_valid(each)), value)
    errors = list(validator.iter_errors(value))
    places = [list(error.absolute_path) for error in errors]
    wrong = {place[1] for place in places if len(place) > 1}
    (name,) = schema["properties"]
    records = () if any(len(place) < 2 for place in places) else value[name]
    return Read(
        records=tuple(record for number, record in enumerate(records) if number not in wrong),
        problems=tuple(f"{error.json_path}: {_expected(error)}" for error in errors[:MOST_PROBLEMS]),
    )


def _value(text: str) -> Any:
    """The JSON value of a text, a list if there are several; "" if there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        from json_repair import loads

    try:
        return loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return ""


def _expected(error: Any) -> str:
    """What the schema asks for. Messages on types and choices quote the value, which can be long."""
    if error.validator == "type":
        return f"expected {error.validator_value}"
    if error.validator == "enum":
        return f"expected one of {', '.join(map(repr, error.validator_value))}"
    return str(error.message)
