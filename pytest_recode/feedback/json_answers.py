"""Read the JSON records of a model's answer, whatever the model put around them.

Models fence JSON, surround it with prose, wrap it under other keys, use other field names, and make
mistakes: trailing commas, comments, Python literals, LaTeX backslashes, truncation. Everything unambiguous is accepted.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ANSWER = 1_000_000
"""Maximum characters of an answer; a longer one is not parsed."""
MOST_OPENERS = 400
MOST_DEPTH = 4

_DECODER = json.JSONDecoder(strict=False)  # line breaks within strings
_SLIPS = re.compile(
    r'(?P<text>"(?:\\.|[^"\\])*")|(?P<comma>,)(?=(?:\s|//[^\n]*\n|/\*[^*]{0,200}\*/)*[}\]])|//[^\n]*|/\*.*?\*/|\b(?P<word>None|True|False|NaN)\b',
    re.DOTALL,
)
_LITERALS = {"None": "null", "True": "true", "False": "false", "NaN": "null"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_PART = re.compile(r"[^\W\d][\w.]*")

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`records` have the proper field names; `problem` is an error of the whole answer, or ""."""

    records: Sequence[Record]
    problem: str


def records(text: str, names: Mapping[str, Sequence[str]]) -> Found:
    """The records in an answer. `names`: other names of each field, in lower case with underscores; "interface" is one of the fields.

    A record without an interface has the key of its parent object as "under", because the keys may be interfaces. If a text has several
    complete answers, the last one about each interface counts.
    """
    if not text.strip():
        return Found(records=(), problem="it was empty")
    if len(text) > MOST_ANSWER:
        return Found(records=(), problem=f"it was longer than {MOST_ANSWER} characters")
    proper = {alias: field for field, aliases in names.items() for alias in (field, *aliases)}
    found, problem = _scanned(text, proper)
    if problem:
        more, still = _scanned(_fixed(text), proper)
        if len(more) > len(found) or (len(more) == len(found) and not still):
            found, problem = more, still
    if not found:
        found = _literal(text, proper)
        problem = problem if not found else ""
    return Found(records=found, problem=problem)


def matching(name: object, known: Sequence[str]) -> tuple[str, ...]:
    """The names of `known` that `name` refers to: one or several, also in backticks, as a call, as a path, in another case, or shortened to the last parts.

    () if it is ambiguous.
    """
    if isinstance(name, list):
        return tuple(dict.fromkeys(match for each in name for match in matching(each, known)))
    if not isinstance(name, str):
        return ()
    if name.strip() in known:
        return (name.strip(),)
    plain = (
        re.sub(r"\([^()]*\)|[`'\"]", "", name)
        .replace("::", ".")
        .replace(".py.", ".")
        .replace(".py:", ".")
        .replace("/", ".")
    )
    found = [_above(part.strip("."), known) for part in _PART.findall(plain)]
    return tuple(dict.fromkeys(match for match in found if match))


def interfaces_of(record: Record, known: Sequence[str], failing: tuple[str, ...]) -> tuple[str, ...]:
    """The names of `known` that a record is about. A record without a name is about the only interface in `failing`."""
    given = record.get("interface")
    names = matching(given or record.get("under"), known)
    return failing if not names and not given and len(failing) == 1 else names


def _above(part: str, known: Sequence[str]) -> str:
    """The interface `part`, or the interface that contains it: a class, for one of its methods."""
    while part:
        if meant := _meant(part, known):
            return meant
        part = part.rpartition(".")[0]
    return ""


def _meant(part: str, known: Sequence[str]) -> str:
    if part in known:
        return part
    low = part.casefold()
    for alike in (
        [each for each in known if each.casefold() == low],
        [each for each in known if each.casefold().endswith(f".{low}")],
        [each for each in known if low.endswith(f".{each.casefold()}")],
    ):
        if len(alike) == 1:
            return alike[0]
    return ""


