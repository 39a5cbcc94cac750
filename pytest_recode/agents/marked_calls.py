"""Parse tool calls between the tokens of chat templates, which are in the text of an answer if a server did not convert them.

    <|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a.py"}<|call|>         gpt-oss (harmony)
    <|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|>     Kimi
    [TOOL_CALLS]read[ARGS]{"path": "a.py"}   [TOOL_CALLS][{"name": "read", "arguments": {...}}]           Mistral
    <|python_tag|>{"name": "read", "parameters": {...}}; {...}   <|python_tag|>[read(path="a.py"), submit()]      Llama

and DeepSeek's with its own tokens. Called by the readers of answers in the pytest process. Pure. Where the arguments end is known from their
JSON, or from the brackets of a call in Python, so a text within them may hold any token.
"""

from __future__ import annotations

import re

from pytest_recode.agents.calls import Call
from pytest_recode.agents.json_calls import arguments_in, decoded, json_calls, json_fault, taken_parts
from pytest_recode.agents.python_calls import end_of_expression, python_calls
from pytest_recode.agents.values import FENCE, DamagedError, closes_fence

_NAME = r"(?P<name>[\w.-]{1,80})"
_SEPARATOR = "<\uff5ctool\u2581sep\uff5c>"

_NAMED_CALLS = tuple(
    re.compile(begin, re.ASCII)
    for begin in (
        rf"(?:<\|start\|>assistant[ ]?)?<\|channel\|>(?:analysis|commentary|final)[ ]{{1,9}}to={_NAME}"
        r"[\w ]{0,20}(?:<\|constrain\|>[\w ]{0,20})?<\|message\|>",
        rf"<\|start\|>assistant[ ]{{1,9}}to={_NAME}[ ]{{0,9}}<\|channel\|>(?:analysis|commentary|final)"
        r"[\w ]{0,20}(?:<\|constrain\|>[\w ]{0,20})?<\|message\|>",
        rf"<\|tool_call_begin\|>\s{{0,9}}{_NAME}(?::\d{{1,9}})?\s{{0,9}}<\|tool_call_argument_begin\|>",
        rf"<\uff5ctool\u2581call\u2581begin\uff5c>(?:function{_SEPARATOR})?{_NAME}(?:{_SEPARATOR}|\n```json\n)",
        rf"\[TOOL_CALLS\][ ]{{0,9}}{_NAME}(?:\[CALL_ID\][\w-]{{0,80}})?\[ARGS\]",
    )
)
"""What is before the arguments of a call, with the name of the call."""

_JSON_CALL = re.compile(r"(?:<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_call\|>)\s{0,9}(?=[\[{])", re.ASCII)
"""What is before a call, or a list of calls, that JSON names."""

_PYTHON_CALL = re.compile(
    r"(?:<\|python_tag\|>|\[TOOL_CALLS\]|<\|tool_calls?\|>)\s{0,9}(?=\[?\s{0,9}[A-Za-z_][\w.]{0,80}\()", re.ASCII
)
"""What is before a call, or a list of calls, in Python."""

_BETWEEN = re.compile(
    r"(?:\s|<\|tool_calls_section_(?:begin|end)\|>|<\uff5ctool\u2581calls\u2581(?:begin|end)\uff5c>)*", re.ASCII
)
_END = re.compile(
    r"\s*(?:(?:```)?\s*<\uff5ctool\u2581call\u2581end\uff5c>|<\|(?:call|end|tool_call_end|eom_id|eot_id|/?tool_call)\|>|</s>)?",
    re.ASCII,
)
_NEXT = re.compile(r"\s*;\s*(?=\{)")
_LAST = re.compile(
    r"(?:\s*(?:<\|(?:end|return|eom_id|eot_id|im_end|endoftext|tool_calls_section_end)\|>|</s>"
    r"|<\uff5c(?:tool\u2581calls\u2581end|end\u2581of\u2581sentence)\uff5c>))*[ \t]*",
    re.ASCII,
)

_BEGINS = re.compile(
    r"<\|(?:python_tag|tool_calls?|tool_calls?_section_begin|tool_call_begin)\|>|\[TOOL_CALLS\]"
    r"|<\uff5ctool\u2581calls?\u2581begin\uff5c>"
    r"|(?:<\|start\|>assistant[ ]?)?<\|channel\|>\w{1,20}[ ]{1,9}to=|<\|start\|>assistant[ ]{1,9}to=",
    re.ASCII,
)
"""The token that begins a call, or a list of calls."""

_CHANNEL = r"<\|channel\|>(?:analysis|commentary|final)[ ]{0,9}<\|message\|>"
_PROSE = re.compile(
    rf"(?:<\|start\|>(?:assistant)?)?{_CHANNEL}"
    r"|<\|(?:start\|>assistant|end\|>|return\|>|eot_id\|>|eom_id\|>|im_end\|>|endoftext\|>|end_of_text\|>|begin_of_text\|>)"
    r"|<\uff5c(?:begin|end)\u2581of\u2581sentence\uff5c>",
    re.ASCII,
)
"""Tokens that begin or end prose."""

_MESSAGE = re.compile(rf"<\|start\|>assistant{_CHANNEL}", re.ASCII)
"""What begins a message of prose behind a call, as gpt-oss writes it."""

