"""Actions that a model writes as data: JSON objects, or tags as in XML.

    {"action": "write", "args": {"path": "a.py", "text": "..."}}
    {"name": "write", "arguments": {...}}        as most tool calls are written, also within <tool_call>...</tool_call>
    <function=write><parameter=path>a.py</parameter>...</function>
    <invoke name="write"><parameter name="path">a.py</parameter>...</invoke>
    <write><path>a.py</path><text>...</text></write>

Texts are taken as they are: JSON's own escapes are decoded, nothing within tags is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.agents.actions import (
    FORMS,
    MAX_ACTIONS,
    PART_NAMES,
    TEXTS,
    argument_of,
    arguments_of,
    json_type,
    kind_of,
    no_such_action,
)
from pytest_recode.agents.values import DamagedError, Value

_NAME_KEYS = ("action", "name", "tool", "tool_name", "function", "function_name", "recipient_name")
_ARGUMENT_KEYS = ("args", "arguments", "parameters", "params", "input", "action_input", "tool_input", "kwargs")
_LIST_KEYS = ("actions", "tool_calls", "tool_uses", "calls")
_IGNORED_KEYS = ("id", "type", "call_id", "index")
_TAG = re.compile(
    r"<(?P<name>(?:antml:)?[A-Za-z_][\w-]*)(?:=(?P<equals>[\w.-]+))?(?P<rest>(?:\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*)\s*(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LISTS = frozenset({"function_calls", "tool_calls", "actions", "tools"})
_CALLS = frozenset({"tool_call", "function_call", "tool_use", "tool", "action", "function", "invoke"})
_ARGUMENT_TAGS = frozenset({"parameter", "param", "arg", "argument"})
PART_TAG = re.compile(r"[ \t]*<(?P<name>[A-Za-z]{1,20})>")
ACTION_TAG = re.compile(r"[ \t]*<(?P<name>action)>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#\w+);|<!\[CDATA\[")
AS_JSON = '`{"action": "read", "args": {"path": "a.py"}}`'
_HOW = "Write each action as a tag that is named like it: `<read><path>a.py</path></read>`."
_MARK = "[\"'\u201c\u201d\u201e\u00ab\u00bb]"
_HINT = re.compile(rf"[\[{{\s]*{_MARK}(?:" + "|".join((*_NAME_KEYS, *_ARGUMENT_KEYS, *_LIST_KEYS)) + rf"){_MARK}\s*:")
_NAME = re.compile(rf"{_MARK}(?:" + "|".join(_NAME_KEYS) + rf"){_MARK}\s*:\s*{_MARK}(?P<name>[\w. -]{{1,80}})")
_NAMED = re.compile(
    r"[^`\s\[{,][ \t]*\[?\{[ \t]*\"(?:" + "|".join(_NAME_KEYS) + r")\"[ \t]*:[ \t]*\"(?P<name>[\w.-]{1,80})\""
)

_SPAN = re.compile(r"`[^`]*`")
_GIVEN = re.compile(rf"{_MARK}(?:" + "|".join(_ARGUMENT_KEYS) + rf"){_MARK}\s*:")


@dataclass(slots=True, kw_only=True)
class Call:
    """One action as it was written: `line` counts from 1, `values` are the texts whose end a line of the answer marks."""

    name: str
    line: int
    arguments: dict[str, object] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)


class DuplicateKeyError(ValueError):
    """A JSON object that has one key twice: one of the two would be lost."""


class DoubtfulEscapeError(ValueError):
    """A JSON string with line breaks and escapes: its writer may have meant the escapes as they are."""


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE = re.compile(r'\\[^"/]')


def decoded(text: str, at: int = 0) -> tuple[Any, int]:
    """The JSON value at `at`, and where it ends. Line breaks within a string are taken as such, unless the string has escapes as well.

    Raises ValueError (DuplicateKeyError and DoubtfulEscapeError among them) and RecursionError.
    """
    value, end = json.JSONDecoder(strict=False, object_pairs_hook=_once).raw_decode(text, at)
    for string in _STRING.finditer(text, at, end):
        if "\n" in string[0] and (escape := _ESCAPE.search(string[0])):
            raise DoubtfulEscapeError(
                f"a string holds line breaks, which JSON writes as \\n, and `{escape[0]}` as well: it is not known whether that is an escape"
            )
    return value, end


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise DuplicateKeyError(f"the key `{twice[:80]}` is given twice")
    return found


def json_calls(value: Any, line: int) -> list[Call] | None:
    """The actions in a JSON value; None where it is no call but other data.

    Raises DamagedError where it is a call that cannot be read.
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
                    f"The list `{key}` of the JSON object in line {line} holds no action. Write each like {AS_JSON}."
                )
            if extra := [each for each in rest if each not in _IGNORED_KEYS]:
                raise DamagedError(
                    f"The JSON object in line {line} has `{extra[0][:80]}` beside `{key}`: it belongs to no action. Leave it out, or "
                    f"write it as text before the object. Each action is written like {AS_JSON}."
                )
            calls[0].parts |= parts
            return calls
    name = next((key for key in _NAME_KEYS if key in rest), None)
    if name is None and isinstance(rest.get("type"), str) and kind_of(rest["type"]) is not None:
        name = "type"
    if name is None:
        [only] = rest if len(rest) == 1 else [""]
        if kind_of(only) is None or not isinstance(rest[only], dict):
            return None
        return [Call(name=only, line=line, arguments=rest[only], parts=parts | taken_parts(rest[only]))]
    called = rest.pop(name)
    if isinstance(called, dict):  # {"function": {"name": ..., "arguments": ...}}, {"action": {...}}
        rest = {key: each for key, each in rest.items() if key not in _IGNORED_KEYS}
        inner = json_calls(called, line)
        if inner is None or rest:
            raise DamagedError(
                f"`{name}` of the JSON object in line {line} names no action. Write {AS_JSON}, for example."
            )
        inner[0].parts = parts | inner[0].parts
        return inner
    if not isinstance(called, str) or (kind_of(called) is None and not any(key in rest for key in _ARGUMENT_KEYS)):
        if name == "action" and isinstance(called, str):
            raise DamagedError(no_such_action(called))
        return None
    keys = [key for key in _ARGUMENT_KEYS if key in rest]
    if len(keys) > 1:
        raise DamagedError(f"The JSON object in line {line} has both `{keys[0]}` and `{keys[1]}`.")
    given = rest.pop(keys[0]) if keys else {}
    if isinstance(given, str):
        try:
            given = arguments_in(given, called)
        except DamagedError as damage:
            raise DamagedError(f"{damage}{_as_an_object(called)}") from None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise DamagedError(f"`{keys[0]}` of `{called[:80]}` in line {line} must be an object.")
    beside = {key: each for key, each in rest.items() if key not in _IGNORED_KEYS}
    if keys and beside:
        raise DamagedError(
            f"The JSON object in line {line} has `{next(iter(beside))[:80]}` beside `{keys[0]}`: arguments belong in there."
        )
    arguments = {**given, **beside}
    return [Call(name=called, line=line, arguments=arguments, parts=parts | taken_parts(arguments))]


