"""Parse tool calls that appear in the text of an answer because a server did not convert them.

Called by `tools` in the pytest process for answers without a native call. Only texts that end with the calls are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_recode.models import ToolCall

_MARKED = re.compile(
    r"\s*(?:<\|python_tag\|>\s*(?P<llama>\{.*\})\s*(?:<\|e(?:om|ot)_id\|>)?|\[TOOL_CALLS\]\s*(?P<mistral>[\[{].*[\]}])\s*(?:</s>)?)\s*",
    re.DOTALL,
)
"""How Llama and Mistral write tool calls where their server does not take them out of the text."""

_MARKS = re.compile(
    r"(?:<\|(?:start|end)\|>(?:assistant)?|<\uff5ctool\u2581calls\u2581(?:begin|end)\uff5c>|<\uff5cend\u2581of\u2581sentence\uff5c>|\s)*"
)
"""Text allowed between calls and after the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """The delimiters of a call: its begin, its end and the separator of `name` and `arguments` (or `fenced` arguments). Each pattern is
    matched once per end marker, so that the time is linear in the length of the text."""

    begin: str
    end: str
    call: re.Pattern[str]


_HARMONY = _Form(
    begin="<|channel|>commentary",
    end="<|call|>",
    call=re.compile(
        r"[ ]{1,9}to=(?P<name>[\w.]{1,80})[ ]{0,9}(?:<\|constrain\|>[ ]{0,9}json[ ]{0,9})?<\|message\|>(?P<arguments>.*)",
        re.DOTALL,
    ),
)
_SEPARATOR = "<\uff5ctool\u2581sep\uff5c>"
_DEEPSEEK = _Form(
    begin="<\uff5ctool\u2581call\u2581begin\uff5c>",
    end="<\uff5ctool\u2581call\u2581end\uff5c>",
    call=re.compile(
        rf"(?:function{_SEPARATOR})?(?P<name>[\w.-]{{1,80}})(?:{_SEPARATOR}(?P<arguments>.*)|\n```json\n(?P<fenced>.*)\n```)",
        re.DOTALL,
    ),
)


def unmarked(text: str) -> str:
    """The JSON of a call in the form of Llama or Mistral, if it is the whole text; any other text unchanged."""
    found = _MARKED.fullmatch(text)
    return text if found is None else str(found["llama"] or found["mistral"])


def leaked_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls at the end of a text in the form of gpt-oss (harmony) or DeepSeek. Empty if there are none, or if other text is between
    or after them."""
    return next(filter(None, (_calls(text, form) for form in (_HARMONY, _DEEPSEEK))), ())


def _calls(text: str, form: _Form) -> tuple[ToolCall, ...]:
    *pieces, rest = text.split(form.end)
    made: list[ToolCall] = []
    for piece in pieces:
        before, _, inner = piece.partition(form.begin)
        call = form.call.fullmatch(inner)
        if call is None or (made and not _MARKS.fullmatch(before)):
            return ()
        groups = call.groupdict()
        arguments = groups["arguments"] if groups["arguments"] is not None else groups["fenced"]
        made.append(ToolCall(id=str(len(made) + 1), name=groups["name"], arguments=arguments.strip()))
    return tuple(made) if _MARKS.fullmatch(rest) else ()
