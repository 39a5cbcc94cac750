"""Tool calls in the text of an answer, as models write them where their server does not turn them into calls.

Called by `tools` in the pytest process for answers without a native call. Only a text that ends with the calls, and holds nothing
behind them, is read.
"""

from __future__ import annotations

import re
from itertools import pairwise

from pytest_recode.models import ToolCall

_MARKED = re.compile(
    r"\s*(?:<\|python_tag\|>\s*(?P<llama>\{.*\})\s*(?:<\|e(?:om|ot)_id\|>)?|\[TOOL_CALLS\]\s*(?P<mistral>[\[{].*[\]}])\s*(?:</s>)?)\s*",
    re.DOTALL,
)
"""How Llama and Mistral write tool calls where their server does not take them out of the text."""

_HARMONY = re.compile(
    r"<\|channel\|>commentary[ ]+to=(?P<name>[\w.]{1,80})[ ]*(?:<\|constrain\|>[ ]*json[ ]*)?<\|message\|>(?P<arguments>.*?)<\|call\|>",
    re.DOTALL,
)
_BEGIN, _END, _PART = (
    "<\uff5ctool\u2581call\u2581begin\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>",
    "<\uff5ctool\u2581sep\uff5c>",
)
_DEEPSEEK = re.compile(
    rf"{re.escape(_BEGIN)}(?:function{re.escape(_PART)})?(?P<name>[\w.-]{{1,80}})(?:{re.escape(_PART)}(?P<arguments>.*?)"
    rf"|\n```json\n(?P<fenced>.*?)\n```){re.escape(_END)}",
    re.DOTALL,
)
_MARKS = re.compile(
    r"(?:<\|(?:start|end)\|>(?:assistant)?|<\uff5ctool\u2581calls\u2581(?:begin|end)\uff5c>|<\uff5cend\u2581of\u2581sentence\uff5c>|\s)*"
)


def unmarked(text: str) -> str:
    """The JSON of a call in the form of Llama or Mistral that is all of a text; any other text as it is."""
    found = _MARKED.fullmatch(text)
    return text if found is None else str(found["llama"] or found["mistral"])


def leaked_calls(text: str) -> tuple[ToolCall, ...]:
    """The calls at the end of a text, in the form of gpt-oss (harmony) or of DeepSeek; empty where there are none, or where anything but
    their marks stands between or behind them."""
    for form in (_HARMONY, _DEEPSEEK):
        found = list(form.finditer(text))
        between = [text[one.end() : other.start()] for one, other in pairwise(found)]
        if found and all(_MARKS.fullmatch(piece) for piece in (*between, text[found[-1].end() :])):
            return tuple(_call(each, number) for number, each in enumerate(found, 1))
    return ()


def _call(found: re.Match[str], number: int) -> ToolCall:
    groups = found.groupdict()
    arguments = groups["arguments"] if groups["arguments"] is not None else groups["fenced"]
    return ToolCall(id=str(number), name=groups["name"], arguments=arguments.strip())