def taken_parts(given: dict[str, Any]) -> dict[str, str]:
    """The parts of a step among arguments or keys, taken out of `given`; what is no text becomes one, since a thought undoes no action."""
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
    """The arguments of a call, as the JSON text that most providers send; some encode it twice.

    Raises DamagedError.
    """
    given: Any = text or "{}"
    for _ in range(2):
        if isinstance(given, str):
            try:
                value, end = decoded(given.strip())
            except (ValueError, RecursionError) as error:
                raise DamagedError(f"The arguments of `{name[:80]}` are no JSON ({error}).") from None
            if given.strip()[end:]:
                raise DamagedError(
                    f"The arguments of `{name[:80]}` are JSON with more behind it: {given.strip()[end:][:40]!r}."
                )
            given = value
        if given is None or given == "":
            given = {}
    if not isinstance(given, dict):
        raise DamagedError(f"The arguments of `{name[:80]}` are no JSON object but {json_type(given)}.")
    return given


def _as_an_object(name: str) -> str:
    kind = kind_of(name)
    return f" Write them as an object: {arguments_of(kind)}." if kind else ""


def looks_like_a_call(text: str) -> bool:
    """Whether text that is no JSON was meant to be an action."""
    return _HINT.match(text) is not None


def names_a_call(text: str) -> bool:
    """Whether text that looks like JSON names an action."""
    return any(kind_of(found["name"]) is not None for found in _NAME.finditer(text))


def opens_call(line: str) -> bool:
    """Whether a line begins with a tag that opens an action."""
    tag = _TAG.match(line.lstrip())
    return tag is not None and _opens(tag)


def opening_tags(line: str) -> Iterator[re.Match[str]]:
    """The tags of a line that open an action, but for those in backticks."""
    for tag in _TAG.finditer(line) if "<" in line else ():
        if _opens(tag) and not re.match(r"[\w`]", line[max(tag.start() - 1, 0)]):
            yield tag


