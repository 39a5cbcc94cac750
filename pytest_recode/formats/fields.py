"""Checks for the values of a manifest. A check takes a value and its position, and returns the value with its type, or raises."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats.document import At, Document, fault, kind_of, name_of, written
from pytest_recode.wording import guess

CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Check = Callable[[Document, At, Any], Any]
"""Raises a `UserError` that names the file, the line, the key and the allowed values."""


def mapping(fields: Mapping[str, Check], required: Sequence[str] = ()) -> Check:
    """Check a mapping that may have only these keys; returns the checked values of the keys present."""

    def check(document: Document, at: At, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise wrong(document, at, value, f"a mapping with the keys {', '.join(fields)}")
        for key in value:  # before missing keys are reported, because a misspelt key is also missing
            if key not in fields:
                raise unknown(document, (*at, key), fields)
        for key in required:
            if key not in value:
                raise fault(document, at, f"missing key '{key}'; the required keys are {', '.join(required)}")
        return {key: fields[key](document, (*at, key), item) for key, item in value.items()}

    return check


def unknown(document: Document, at: At, keys: Iterable[str]) -> UserError:
    """The error for the key at `at`, which is not one of `keys`."""
    key, where = str(at[-1]), f" in '{name_of(at[:-1])}'" if len(at) > 1 else ""
    names = list(keys)
    meant = guess(key, names, quote="'")
    return fault(document, at, f"unknown key '{key}'{where}{meant}; the keys are {', '.join(names)}")


def text(pattern: str = "", allowed: str = "text") -> Check:
    """Check one line of text that matches `pattern` as a whole; `allowed` describes it in messages."""
    matches = re.compile(pattern).fullmatch if pattern else None

    def check(document: Document, at: At, value: Any) -> str:
        if not isinstance(value, str):
            raise wrong(document, at, value, allowed)
        if matches is not None:
            if matches(value) is None:
                raise fault(document, at, f"{name_of(at)}: must be {allowed}, not '{_short(value)}'")
            return value
        line = " ".join(value.split())
        if CONTROL.search(value):
            raise fault(document, at, f"{name_of(at)}: contains a control character; remove it")
        if not line:
            raise fault(document, at, f"{name_of(at)}: is empty; give {allowed}, or remove the key")
        return line

    return check


def number(most: float, unit: str) -> Check:
    """Check a number above 0 and at most `most`; returns a float."""
    allowed = f"a number of {unit} above 0, at most {most:g}"

    def check(document: Document, at: At, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(document, at, value, allowed)
        if not (0 < value <= most) or math.isnan(value):
            raise fault(document, at, f"{name_of(at)}: must be {allowed}, not {_short(written(document, at))}")
        return float(value)

    return check


def whole(least: int, most: int, unit: str = "") -> Check:
    """Check a whole number from `least` to `most`; 64.0 counts as 64, as in JSON schema."""
    allowed = f"a whole number{unit and ' of ' + unit} from {least} to {most}"

    def check(document: Document, at: At, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong(document, at, value, allowed)
        if not (least <= value <= most) or value != int(value):
            raise fault(document, at, f"{name_of(at)}: must be {allowed}, not {_short(written(document, at))}")
        return int(value)

    return check


def one_of(*choices: str) -> Check:
    allowed = f"one of {', '.join(choices)}"

    def check(document: Document, at: At, value: Any) -> str:
        if not isinstance(value, str):
            raise wrong(document, at, value, allowed)
        if value not in choices:
            raise fault(document, at, f"{name_of(at)}: must be {allowed}, not '{_short(value)}'")
        return value

    return check


def several(item: Check, allowed: str, *, empty: bool = True) -> Check:
    """Check a list without duplicates; returns a tuple."""

    def check(document: Document, at: At, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise wrong(document, at, value, f"a list of {allowed}")
        if not value and not empty:
            raise fault(document, at, f"{name_of(at)}: is an empty list; give at least one of: {allowed}")
        items = tuple(item(document, (*at, index), each) for index, each in enumerate(value))
        if len(set(items)) != len(items):
            duplicate = next(each for index, each in enumerate(items) if each in items[:index])
            raise fault(document, at, f"{name_of(at)}: '{duplicate}' is listed twice; keep one")
        return items

    return check


def wrong(document: Document, at: At, value: Any, allowed: str) -> UserError:
    """The error for a value of another type; if YAML converted a plain word to it, the message shows how to quote the word."""
    name = name_of(at)
    hint = ""
    if "text" in allowed or "word" in allowed or "one of" in allowed:
        as_written = written(document, at)
        if isinstance(value, bool | int | float) and as_written:
            key = f"{at[-1]}: " if isinstance(at[-1], str) else ""
            hint = f'; write {key}"{_short(as_written)}"'
    subject = f"{name}: " if name else ""
    return fault(document, at, f"{subject}must be {allowed}, not {kind_of(value)}{hint}")


def _short(value: str) -> str:
    shown = " ".join(value.split())
    return shown if len(shown) <= 60 else shown[:57] + "..."
