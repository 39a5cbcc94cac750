"""Parse actions that a model writes in XML-like tags.

    <function=write><parameter=path>a.py</parameter>...</function>
    <invoke name="write"><parameter name="path">a.py</parameter>...</invoke>
    <write><path>a.py</path><text>...</text></write>
    <tool_call>write<arg_key>path</arg_key><arg_value>a.py</arg_value>...</tool_call>

Called by the readers of answers in the pytest process. Pure. Texts are taken as they are: nothing within tags is an escape. One line break
directly after the opening tag and one directly before the closing tag belong to the tags if both are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from pytest_recode.agents.action_names import TOOL_KINDS, argument_of, kind_of
from pytest_recode.agents.actions import MAX_ACTIONS
from pytest_recode.agents.calls import Call
from pytest_recode.agents.forms import FORMS, PART_NAMES, TEXTS
from pytest_recode.agents.json_calls import IGNORED_KEYS, NAMED, decoded, json_calls, json_fault, taken_parts
from pytest_recode.agents.values import DamagedError, Value

_SPACE = "(?:(?:antml|xai|minimax):|\uff5cDSML\uff5c)"
"""What the models of Anthropic, xAI, MiniMax and DeepSeek write before the name of a tag."""

_TAG = re.compile(
    rf"<(?P<name>{_SPACE}?[A-Za-z_][\w-]*)(?:=(?P<equals>[\w.-]+))?(?P<rest>(?:\s+[\w-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*)\s*(?P<empty>/?)>"
)

_ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LISTS = frozenset({"function_calls", "tool_calls", "actions", "tools"})
_CALLS = frozenset({"tool_call", "function_call", "tool_use", "tool", "action", "function", "invoke"})

_OTHER_TOOLS = frozenset(name for name in TOOL_KINDS if "_" in name) - {"final_answer"}
"""Names of other agents' tools that open a call; `<final_answer>` may be a frame around words."""

_ARGUMENT_TAGS = frozenset({"parameter", "param", "arg", "argument"})

PART_TAG = re.compile(r"[ \t]*<(?P<name>[A-Za-z_]{1,20})>")
ACTION_TAG = re.compile(r"[ \t]*<(?P<name>action)>", re.IGNORECASE)
_PREFIX = re.compile(rf"^{_SPACE}")

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#\w+);|<!\[CDATA\[")
_CDATA, _CDATA_END = "<![CDATA[", "]]>"

_NAME = re.compile(r"\s*(?P<name>[\w.-]{1,80})\s*(?=<arg_key>|</)")
_KEY = re.compile(r"<arg_key>\s*(?P<key>[\w-]{1,80})\s*</arg_key>\s*<arg_value>")
_VALUE_END = "</arg_value>"
"""How GLM writes the name and the arguments of a call."""

_SURPLUS = re.compile(r"[}\s]*")
"""Braces too many after the JSON in a tag, which some models write."""

_AS_A_BLOCK = "Write the action below `### Action: NAME`, and the text as a block: `text <<END_OF_TEXT`, its lines, `END_OF_TEXT`."
_HOW = "Write each action as a tag that is named like it: `<read><path>a.py</path></read>`."


def opens_call(line: str) -> bool:
    """Whether a line begins with a tag that opens an action."""
    tag = _TAG.match(line.lstrip())
    return tag is not None and _opens(tag)


def opening_tags(line: str) -> Iterator[re.Match[str]]:
    """The tags in a line that open an action, except those in backticks."""
    for tag in _TAG.finditer(line) if "<" in line else ():
        if _opens(tag) and not re.match(r"[\w`]", line[max(tag.start() - 1, 0)]):
            yield tag


def call_within(line: str) -> bool:
    """Whether a line has, after other text and outside backticks, an action: a JSON object that names one, or a tag that opens one and is
    closed by this or a later line."""
    if '"' in line and any(kind_of(found["name"]) for found in NAMED.finditer(line)):
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
    name = bare_name(tag).lower()
    return name in _LISTS or name in _CALLS or kind_of(name) is not None or name in _OTHER_TOOLS


def bare_name(tag: re.Match[str]) -> str:
    """The name of a tag without what a model writes before it."""
    return _PREFIX.sub("", tag["name"])


