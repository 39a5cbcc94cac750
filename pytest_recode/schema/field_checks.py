"""Checks of plain JSON values: each is a function that returns the problem of a value, or "".

Used for files that a person may have edited; `stored_forms.py` makes the checks of types of them. Only named keys are checked, so that later
versions can add keys.
"""

from __future__ import annotations

import base64
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_LARGEST = 2**53
_DATE = re.compile(r"\d{4}(-\d{1,2}(-\d{1,2})?)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)

Check = Callable[[Any], str]
"""Returns "" for a valid value, and otherwise a problem such as ` is 0: must be …`, which follows the path of keys to the value."""


def is_date(value: str) -> bool:
    """Whether the value is like "2024", "2024-7" or "2024-07-17", with a month up to 12 and a day up to 31."""
    parts = [int(part) for part in value.split("-")] if _DATE.fullmatch(value) else [0]
    return all(low <= part <= high for part, (low, high) in zip(parts, ((1, 9999), (1, 12), (1, 31)), strict=False))


def _is_time(value: object) -> bool:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def expect(requirement: str, holds: Callable[[Any], bool]) -> Check:
    """Require that `holds` is true of the value; `requirement` completes "must be …"."""
    return lambda value: "" if holds(value) else f" is {shown(value)}: must be {requirement}"


def anything(_: Any) -> str:
    """Accept any value."""
    return ""


def whole_number(low: int) -> Check:
    """Require an int from `low` to 2**53, but not a bool."""
    return lambda value: (
        ""
        if type(value) is int and low <= value <= _LARGEST
        else f" is {shown(value)}: must be a whole number from {low}"
    )


def or_null(check: Check) -> Check:
    """Accept null as well."""

    def fault(value: Any) -> str:
        if value is None:
            return ""
        wrong = check(value)
        return f"{wrong} or null" if wrong else ""

    return fault


def one_of(*choices: str) -> Check:
    """Require one of these texts."""
    valid = frozenset(choices)
    return expect(" or ".join(choices), lambda value: type(value) is str and value in valid)


def all_of(first: Check, *others: Check) -> Check:
    """Require what each of these requires."""
    if not others:
        return first
    return lambda value: first(value) or next(filter(None, (check(value) for check in others)), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of an object. `valid`: the types whose every value is valid, so that the check need not be called."""

    check: Check
    required: bool = True
    valid: tuple[type, ...] = ()


def object_of(keys: Mapping[str, Key]) -> Check:
    """Require an object with these keys."""
    every = [(name, key.valid, key.check, key.required) for name, key in keys.items()]

    def fault(value: Any) -> str:
        if type(value) is not dict:
            return f" is {shown(value)}: must be an object"
        for name, valid, check, required in every:
            member = value.get(name, _MISSING)
            if type(member) in valid:
                continue
            if member is _MISSING:
                if required:
                    return f": lacks {name!r}"
            elif wrong := check(member):
                return f".{name}{wrong}"
        return ""

    return fault


_MISSING = object()


def list_of_texts(check: Check, plain: Sequence[str], others: Sequence[str]) -> Check:
    """`list_of(check)` for objects of which all values are texts or null: any text for the keys `plain`. Of the values of `others`, few
    differ: combinations that were valid are remembered."""
    whole = list_of(check)
    texts_at = [operator.itemgetter(key) for key in plain]
    values_at = operator.itemgetter(*others) if others else lambda _: None
    valid: set[Any] = set()

    def fault(value: Any) -> str:
        try:
            values = set(map(values_at, value))
            for text_at in texts_at:
                "".join(map(text_at, value))  # TypeError unless all are texts
        except (KeyError, TypeError):  # a key is missing; a value is not a text
            return whole(value)
        if type(value) is list and values <= valid:
            return ""
        wrong = whole(value)
        if not wrong and len(valid) < _REMEMBERED:
            valid.update(values)
        return wrong

    return fault


def remembered(check: Check) -> Check:
    """The same check. Values of JSON that were valid, of which few differ, are remembered by how they are written: 1, 1.0 and true are equal."""
    valid: set[str] = set()

    def fault(value: Any) -> str:
        written = repr(value)
        if written in valid:
            return ""
        wrong = check(value)
        if not wrong and len(valid) < _REMEMBERED:
            valid.add(written)
        return wrong

    return fault


_REMEMBERED = 10_000


def list_of(check: Check, valid: tuple[type, ...] = ()) -> Check:
    """Require a list, and check each element. `valid`: the types whose every value is valid."""

    def fault(value: Any) -> str:
        if type(value) is not list:
            return f" is {shown(value)}: must be a list"
        if valid and set(map(type, value)).issubset(valid):
            return ""
        for place, each in enumerate(value):
            if wrong := check(each):
                return f"[{place}]{wrong}"
        return ""

    return fault


def values_of(check: Check, valid: tuple[type, ...] = ()) -> Check:
    """Require an object with any keys, and check each value. `valid`: the types whose every value is valid."""

    def fault(value: Any) -> str:
        if type(value) is not dict:
            return f" is {shown(value)}: must be an object"
        if valid and set(map(type, value.values())).issubset(valid):
            return ""
        for key, each in value.items():
            if wrong := check(each):
                return f".{key}{wrong}"
        return ""

    return fault


def shown(value: Any) -> str:
    """The value as messages show it: constants in JSON notation, at most 40 characters."""
    words = repr(value) if isinstance(value, str) else str(value).lower() if value in (True, False) else str(value)
    words = "null" if value is None else words
    return words if len(words) <= 40 else f"{words[:40]}…"


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value)
    except (TypeError, ValueError):
        return False
    return isinstance(value, str)


def _is_named_file(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is str and type(value[1]) is int


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float)


PLAIN = expect("of plain JSON types (str, int, float, bool, None, list, dict)", _is_plain)
BASE64 = expect("base64", _is_base64)
NAMED_FILE = expect("a digest and a file mode", _is_named_file)
TEXT = expect("a text", lambda value: type(value) is str)
NAME = expect("a nonempty text", lambda value: isinstance(value, str) and bool(value.strip()))
FLAG = expect("true or false", lambda value: type(value) is bool)
DOLLARS = expect("a number from 0", lambda value: type(value) in (int, float) and 0 <= value < math.inf)
NUMBER = expect("a number", lambda value: type(value) in (int, float) and -math.inf < value < math.inf)
INTEGER = expect("a whole number", lambda value: type(value) is int)
SEED = expect("a whole number from 0 to 2**64 - 1", lambda value: type(value) is int and 0 <= value < 2**64)
CUTOFF = expect(
    "a date such as 2024-10 or 2024-10-17, or empty",
    lambda value: isinstance(value, str) and (not value.strip() or is_date(value.strip())),
)
TIME = expect("a time such as 2026-11-03T02:14:09+00:00", _is_time)
DAY = expect(
    "a date such as 2024-10-17",
    lambda value: value in (None, "", "null") or (isinstance(value, str) and value.count("-") == 2 and is_date(value)),
)


def single(value: Any) -> str:
    """Require a value that is neither an object nor a list."""
    return " is not a single value" if isinstance(value, dict | list) else ""
