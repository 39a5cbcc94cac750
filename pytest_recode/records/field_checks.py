"""Checks of plain JSON values: each is a function that returns the problem of a value, or "".

Used for files that a person may have edited: records (`record_check.py`) and published results (`metrics/published_results.py`).
Only named keys are checked, so that later versions can add keys.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
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


def expect(wanted: str, holds: Callable[[Any], bool]) -> Check:
    """Require that `holds` is true of the value; `wanted` completes "must be …"."""
    return lambda value: "" if holds(value) else f" is {shown(value)}: must be {wanted}"


def whole_number(low: int) -> Check:
    """Require an int from `low` to 2**53, but not a bool."""

    def holds(value: Any) -> bool:
        return type(value) is int and low <= value <= _LARGEST

    return expect(f"a whole number from {low}", holds)


def or_null(check: Check) -> Check:
    """Accept null as well."""

    def found(value: Any) -> str:
        wrong = "" if value is None else check(value)
        return f"{wrong} or null" if wrong else ""

    return found


def one_of(*choices: str) -> Check:
    """Require one of these texts."""
    return expect(" or ".join(choices), lambda value: isinstance(value, str) and value in choices)


def object_of(**checks: Check) -> Check:
    """Require an object with these keys; those that end in `_`, which is not part of the key, are optional."""
    keys = [(name.removesuffix("_"), not name.endswith("_"), check) for name, check in checks.items()]

    def found(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {shown(value)}: must be an object"
        for key, required, check in keys:
            if key in value:
                if wrong := check(value[key]):
                    return f".{key}{wrong}"
            elif required:
                return f": lacks {key!r}"
        return ""

    return found


def list_of_texts(**checks: Check) -> Check:
    """`list_of(object_of(…))` for keys whose valid values are texts or null, of which few differ: combinations of values that were valid are remembered."""
    whole = list_of(object_of(**checks))
    values_at = operator.itemgetter(*(name.removesuffix("_") for name in checks))
    valid: set[tuple[object, ...]] = set()

    def found(value: Any) -> str:
        try:
            values = set(map(values_at, value))
        except (KeyError, TypeError):  # a key is missing; a value is a list or an object
            return whole(value)
        if type(value) is list and values <= valid:
            return ""
        wrong = whole(value)
        if not wrong and len(valid) < _REMEMBERED:
            valid.update(values)
        return wrong

    return found


def remembered(check: Check) -> Check:
    """The same check. Values of JSON that were valid, of which few differ, are remembered by how they are written: 1, 1.0 and true are equal."""
    valid: set[str] = set()

    def found(value: Any) -> str:
        written = repr(value)
        if written in valid:
            return ""
        wrong = check(value)
        if not wrong and len(valid) < _REMEMBERED:
            valid.add(written)
        return wrong

    return found


_REMEMBERED = 10_000


def list_of(check: Check) -> Check:
    """Require a list, and check each element."""

    def found(value: Any) -> str:
        if not isinstance(value, list):
            return f" is {shown(value)}: must be a list"
        return next((f"[{place}]{wrong}" for place, each in enumerate(value) if (wrong := check(each))), "")

    return found


def values_of(check: Check) -> Check:
    """Require an object with any keys, and check each value."""

    def found(value: Any) -> str:
        if not isinstance(value, dict):
            return f" is {shown(value)}: must be an object"
        return next((f".{key}{wrong}" for key, each in value.items() if (wrong := check(each))), "")

    return found


def shown(value: Any) -> str:
    """The value as messages show it: constants in JSON notation, at most 40 characters."""
    words = repr(value) if isinstance(value, str) else str(value).lower() if value in (True, False) else str(value)
    words = "null" if value is None else words
    return words if len(words) <= 40 else f"{words[:40]}…"


TEXT = expect("a text", lambda value: isinstance(value, str))
NAME = expect("a nonempty text", lambda value: isinstance(value, str) and bool(value.strip()))
FLAG = expect("true or false", lambda value: isinstance(value, bool))
DOLLARS = expect(
    "a number from 0",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf,
)
NUMBER = expect(
    "a number",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
)
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
DATES = {f"{name}_": DAY for name in ("arxiv_v1_date", "arxiv_date", "first_commit_date", "last_commit_date")}
"""Optional keys of the dates of a paper and of its repository."""
