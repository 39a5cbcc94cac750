"""Parse actions that a model writes as JSON objects.

    {"action": "write", "args": {"path": "a.py", "text": "..."}}
    {"name": "write", "arguments": {...}}        as most tool calls are written, also within <tool_call>...</tool_call>

Called by the readers of answers in the pytest process. Pure. JSON's own escapes are decoded, nothing else is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_recode.agents.action_names import is_argument_name, is_known_elsewhere, kind_of, plain_name
from pytest_recode.agents.actions import arguments_of, json_type
from pytest_recode.agents.calls import Call
from pytest_recode.agents.forms import PART_NAMES
from pytest_recode.agents.values import DamagedError, shown, unknown_action

_NAME_KEYS = ("action", "name", "tool", "tool_name", "function", "function_name", "recipient_name")


_ARGUMENT_KEYS = ("args", "arguments", "parameters", "params", "input", "action_input", "tool_input", "kwargs")


_LIST_KEYS = ("actions", "tool_calls", "tool_uses", "calls")


IGNORED_KEYS = ("id", "type", "call_id", "index")


AS_JSON = '`{"action": "read", "args": {"path": "a.py"}}`'


_MARK = "[\"'\u201c\u201d\u201e\u00ab\u00bb]"


_HINT = re.compile(rf"[\[{{\s]*{_MARK}(?:" + "|".join((*_NAME_KEYS, *_ARGUMENT_KEYS, *_LIST_KEYS)) + rf"){_MARK}\s*:")


_NAME = re.compile(rf"{_MARK}(?:" + "|".join(_NAME_KEYS) + rf"){_MARK}\s*:\s*{_MARK}(?P<name>[\w. -]{{1,80}})")


NAMED = re.compile(
    r"[^`\s\[{,][ \t]*\[?\{[ \t]*\"(?:" + "|".join(_NAME_KEYS) + r")\"[ \t]*:[ \t]*\"(?P<name>[\w.-]{1,80})\""
)


_SPAN = re.compile(r"`[^`]*`")


_GIVEN = re.compile(rf"{_MARK}(?:" + "|".join(_ARGUMENT_KEYS) + rf"){_MARK}\s*:")


class DuplicateKeyError(ValueError):
    """A JSON object has a key twice, so that one of the values would be lost."""


class DoubtfulEscapeError(ValueError):
    """A JSON string has both line breaks and escapes, so that its escapes may be meant literally."""


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


_ESCAPE = re.compile(r'\\[^"/]')


_RAW_BREAK = re.compile(r'"[^"\\]*\n[^"]*[^\s"{}\[\],:]')
"""A line break that seems to be within a string: of JSON that is not valid, nobody can tell."""


def decoded(text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value at `at`, and the index after it. Line breaks within a string are accepted, unless the string also has escapes, and so is
    a comma after the last item of an object or array.

    Raises ValueError (DuplicateKeyError and DoubtfulEscapeError among them) and RecursionError.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_once)
    try:
        value, end = decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if not _after_last_item(text, error.pos):
            raise
        text = text[:at] + _LAST_COMMA.sub(lambda found: " " if found[0] == "," else found[0], text[at:])
        value, end = decoder.raw_decode(text, at)
    for string in _STRING.finditer(text, at, end):
        if "\n" in string[0] and (escape := _ESCAPE.search(string[0])):
            raise DoubtfulEscapeError(
                f"a string has both line breaks and `{escape[0]}`, so that it is unclear whether that is an escape or two characters of the "
                "text: write each line break as \\n, and each backslash of the text as \\\\"
            )
    return value, end


_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{,:]\s*,|,(?=\s*[}\]])', re.DOTALL)
"""A string; a comma without an item before it, which stays; or a comma after the last item."""


def json_fault(error: Exception) -> str:
    """Why text is not the JSON of a call, for the model: what is wrong, and the text where it is."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if not isinstance(error, json.JSONDecodeError):
        return str(error)
    after = error.doc[error.pos :].partition("\n")[0].strip()[:40]
    if error.msg.startswith("Unterminated string"):
        return f"the string that begins with {shown(after)} has no end: the answer was cut off, or a quote is missing"
    what = error.msg.removesuffix(" at")
    where = f"{what} at {shown(after)}" if after else f"{what} in line {error.lineno}, at its end"
    quoted = error.msg == "Expecting ',' delimiter" and error.doc[: error.pos].rstrip().endswith('"')
    return f'{where}; a double quote within a string is written \\"' if quoted else where