def _scanned(text: str, proper: Mapping[str, str]) -> tuple[list[Record], str]:
    """The records of every JSON value in the text, and the problem of the first invalid one."""
    answers: list[list[Record]] = []
    loose: list[Record] = []
    problem = ""
    at = tried = 0
    while (opener := re.compile(r"[{\[]").search(text, at)) and tried < MOST_OPENERS:
        tried += 1
        at = opener.start() + 1
        try:
            value, at = _DECODER.raw_decode(text, opener.start())
        except json.JSONDecodeError as error:
            if not problem and re.match(r'[{\[]\s*(?:["{\[]|$)', text[opener.start() : opener.start() + 200]):
                problem = f"its JSON is broken: {error.msg} at line {error.lineno} column {error.colno}"
            continue
        except (RecursionError, ValueError):  # nested too deeply, or a number with thousands of digits
            return [], "its JSON cannot be read"
        here = list(_within(value, proper))
        if len(here) == 1 and isinstance(value, dict) and "interface" in _named(value, proper):
            loose += here
        elif here:
            answers.append(here)
        elif isinstance(value, dict):
            problem = problem or "its JSON has no list 'feedbacks' of records"
    found = [*_latest(answers), *loose]
    if found and answers and not loose:
        return found, ""
    return found, problem or ("" if found else "it held no JSON object")


def _latest(answers: Sequence[Sequence[Record]]) -> list[Record]:
    """The records of each interface from the last answer that has some."""
    last = {
        str(record.get("interface") or record["under"]): place
        for place, answer in enumerate(answers)
        for record in answer
    }
    return [
        record
        for place, answer in enumerate(answers)
        for record in answer
        if last[str(record.get("interface") or record["under"])] == place
    ]


def _within(value: Any, proper: Mapping[str, str], under: str = "", depth: int = 0) -> Iterator[Record]:
    """`under`: the key of the value's parent, which may be an interface."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        for each in value:
            yield from _within(each, proper, under, depth + 1)
    elif isinstance(value, dict):
        named = _named(value, proper)
        if len(named) > 1 or (named and "interface" not in named):
            inner = any(
                isinstance(each, list) and any(isinstance(one, dict) for one in each) for each in value.values()
            )
            if not inner:
                yield {"under": under, **named}
                return
        own = named.get("interface")
        for key, inside in value.items():
            yield from _within(inside, proper, own if isinstance(own, str) else key, depth + 1)


def _named(value: Mapping[str, Any], proper: Mapping[str, str]) -> dict[str, Any]:
    """The fields by their proper names. A proper name has priority over other names, and an earlier key over a later one."""
    found: dict[str, Any] = {}
    for exact in (True, False):
        for key, each in value.items():
            field = proper.get(_key(key))
            if field is not None and (_key(key) == field) is exact and found.get(field) in (None, ""):
                found[field] = each
    return found


def _key(key: str) -> str:
    return re.sub(r"[\W_]+", "_", key.strip().casefold()).strip("_")


def _fixed(text: str) -> str:
    """Fix common errors of JSON: remove trailing commas and comments, convert literals, and double invalid backslashes."""

    def fix(match: re.Match[str]) -> str:
        if match["text"] is not None:
            return _ESCAPE.sub(
                lambda sign: sign[0] if sign[1][0] in '"\\/bfnrtu' and sign[1] != "u" else "\\" + sign[0], match["text"]
            )
        return _LITERALS.get(match["word"] or "", "")

    return _SLIPS.sub(fix, text)


def _literal(text: str, proper: Mapping[str, str]) -> list[Record]:
    """The records of an answer that is a Python literal."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = ast.literal_eval(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return []
    value = list(value) if isinstance(value, tuple) else value  # a list of records without its brackets
    return list(_within(value, proper)) if _has_text_keys(value) else []


def _has_text_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(_has_text_keys, value.values()))
    return all(map(_has_text_keys, value)) if isinstance(value, list) else True