_MARK = re.compile(
    r"<\|[^|<>\n]{1,60}\|>|</?\uff5c[^\uff5c<>\n]{1,60}\uff5c[^<>\n]{0,80}>|\[/?(?:TOOL_CALLS|ARGS|CALL_ID)\]"
    r"|</?(?:antml|xai|minimax):\w{1,40}|^\*\*\* (?:Begin|End) Patch|\bdefault_api\.\w{1,40}\("
)
"""Tokens of chat templates, and other markup that some models write only to act."""

_SPAN = re.compile(r"`[^`]*`")


def _unquoted(line: str) -> str:
    """A line with blanks in the place of its code spans."""
    return _SPAN.sub(lambda span: " " * len(span[0]), line) if "`" in line else line


def begins_call(line: str) -> int:
    """The index in a line of the first token that begins a call, outside of backticks; -1 if there is none."""
    found = _BEGINS.search(_unquoted(line)) if "<" in line or "[TOOL" in line else None
    return found.start() if found else -1


def stray_mark(line: str) -> str:
    """The first token of a chat template in a line outside of backticks that is more than the frame of prose; "" if there is none."""
    if "|" not in line and "\uff5c" not in line and not _MARK.search(line):
        return ""
    found = _MARK.search(_PROSE.sub("", _unquoted(line)))
    return found[0] if found else ""


def first_mark(text: str) -> tuple[int, str]:
    """The line (from 1) and the token of the first `stray_mark` in a text outside of code fences; (0, "") if there is none."""
    lines, at, closed = text.split("\n"), 0, True
    while at < len(lines):
        opened = FENCE.match(lines[at]) if closed else None
        if opened is not None:
            end = next((row for row in range(at + 1, len(lines)) if closes_fence(lines[row], opened["ticks"])), 0)
            at, closed = (end or at) + 1, bool(end)
            continue
        if mark := stray_mark(lines[at]):
            return at + 1, mark
        at += 1
    return 0, ""


def marked_calls(text: str, at: int) -> tuple[list[Call], int]:
    """The calls that begin at `at`, and the index after the last. Only a message of prose may follow on its line.

    Raises DamagedError if a call is not whole, or other text follows.
    """
    line = text.count("\n", 0, at) + 1
    mark = _BEGINS.match(text, at)
    calls: list[Call] = []
    end = at
    while (found := _call_at(text, _BETWEEN.match(text, end).end(), line)) is not None:  # type: ignore[union-attr]
        more, end = found
        calls += more
    if not calls:
        what = mark[0] if mark else text[at : at + 40]
        raise DamagedError(f"`{what}` in line {line} begins a call of a tool, and no whole call follows it.")
    end = _LAST.match(text, end).end()  # type: ignore[union-attr]
    rest = text[end:].partition("\n")[0].strip()
    if rest and not _MESSAGE.match(rest):
        raise DamagedError(
            f"{rest[:80]!r} follows a call of a tool in line {text.count(chr(10), 0, end) + 1}, and is no call in the same form.",
            advice="Write all calls in one form, and other text before them.",
        )
    return calls, end


def _call_at(text: str, at: int, first: int) -> tuple[list[Call], int] | None:
    """The calls of one token, and the index after them. None if none begins at `at`."""
    if (begun := _PYTHON_CALL.match(text, at)) is not None:
        stop = end_of_expression(text, begun.end())
        calls = python_calls(text[begun.end() : stop], text.count("\n", 0, begun.end()) + 1)
        return calls, _END.match(text, stop).end()  # type: ignore[union-attr]
    if (begun := _JSON_CALL.match(text, at)) is not None:
        return _listed(text, begun.end())
    begun = next((found for each in _NAMED_CALLS if (found := each.match(text, at))), None)
    if begun is None:
        return None
    line = text.count("\n", 0, at) + 1
    given, end = _json(text, begun.end(), line)
    arguments = arguments_in(given, begun["name"]) if isinstance(given, str) else given
    if not isinstance(arguments, dict):
        raise DamagedError(f"The arguments of `{begun['name']}` in line {line} are no JSON object.")
    call = Call(name=begun["name"], line=line, parts=taken_parts(arguments), arguments=arguments)
    return [call], _END.match(text, end).end()  # type: ignore[union-attr]


def _listed(text: str, at: int) -> tuple[list[Call], int]:
    calls: list[Call] = []
    while True:
        line = text.count("\n", 0, at) + 1
        value, end = _json(text, at, line)
        found = json_calls(value, line)
        if not found:
            raise DamagedError(f"The JSON in line {line} names no action.")
        calls += found
        more = _NEXT.match(text, end)
        if more is None:
            return calls, _END.match(text, end).end()  # type: ignore[union-attr]
        at = more.end()


def _json(text: str, at: int, line: int) -> tuple[object, int]:
    while at < len(text) and text[at].isspace():
        at += 1
    end = _END.match(text, at)
    if at == len(text) or (end is not None and end[0].strip()):  # no arguments
        return {}, at
    try:
        return decoded(text, at)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"The JSON of the call in line {line} cannot be read ({json_fault(error)}).") from None