def _after_last_item(text: str, at: int) -> bool:
    """Whether JSON is no JSON because of a comma before the bracket at `at`, or at `at`, as Python 3.13 has it."""
    return text[at : at + 1] == "," or (text[at : at + 1] in ("}", "]") and text[:at].rstrip().endswith(","))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise DuplicateKeyError(f"the key `{twice[:80]}` is given twice")
    return found


def json_calls(value: Any, line: int) -> list[Call] | None:
    """The actions in a JSON value; None if it is other data.

    Raises DamagedError where it is a call that cannot be read, and WrongError where it calls an action that does not exist.
    """
    if isinstance(value, list):
        found = [json_calls(each, line) for each in value]
        if not value or all(each is None for each in found):
            return None
        if any(each is None for each in found):
            raise DamagedError(f"Not all items of the JSON array in line {line} are actions.")
        return [call for each in found for call in each or ()]
    if not isinstance(value, dict):
        return None
    rest = dict(value)
    parts = taken_parts(rest)
    for key in _LIST_KEYS:
        if isinstance(rest.get(key), list):
            calls = json_calls(rest.pop(key), line)
            if calls is None:
                raise DamagedError(
                    f"The list `{key}` of the JSON object in line {line} holds no action.",
                    advice=f"Write each like {AS_JSON}.",
                )
            if extra := [each for each in rest if each not in IGNORED_KEYS]:
                raise DamagedError(
                    f"The JSON object in line {line} has `{extra[0][:80]}` beside `{key}`: it belongs to no action.",
                    advice=(
                        f"Leave it out, or write it as text before the object. Each action is written like {AS_JSON}."
                    ),
                )
            calls[0].parts |= parts
            return calls
    name = next((key for key in _NAME_KEYS if key in rest), None)
    if name is None and isinstance(rest.get("type"), str) and kind_of(rest["type"]) is not None:
        name = "type"
    if name is None:
        [only] = rest if len(rest) == 1 else [""]
        if kind_of(only) is None or not isinstance(rest[only], dict):
            _check_arguments(rest, line)
            return None
        return [Call(name=only, line=line, arguments=rest[only], parts=parts | taken_parts(rest[only]))]
    called = rest.pop(name)
    if isinstance(called, dict):  # {"function": {"name": ..., "arguments": ...}}, {"action": {...}}
        rest = {key: each for key, each in rest.items() if key not in IGNORED_KEYS}
        inner = json_calls(called, line)
        if inner is None or rest:
            raise DamagedError(
                f"`{name}` of the JSON object in line {line} names no action.",
                advice=f"Write {AS_JSON}, for example.",
            )
        inner[0].parts = parts | inner[0].parts
        return inner
    if not isinstance(called, str) or (kind_of(called) is None and not any(key in rest for key in _ARGUMENT_KEYS)):
        if isinstance(called, str) and _is_unknown_call(name, called, rest):
            raise unknown_action(called, after=f"(Line {line}.)")
        return None
    keys = [key for key in _ARGUMENT_KEYS if key in rest]
    if len(keys) > 1:
        raise DamagedError(f"The JSON object in line {line} has both `{keys[0]}` and `{keys[1]}`.")
    given = rest.pop(keys[0]) if keys else {}
    if isinstance(given, str):
        try:
            given = arguments_in(given, called)
        except DamagedError as damage:
            raise DamagedError(str(damage), advice=_as_an_object(called)) from None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise DamagedError(f"`{keys[0]}` of `{called[:80]}` in line {line} must be an object.")
    beside = {key: each for key, each in rest.items() if key not in IGNORED_KEYS}
    if keys and beside:
        raise DamagedError(
            f"The JSON object in line {line} has `{next(iter(beside))[:80]}` beside `{keys[0]}`: arguments belong in there."
        )
    arguments = {**given, **beside}
    return [Call(name=called, line=line, arguments=arguments, parts=parts | taken_parts(arguments))]


