"""Decide where an action in a text answer ends: which arguments it has, and whether prose may follow."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_recode.agents.action_names import argument_of, is_argument_name
from pytest_recode.agents.calls import Call
from pytest_recode.agents.forms import FORMS, TEXTS
from pytest_recode.agents.python_source import syntax_error, unfenced
from pytest_recode.agents.values import FENCE, Value, shown

AS_A_COMMAND = (
    "If it is no part of the command, put it before the first action. If it is, write all of the command as a block: "
    "`command <<END_OF_COMMAND`, its lines, `END_OF_COMMAND`."
)
"""What to do with a line after a command."""

_BOLD = re.compile(r"\*\*(?P<name>[A-Za-z][\w ]{1,30})(?::\*\*|\*\*:)[ \t]+(?P<rest>\w.*)")


def is_bold_prose(line: str) -> bool:
    """Whether a line begins as prose after actions often does: `**Summary:** it is done`. A name with one word, as in `**mode**: append`, may be an
    argument, and so may whatever has the name of one."""
    found = _BOLD.match(line)
    return found is not None and len(found["rest"].split()) > 1 and not is_argument_name(found["name"].strip().lower())


def last_text(call: Call, kind: str) -> Value | None:
    """The last argument of an action that is a text of any number of lines."""
    texts = [value for name, value in call.values.items() if value.closer or argument_of(kind, name) in TEXTS]
    return max(texts, key=lambda value: value.end, default=None)


def where_it_ended(text: Value) -> str:
    """A description of where a text ended, for a model that meant it to continue."""
    how = "write it as a block, which takes such lines"
    if text.block:
        how = f"end its block with a word that is no line of it, such as `{text.closer}_2`"
    where = f", the first that holds only {shown(text.closer)}" if text.closer else ""
    return f"The text before it ended in line {text.end}{where}: if it continues after that, {how}."


_SENTENCE = re.compile(r"[A-Z][a-z'\u2019]*(?: [^\s|;<>$={}]+){2,60}[.!?:]$|-{3,}$|\*{3,}$")
"""A line that no shell would run: a closing sentence, or a rule."""


def is_over(call: Call, kind: str, *, line: str, blank: bool) -> bool:
    """Whether the action ends before `line`, which is prose then: only if it cannot be read as part of a text or a command. `blank`: a blank
    line is before it."""
    given = {str(argument_of(kind, name)): value for name, value in call.arguments.items()}
    if not all(name in given or name in FORMS[kind].optional for name in FORMS[kind].takes):
        return False
    says = _SENTENCE.match(line.strip()[:1000]) is not None
    if FORMS[kind].is_single_lines:
        return blank and (bool(given) or not FORMS[kind].takes or says)
    last = max(call.values.values(), key=lambda value: value.end, default=None)
    if last is None or not last.closer:
        return blank and says and not FORMS[kind].holds_text and last is not None and "\n" not in last.text
    if kind == "write" and str(given["path"]).endswith(".py"):
        text = str(given["text"])
        return bool(text.strip()) and syntax_error(unfenced(str(given["path"]), text)) is None
    return blank


def names_given(call: Call, kind: str) -> set[str]:
    return {own for name in call.arguments if (own := argument_of(kind, name)) is not None}


def is_left_over(lines: Sequence[str], at: int, call: Call, kind: str) -> bool:
    """Whether line `at` closes a code fence that was never opened and is the last line of the answer."""
    complete = set(FORMS[kind].takes) - FORMS[kind].optional <= names_given(call, kind)
    bare = FENCE.match(lines[at]) is not None and not lines[at].strip().strip("`~")
    return bare and complete and kind not in ("write", "edit") and not any(map(str.strip, lines[at + 1 :]))