def tagged_calls(text: str, at: int) -> tuple[list[Call], int]:
    """The actions in the element that begins at `at`, and the index after it. Raises DamagedError."""
    tag = _TAG.match(text, at)
    assert tag is not None
    name = bare_name(tag).lower()
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
        at = _SURPLUS.match(text, at).end()  # type: ignore[union-attr]
        while text[at : at + 1] in ("{", "[") and not named and len(calls) <= MAX_ACTIONS:
            more, at = _json_within(text, at, named, line)
            calls, at = calls + more, _SURPLUS.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return calls, at  # a server removed the last tag
    elif not named and (said := _NAME.match(text, tag.end())):
        call, at = _keys_and_values(text, said.end(), Call(name=said["name"], line=line), close)
        calls = [call]
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
            raise DamagedError(
                f"`{tag[0][:80]}` in line {line} holds neither a JSON object nor an action.",
                advice=_HOW,
            )
    at = _skipped(text, at)
    if not text.startswith(close, at):
        what = text[at:].partition("\n")[0]
        where = repr(what[:80]) if text[at:].strip() else "the end of your answer"
        raise DamagedError(f"`{tag[0][:80]}` in line {line} is not closed by `{close}` before {where}.")
    return calls, at + len(close)


def _json_within(text: str, at: int, named: str, line: int) -> tuple[list[Call], int]:
    try:
        value, at = decoded(text, at)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"The JSON in the tag of line {line} cannot be read ({json_fault(error)}).") from None
    if named and isinstance(value, dict):
        return [Call(name=named, line=line, parts=taken_parts(value), arguments=value)], at
    calls = json_calls(value, line)
    if not calls:
        raise DamagedError(f"The JSON in the tag of line {line} names no action.")
    return calls, at


def _keys_and_values(text: str, at: int, call: Call, close: str) -> tuple[Call, int]:
    """Read the arguments of `call` as GLM writes them, up to `close`."""
    at = _skipped(text, at)
    while not text.startswith(close, at):
        key = _KEY.match(text, at)
        stop = text.find(_VALUE_END, key.end()) if key else -1
        after = _skipped(text, stop + len(_VALUE_END))
        if key is None or stop < 0 or not text.startswith((close, "<arg_key>"), after):
            raise DamagedError(
                f"`{call.name[:80]}` in line {call.line} is not made of `<arg_key>...</arg_key>` and `<arg_value>...{_VALUE_END}` up to "
                f"`{close}`."
            )
        opened = text.count("\n", 0, key.end()) + 1
        _keep(call, key["key"], _value(text, key.end(), stop, _VALUE_END, "<arg_value>", opened))
        at = after
    return call, at


def _keep(call: Call, name: str, value: Value) -> None:
    if name in call.arguments or PART_NAMES.get(name) in call.parts:
        raise DamagedError(f"`{name}` of `{call.name[:80]}` in line {call.line} is given twice.")
    if (part := PART_NAMES.get(name.lower())) is not None:
        call.parts[part] = value.text
    else:
        call.arguments[name], call.values[name] = value.text, value


def _arguments(text: str, at: int, call: Call, close: str) -> tuple[Call, int]:
    """Read the arguments of `call`, each in its own tag, up to `close`."""
    while not text.startswith(close, at):
        tag = _TAG.match(text, at)
        if tag is None and not call.arguments and not call.parts and (plain := _plain(text, at, call.name, close)):
            call.arguments |= plain
            return call, text.index(close, at)
        if tag is None:
            what = text[at:].partition("\n")[0]
            if (last := next(reversed(call.values.values()), None)) and last.closer in text[at : text.find(close, at)]:
                raise DamagedError(
                    f"The text of the argument that begins in line {last.opened} ends at the first `{last.closer}`, and there is another after it: it "
                    "is unclear which is meant.",
                    advice=_AS_A_BLOCK,
                )
            raise DamagedError(
                f"`{call.name[:80]}` in line {call.line} is not closed by `{close}`, or holds what is no argument: {what[:80]!r}.",
                advice=_in_tags(call.name),
            )
        name, value, at = argument_tag(text, tag)
        _keep(call, name, value)
        if _attribute(tag, "string") == "false":  # as DeepSeek marks a value that is JSON
            call.arguments[name] = _json_value(value.text, name, call.line)
        at = _skipped(text, at)
    return call, at


def _json_value(text: str, name: str, line: int) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"`{name[:80]}` of the call in line {line} is no JSON ({json_fault(error)}).") from None