def _check_arguments(given: Mapping[str, Any], line: int) -> None:
    """Raises DamagedError for an object that has the arguments of an action and not its name."""
    known = [key for key in given if is_argument_name(key)]
    if known and all(key in known or key in IGNORED_KEYS for key in given):
        raise DamagedError(
            f"The JSON object in line {line} has arguments of actions (`{known[0][:80]}`) and names no action.",
            advice=(
                f"Write each action like {AS_JSON}. If "
                "it is data, leave it out, or put it in backticks within a sentence."
            ),
        )


def _is_unknown_call(key: str, called: str, given: Mapping[str, Any]) -> bool:
    """Whether an object whose `key` has this value calls an action that does not exist, and is no other data."""
    if key == "action" or is_known_elsewhere(called):
        return True
    return key != "name" and any(map(is_argument_name, given))


SUBMIT_TEXTS = ("message", "summary", "result", "answer", "final_answer", "text", "output", "notes")
"""Arguments of `submit` that are text for a reader: they belong to the reflection."""


def submit_text(given: dict[str, Any]) -> str:
    """Remove the arguments of `submit` that are text for a reader, and return their text."""
    names = [name for name in given if plain_name(name) in SUBMIT_TEXTS and isinstance(given[name], str | None)]
    return "\n".join(filter(None, (given.pop(name) for name in names)))


def taken_parts(given: dict[str, Any]) -> dict[str, str]:
    """Remove the parts of a step from arguments or keys, and return them. Other types become text, because a malformed thought must not
    invalidate an action."""
    parts: dict[str, str] = {}
    for key in list(given):
        if (name := PART_NAMES.get(key.lower())) is None:
            continue
        said = given.pop(key)
        parts[name] = "\n".join(filter(None, (parts.get(name), _as_text(said))))
    return parts


def _as_text(said: Any) -> str:
    if isinstance(said, list):
        return "\n".join(map(_as_text, said))
    return "" if said is None else said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def arguments_in(text: str, name: str) -> dict[str, Any]:
    """The arguments of a call, given as JSON text by most providers and encoded twice by some.

    Raises DamagedError.
    """
    given: Any = text or "{}"
    for _ in range(2):
        if isinstance(given, str):
            try:
                value, end = decoded(given.strip())
            except (ValueError, RecursionError) as error:
                raw = isinstance(error, json.JSONDecodeError) and "\n" in given.strip()
                raise DamagedError(
                    f"The arguments of `{name[:80]}` are no JSON ({json_fault(error)}).",
                    advice="Write each line break within a string as \\n, too."
                    if raw and _RAW_BREAK.search(given)
                    else "",
                ) from None
            if given.strip()[end:]:
                raise DamagedError(
                    f"The arguments of `{name[:80]}` are JSON followed by more text: {given.strip()[end:][:40]!r}."
                )
            given = value
        if given is None or given == "":
            given = {}
    if not isinstance(given, dict):
        raise DamagedError(f"The arguments of `{name[:80]}` are no JSON object but {json_type(given)}.")
    return given


def _as_an_object(name: str) -> str:
    kind = kind_of(name)
    return f"Write them as an object: {arguments_of(kind)}." if kind else ""


def looks_like_a_call(text: str) -> bool:
    """Whether text that is not valid JSON was meant to be an action."""
    return _HINT.match(text) is not None


def names_a_call(text: str) -> bool:
    """Whether text that looks like JSON names an action."""
    return any(kind_of(found["name"]) is not None for found in _NAME.finditer(text))


def call_behind_text(line: str) -> bool:
    """Whether a line has, after other text and outside backticks, a JSON object that names an action and has a key for its arguments."""
    line = _SPAN.sub("` `", line) if '"' in line else line
    found = next((each for each in NAMED.finditer(line) if kind_of(each["name"])), None) if '"' in line else None
    return found is not None and _GIVEN.search(line, found.end()) is not None
