"""Derive from a type what else has to be known of a value: its check and its JSON schema.

A type is a TypedDict, or one of str, int, float, bool, None, Any, list, dict and unions with None. `Annotated` adds rules (`Rule`) and a
description, which is a str. `field_checks.py` has the checks of single values. The checks run where files are read; schemas are
generated (`python -m docs.generate`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pytest_recode.records import field_checks
from pytest_recode.records.field_checks import FLAG, NUMBER, TEXT, Check

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """A rule for a value, beside its type. `check` replaces the check of a single value, and comes after that of an object or a list.

    `schema`: what it adds to the schema. Without `check`, the rule is in the schema alone: a later version may write other values.
    """

    check: Check | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)


REMEMBERED = Rule()
"""The values of a run are few: those that were valid are remembered."""


def one_of(*choices: str) -> Rule:
    return Rule(check=field_checks.one_of(*choices), schema={"enum": [*choices]})


def known(*choices: str) -> Rule:
    """Values of this version; a check accepts any text."""
    return Rule(schema={"enum": [*choices]})


def whole_number(low: int) -> Rule:
    return Rule(check=field_checks.whole_number(low), schema={"minimum": low})


Count: TypeAlias = Annotated[int, whole_number(0)]
Number: TypeAlias = Annotated[int, whole_number(1)]
Name: TypeAlias = Annotated[str, Rule(check=field_checks.NAME)]
NonNegative: TypeAlias = Annotated[float, Rule(check=field_checks.DOLLARS, schema={"minimum": 0})]
Share: TypeAlias = Annotated[float, Rule(schema={"minimum": 0, "maximum": 1})]
Seed: TypeAlias = Annotated[int, Rule(check=field_checks.SEED, schema={"minimum": 0})]
Cutoff: TypeAlias = Annotated[str, Rule(check=field_checks.CUTOFF)]
Day: TypeAlias = Annotated[str | None, Rule(check=field_checks.DAY)]
Base64: TypeAlias = Annotated[str, Rule(check=field_checks.BASE64)]
NamedFile: TypeAlias = Annotated[tuple[str, int], Rule(check=field_checks.NAMED_FILE)]
"""The digest of a file's contents, and its mode; in JSON an array of the two."""
Level: TypeAlias = Annotated[str, one_of("L0", "L1", "L2", "L3", "L4")]

_SINGLE: Mapping[Any, tuple[Check, str]] = {
    str: (TEXT, "string"),
    bool: (FLAG, "boolean"),
    int: (field_checks.INTEGER, "integer"),
    float: (NUMBER, "number"),
}


@functools.cache
def check_of(kind: Any) -> Check:
    """The check of a type's values: the path of the first wrong key and what it must be, or ""."""
    kind, rules, _ = _parts(kind)
    inner = _without_null(kind)
    if inner is not kind:
        return field_checks.or_null(check_of(Annotated[inner, *rules] if rules else inner))
    checks = [rule.check for rule in rules if rule.check is not None]
    if checks and (kind in _SINGLE or get_origin(kind) is tuple):
        return checks[-1]
    if kind in _SINGLE:
        return _SINGLE[kind][0]
    found = field_checks.all_of(_of_container(kind), *checks)
    return field_checks.remembered(found) if REMEMBERED in rules else found


def _of_container(kind: Any) -> Check:
    origin, args = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        keys = {
            key: field_checks.Key(check=check_of(hint), required=required, valid=_always_valid(hint))
            for key, hint, required in fields(kind)
        }
        return field_checks.object_of(keys)
    if origin is list:
        element = check_of(args[0])
        if is_typeddict(args[0]) and all(_is_text(hint) for _, hint, _ in fields(args[0])):
            plain = [key for key, hint, _ in fields(args[0]) if _always_valid(hint) == (str,)]
            return field_checks.list_of_texts(
                element, plain, [key for key, _, _ in fields(args[0]) if key not in plain]
            )
        return field_checks.list_of(element)
    if origin in (dict, Mapping):
        return field_checks.values_of(check_of(args[1]))
    if origin is Literal:
        return field_checks.one_of(*args)
    if kind is Any:
        return field_checks.anything
    raise TypeError(f"no check for {kind!r}")


def schema_of(kind: Any) -> Schema:
    """The JSON schema of a type's values, which allows no keys that the type does not have."""
    kind, rules, text = _parts(kind)
    inner = _without_null(kind)
    schema = _or_null(schema_of(inner)) if inner is not kind else _schema(kind)
    for rule in rules:
        schema |= rule.schema
    if "enum" in schema:
        schema.pop("type", None)
    return schema | ({"description": text} if text else {})


def _schema(kind: Any) -> Schema:
    origin, args = get_origin(kind), get_args(kind)
    if kind in _SINGLE:
        return {"type": _SINGLE[kind][1]}
    if origin is Literal:
        return {"enum": [*args]}
    if is_typeddict(kind):
        every = list(fields(kind))
        return {
            "type": "object",
            "additionalProperties": False,
            "required": [key for key, _, required in every if required],
            "properties": {key: schema_of(hint) for key, hint, _ in every},
        }
    if origin is list:
        return {"type": "array", "items": schema_of(args[0])}
    values = {} if args[1] is Any else schema_of(args[1])
    return {"type": "object"} | ({"additionalProperties": values} if values else {})


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return schema | {"enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]}


def fields(kind: Any) -> Iterator[tuple[str, Any, bool]]:
    """Key, type and whether it is required, of each key of a TypedDict."""
    for key, hint in get_type_hints(kind, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        yield key, get_args(hint)[0] if optional else hint, not optional


def _parts(kind: Any) -> tuple[Any, list[Rule], str]:
    """A type without its annotations, its rules and its description."""
    if get_origin(kind) is not Annotated:
        return kind, [], ""
    more = kind.__metadata__
    text = next((each for each in reversed(more) if isinstance(each, str)), "")
    return kind.__origin__, [each for each in more if isinstance(each, Rule)], text


def _without_null(kind: Any) -> Any:
    """The other type of a union with None; any other type as it is."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    [inner] = [each for each in get_args(kind) if each is not type(None)]
    return inner


def _always_valid(hint: Any) -> tuple[type, ...]:
    """The types of which every value is valid."""
    kind, rules, _ = _parts(hint)
    if any(rule.check for rule in rules):
        return ()
    if (inner := _without_null(kind)) is not kind:
        return (*_always_valid(inner), type(None))
    return (kind,) if kind in (str, bool, int) else ()


def _is_text(hint: Any) -> bool:
    return _without_null(_parts(_without_null(_parts(hint)[0]))[0]) is str