def argument_tag(text: str, tag: re.Match[str]) -> tuple[str, Value, int]:
    """Name and value of the argument that `tag` opens, and the index after it. The value ends at the first closing tag, or at the first
    after the end of a CDATA section. Raises DamagedError."""
    opened = text.count("\n", 0, tag.start()) + 1
    name = bare_name(tag)
    close = f"</{tag['name']}>"
    if name.lower() in _ARGUMENT_TAGS:
        name = tag["equals"] or _attribute(tag, "name")
    stop = text.find(close, tag.end())
    within = _skipped(text, tag.end())
    if text.startswith(_CDATA, within):
        stop = text.find(_CDATA_END, within)
        stop = text.find(close, stop) if stop >= 0 else -1
    if tag["empty"] or not name:
        raise DamagedError(f"`{tag[0][:80]}` in line {opened} names no argument, or has no value.")
    if stop < 0:
        raise DamagedError(
            f"`{tag[0][:80]}` in line {opened} is not closed by `{close}`: the answer was cut off, or the closing tag is missing."
        )
    value = _value(text, tag.end(), stop, close, tag[0][:80], opened)
    if value.frame and tag["equals"]:  # as Qwen's template writes every argument
        value = replace(value, frame="always")
    if "\n" not in value.text and name.lower() in ("path", "file", "filename", "file_path", "filepath"):
        value = replace(value, text=value.text.strip())
    return name, value, stop + len(close)


def _value(text: str, start: int, stop: int, close: str, tag: str, opened: int) -> Value:
    """The text between two tags. Raises DamagedError if it is unclear what of it is meant."""
    raw = text[start:stop]
    section = raw.strip()
    if section.startswith(_CDATA) and section.endswith(_CDATA_END) and section.count(_CDATA_END) == 1:
        raw = section[len(_CDATA) : -len(_CDATA_END)]
    elif found := _ENTITY.search(raw):
        raise DamagedError(
            f"The text of `{tag}` in line {opened} holds `{found[0]}`: it is unclear whether it is escaped.",
            advice=_AS_A_BLOCK,
        )
    ended = text.count("\n", 0, stop + len(close)) + 1
    inner, broken, last = raw.rpartition("\n")
    if not broken or last.strip(" \t"):
        return Value(text=raw, end=ended, closer=close, opened=opened)
    if raw[0] == "\n":
        body = raw[1 : len(inner)]
        final = "\n" if body and body[-1] != "\n" else ""
        return Value(text=body, end=ended, closer=close, opened=opened, frame="both", final=final)
    if last:
        raise DamagedError(
            f"The text of `{tag}` in line {opened} begins next to its tag and ends in blanks before `{close}`: it is unclear whether they "
            "belong to it.",
            advice="Begin the text in a line of its own.",
        )
    return Value(text=raw, end=ended, closer=close, opened=opened)


def _plain(text: str, at: int, name: str, close: str) -> dict[str, object]:
    """The main argument of an action whose tag contains it as plain text: `<run>ls -la</run>`. Empty if the text may be more than that."""
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
    """The arguments of an action in attributes of its tag: `<read path="a.py" />`."""
    found = [(name, double or single) for name, double, single in _ATTRIBUTE.findall(tag["rest"])]
    kind = str(kind_of(named))
    for name, value in found:
        if kind in FORMS and (argument_of(kind, name) in TEXTS or _ENTITY.search(value)):
            raise DamagedError(
                f"`{name}` is in the tag `{tag[0].split()[0]}` of line {line}: it is unclear what is escaped in it.",
                advice=_in_tags(kind),
            )
    if len({name for name, _ in found}) < len(found):
        raise DamagedError(f"The tag `{tag[0].split()[0]}` in line {line} has an attribute twice.")
    return {name: value for name, value in found if name not in IGNORED_KEYS}


def _in_tags(name: str) -> str:
    """How to write an action in tags."""
    kind = kind_of(name)
    if kind is None or not FORMS[kind].takes:
        return ""
    inner = "".join(f"<{each}>...</{each}>" for each in FORMS[kind].takes if each not in FORMS[kind].optional)
    return f"Write each argument as a tag of its own: `<{kind}>{inner}</{kind}>`."


def is_argument(tag: re.Match[str]) -> bool:
    """Whether a tag names an argument in itself: `<parameter=path>`, `<parameter name="path">`."""
    return bare_name(tag).lower() in _ARGUMENT_TAGS and bool(tag["equals"] or _attribute(tag, "name"))


def tag_at(text: str, at: int) -> re.Match[str] | None:
    return _TAG.match(text, at)


def attribute_names(tag: re.Match[str]) -> list[str]:
    return [name for name, _, _ in _ATTRIBUTE.findall(tag["rest"])]


def _attribute(tag: re.Match[str], wanted: str) -> str:
    return next((double or single for name, double, single in _ATTRIBUTE.findall(tag["rest"]) if name == wanted), "")


def _skipped(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n":
        at += 1
    return at