def call_behind_text(line: str) -> bool:
    """Whether a line holds a JSON object behind other text that names an action and has a key for its arguments; not in backticks."""
    line = _SPAN.sub("` `", line) if '"' in line else line
    found = next((each for each in _NAMED.finditer(line) if kind_of(each["name"])), None) if '"' in line else None
    return found is not None and _GIVEN.search(line, found.end()) is not None


def call_within(line: str) -> bool:
    """Whether a line holds an action behind other text: a JSON object that names one, or a tag that opens one and that it or a later
    line closes. Not in backticks."""
    if '"' in line and any(kind_of(found["name"]) for found in _NAMED.finditer(line)):
        return True
    begin = len(line) - len(line.lstrip())
    for tag in _TAG.finditer(line) if "<" in line.lstrip()[1:] else ():
        behind = tag.start() > begin and not re.match(r"[\w`]", line[tag.start() - 1])
        if not behind or not _opens(tag):
            continue
        marked = tag["empty"] or tag["equals"] or tag["rest"] or f"</{tag['name']}>" in line
        if marked or not line[tag.end() :].strip():
            return True
    return False


def _opens(tag: re.Match[str]) -> bool:
    name = tag["name"].removeprefix("antml:").lower()
    return name in _LISTS or name in _CALLS or kind_of(name) is not None


def tagged_calls(text: str, at: int) -> tuple[list[Call], int]:
    """The actions in the element that begins at `at`, and where it ends. Raises DamagedError."""
    tag = _TAG.match(text, at)
    assert tag is not None
    name = tag["name"].removeprefix("antml:").lower()
    line = text.count("\n", 0, at) + 1
    close = f"</{tag['name']}>"
    if name in _LISTS:
        calls: list[Call] = []
        at = _skipped(text, tag.end())
        while not text.startswith(close, at):
            inner = _TAG.match(text, at)
            if inner is None or not _opens(inner):
                raise DamagedError(
                    f"`{tag[0][:80]}` in line {line} holds what is no action, or is not closed by `{close}`."
                )
            found, at = tagged_calls(text, at)
            calls += found
            at = _skipped(text, at)
        return calls, at + len(close)
    named = tag["equals"] or _attribute(tag, "name") or ("" if name in _CALLS else name)
    given = _attributes(tag, line, named) if named else {}
    if named != name:
        given.pop("name", None)
    if tag["empty"]:
        if not named:
            raise DamagedError(f"`{tag[0][:80]}` in line {line} names no action.")
        return [Call(name=named, line=line, arguments=dict(given))], tag.end()
    at = _skipped(text, tag.end())
    if text[at : at + 1] in ("{", "["):
        if given:
            raise DamagedError(f"`{tag[0][:80]}` in line {line} has attributes, and JSON in it: use one of the two.")
        calls, at = _json_within(text, at, named, line)
    elif named:
        call, at = _arguments(text, at, Call(name=named, line=line, arguments=dict(given)), close)
        calls = [call]
    else:
        calls = []
        while (inner := _TAG.match(text, at)) and _opens(inner) and len(calls) <= MAX_ACTIONS:
            found, at = tagged_calls(text, at)
            calls += found
            at = _skipped(text, at)
        if not calls:
            raise DamagedError(f"`{tag[0][:80]}` in line {line} holds neither a JSON object nor an action. {_HOW}")
    at = _skipped(text, at)
    if not text.startswith(close, at):
        what = text[at:].partition("\n")[0]
        raise DamagedError(f"`{tag[0][:80]}` in line {line} is not closed by `{close}` before {what[:80]!r}.")
    return calls, at + len(close)


def _json_within(text: str, at: int, named: str, line: int) -> tuple[list[Call], int]:
    try:
        value, at = decoded(text, at)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"The JSON in the tag of line {line} cannot be read ({error}).") from None
    if named and isinstance(value, dict):
        return [Call(name=named, line=line, parts=taken_parts(value), arguments=value)], at
    calls = json_calls(value, line)
    if not calls:
        raise DamagedError(f"The JSON in the tag of line {line} names no action.")
    return calls, at


