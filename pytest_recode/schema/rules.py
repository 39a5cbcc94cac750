"""Rules for the fields of stored values, beside their types, and types with rules that several values have.

A field's annotation has them: `turn: Annotated[int, whole_number(1)]`. `stored_forms.py` derives the rest from type and rules.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from pytest_recode.schema import field_checks
from pytest_recode.schema.field_checks import Check


@dataclass(frozen=True, kw_only=True, eq=False)
class Rule:
    """A rule for a value, beside its type. `check` replaces the check of a single value, and comes after that of an object or a list.

    `schema`: what it adds to the schema. Without `check`, the rule is in the schema alone: a later version may write other values.
    `dump` and `load`: how the value becomes plain JSON, and back, if not as its type says.
    """

    check: Check | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    dump: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """How a field is stored, if not under its name in each object.

    `key`: instead of the name. `inline`: the keys of its value, a dataclass, are keys of the object itself. `later`: files of earlier
    versions lack it; then its value is `absent`, or, for `...`, the default. `optional`: the same, and None is stored as no key. `omitted`:
    never stored.
    """

    key: str = ""
    inline: bool = False
    later: bool = False
    absent: Any = ...
    optional: bool = False
    omitted: bool = False


INLINE, LATER, NOT_STORED = Stored(inline=True), Stored(later=True), Stored(omitted=True)
OPTIONAL = Stored(later=True, optional=True)
REMEMBERED = Rule()
"""The values of a run are few: those that were valid are remembered."""


def one_of(*choices: str) -> Rule:
    return Rule(check=field_checks.one_of(*choices), schema={"enum": [*choices]})


def known(*choices: str) -> Rule:
    """Values of this version; a check accepts any text."""
    return Rule(schema={"enum": [*choices]})


def whole_number(low: int) -> Rule:
    return Rule(check=field_checks.whole_number(low), schema={"minimum": low})


_LEVELS = ("L0", "L1", "L2", "L3", "L4")

Count: TypeAlias = Annotated[int, whole_number(0)]
Number: TypeAlias = Annotated[int, whole_number(1)]
Name: TypeAlias = Annotated[str, Rule(check=field_checks.NAME)]
NonNegative: TypeAlias = Annotated[float, Rule(check=field_checks.DOLLARS, schema={"minimum": 0})]
Share: TypeAlias = Annotated[float, Rule(schema={"minimum": 0, "maximum": 1})]
Seed: TypeAlias = Annotated[int, Rule(check=field_checks.SEED, schema={"minimum": 0})]
Cutoff: TypeAlias = Annotated[str, Rule(check=field_checks.CUTOFF)]
Day: TypeAlias = Annotated[str | None, Rule(check=field_checks.DAY)]
Level: TypeAlias = Annotated[str, one_of(*_LEVELS)]
LevelNumber: TypeAlias = Annotated[
    int, one_of(*_LEVELS), Rule(dump="L{}".format, load=lambda level: int(level.removeprefix("L")))
]
"""0 to 4, stored as a `Level`."""
Milliseconds: TypeAlias = Annotated[float, Rule(dump=lambda seconds: round(seconds, 3))]
"""Seconds, stored with three decimals."""
TextOrNull: TypeAlias = Annotated[
    str,
    Rule(
        check=field_checks.or_null(field_checks.TEXT),
        schema={"type": ["string", "null"]},
        dump=lambda text: text or None,
        load=lambda text: text or "",
    ),
]
"""A text, stored as null if it is empty."""
PlainValues: TypeAlias = Annotated[Mapping[str, Any], Rule(check=field_checks.PLAIN)]
"""Values of plain JSON types."""
Pairs: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    Rule(
        check=field_checks.values_of(field_checks.TEXT, (str,)),
        schema={"type": "object", "additionalProperties": {"type": "string"}},
        dump=dict,
        load=lambda stored: tuple(sorted(stored.items())),
    ),
]
"""Names with their values, sorted; in JSON an object."""
NamedFile: TypeAlias = Annotated[
    tuple[str, int],
    Rule(
        check=field_checks.NAMED_FILE,
        schema={"type": "array", "minItems": 2, "prefixItems": [{"type": "string"}, {"type": "integer"}]},
        dump=list,
        load=tuple,
    ),
]
"""The digest of a file's contents, and its mode; in JSON an array of the two."""


def encoded(data: bytes) -> str:
    """Bytes as they are stored: in base64."""
    return base64.b64encode(data).decode()
