"""Read a model's answers as the JSON that a schema asks for: a list of records under one name.

A provider that enforces schemas sends that JSON alone. Of the others, `json_repair` reads it out of fences and prose. Either way it is
validated by `jsonschema`, and never adapted to the schema.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.researchers import prompts

MOST_ANSWER = 200_000
"""Maximum characters of an answer; a longer one is not parsed."""
MOST_PROBLEMS = 20
MOST_RECORDS = 10
"""Maximum number of records of one key; others are dropped."""

Record = Mapping[str, Any]
Key = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The records that the schema accepts, and for the model where the answer is otherwise, and what the schema asks for there."""

    records: tuple[Record, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Records:
    """The usable records in one or more answers to the same question, by the field `key`, and the problems of the last answer.

    `needed`: the keys that must have records. `check`: the record as it is used, or None, and what is wrong with it. `review`: what is wrong
    with the records together; it may change them.
    """

    schema: Mapping[str, Any]
    key: str
    needed: tuple[Key, ...]
    check: Callable[[Record], tuple[Record | None, list[str]]] = lambda record: (record, [])
    review: Callable[[dict[Key, list[Record]]], Iterable[tuple[Key, str]]] = lambda _records: ()
    by_key: dict[Key, list[Record]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unfinished: frozenset[Key] = frozenset()  # keys with records that should be better

    def add(self, text: str) -> str:
        """Add an answer. Its records of a key replace those of an earlier answer, if these should be better. Returns the text
        that asks again, or ""."""
        accepted = self.accepted()
        answer = read(text, self.schema)
        new: dict[Key, list[Record]] = {}
        problems: list[tuple[Key, str]] = []
        for record in answer.records:
            usable, wrong = self.check(record)
            problems += [(record[self.key], what) for what in wrong]
            if usable is not None and record[self.key] not in accepted:
                new.setdefault(record[self.key], []).append(usable)
        self.by_key |= {key: records[:MOST_RECORDS] for key, records in new.items()}
        problems += self.review(self.by_key)
        self.unfinished = frozenset(key for key, _ in problems)
        missing = [self._label(key) for key in self.needed if key not in self.by_key and key not in self.unfinished]
        self.problems = (
            *answer.problems,
            *dict.fromkeys(f"{self._label(key)} {what}" for key, what in problems),
            *((f"there is no record for {', '.join(missing)}",) if missing else ()),
        )
        return prompts.again(self.problems, [self._label(key) for key in self.accepted()])

    def accepted(self) -> tuple[Key, ...]:
        """Keys whose records are complete."""
        return tuple(key for key in self.by_key if key not in self.unfinished)

    def _label(self, key: Key) -> str:
        return key if isinstance(key, str) else f"{self.key} {key}"


def list_of(name: str, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """JSON schema of an answer: records of these properties under `name`, strict enough for providers that enforce one."""
    record = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {
        "title": name,
        "type": "object",
        "properties": {name: {"type": "array", "items": record}},
        "required": [name],
        "additionalProperties": False,
    }


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