def _arguments(text: str, at: int, call: Call, close: str) -> tuple[Call, int]:
    """The arguments of `call`, each a tag of its own, up to `close`."""
    while not text.startswith(close, at):
        tag = _TAG.match(text, at)
        if tag is None and not call.arguments and not call.parts and (plain := _plain(text, at, call.name, close)):
            call.arguments |= plain
            return call, text.index(close, at)
        if tag is None:
            what = text[at:].partition("\n")[0]
            raise DamagedError(
                f"`{call.name[:80]}` in line {call.line} is not closed by `{close}`, or holds what is no argument: {what[:80]!r}. "
                f"{_in_tags(call.name)}"
            )
        name, value, at = argument_tag(text, tag)
        if name in call.arguments or PART_NAMES.get(name) in call.parts:
            raise DamagedError(f"`{name}` of `{call.name[:80]}` in line {call.line} is given twice.")
        if (part := PART_NAMES.get(name.lower())) is not None:
            call.parts[part] = value.text
        else:
            call.arguments[name], call.values[name] = value.text, value
        at = _skipped(text, at)
    return call, at


def argument_tag(text: str, tag: re.Match[str]) -> tuple[str, Value, int]:
    """Name and value of the argument that `tag` opens, and where it ends. Its text is all up to the first closing tag, without one
    line break at each end. Raises DamagedError."""
    opened = text.count("\n", 0, tag.start()) + 1
    name = tag["name"].removeprefix("antml:")
    close = f"</{tag['name']}>"
    if name.lower() in _ARGUMENT_TAGS:
        name = tag["equals"] or _attribute(tag, "name")
    stop = text.find(close, tag.end())
    if stop < 0 or tag["empty"] or not name:
        raise DamagedError(f"`{tag[0][:80]}` in line {opened} is not closed by `{close}`, or names no argument.")
    raw = text[tag.end() : stop]
    if _ENTITY.search(raw):
        raise DamagedError(
            f"The text of `{tag[0][:80]}` in line {opened} holds `{_ENTITY.search(raw)[0]}`: it is not known whether it is "  # type: ignore[index]
            "escaped. Write it as a block."
        )
    body = raw.removeprefix("\n")
    body, broken, last = body.rpartition("\n")
    whole_lines = bool(broken) and not last.strip(" \t")
    body = body if whole_lines else f"{body}{broken}{last}"
    if "\n" not in raw and name.lower() in ("path", "file", "filename", "file_path", "filepath"):
        body = body.strip()
    end = stop + len(close)
    ended = text.count("\n", 0, end) + 1
    final = "\n" if whole_lines else ""
    return name, Value(text=body, end=ended, closer=close, opened=opened, final=final), end


def _plain(text: str, at: int, name: str, close: str) -> dict[str, object]:
    """The main argument of an action whose tag holds it as plain text: `<run>ls -la</run>`. Empty where it may be more than that."""
    kind = kind_of(name)
    said, closed, rest = text[at:].partition(close)
    if kind is None or FORMS[kind].holds_text or not FORMS[kind].main or not closed:
        return {}
    if rest.count(close) > rest.count(f"<{close[2:-1]}"):  # a later one could be its end as well
        return {}
    if _ENTITY.search(said) or any(_opens(tag) or argument_of(kind, tag["name"]) for tag in _TAG.finditer(said)):
        return {}
    return {FORMS[kind].main: said.strip()} if kind == "run" or "\n" not in said.strip() else {}


def _attributes(tag: re.Match[str], line: int, named: str) -> dict[str, object]:
    """The arguments of an action that stand in its tag: `<read path="a.py" />`."""
    found = [(name, double or single) for name, double, single in _ATTRIBUTE.findall(tag["rest"])]
    kind = str(kind_of(named))
    for name, value in found:
        if kind in FORMS and (argument_of(kind, name) in TEXTS or _ENTITY.search(value)):
            raise DamagedError(
                f"`{name}` stands in the tag `{tag[0].split()[0]}` of line {line}: it is not known what is escaped in it. {_in_tags(kind)}"
            )
    if len({name for name, _ in found}) < len(found):
        raise DamagedError(f"The tag `{tag[0].split()[0]}` in line {line} has an attribute twice.")
    return {name: value for name, value in found if name not in _IGNORED_KEYS}


def _in_tags(name: str) -> str:
    """How to write an action in tags."""
    kind = kind_of(name)
    if kind is None or not FORMS[kind].takes:
        return ""
    inner = "".join(f"<{each}>...</{each}>" for each in FORMS[kind].takes if each not in FORMS[kind].optional)
    return f"Write each argument as a tag of its own: `<{kind}>{inner}</{kind}>`."


def tag_at(text: str, at: int) -> re.Match[str] | None:
    return _TAG.match(text, at)


def _attribute(tag: re.Match[str], wanted: str) -> str:
    return next((double or single for name, double, single in _ATTRIBUTE.findall(tag["rest"]) if name == wanted), "")


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n":
        at += 1
    return at
