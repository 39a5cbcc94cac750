"""Check the lines of an answer outside its actions: which of them may be meant as an action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.agents.action_names import ACTION_NAMES, argument_of, kind_of
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.headings import ARGUMENT, HEADING, acts, calls_as_python, heading, tail_of
from pytest_recode.agents.tagged_calls import call_within
from pytest_recode.agents.values import FENCE, DamagedError, shown

HOW = "Write each action as `### Action: NAME`, its arguments below it."
_HIDDEN = re.compile(
    rf"##.{{0,40}}\baction\b[^\w\n]{{0,9}}(?:{'|'.join([*FORMS, *(name for names in ACTION_NAMES.values() for name in names)])})\b",
    re.IGNORECASE,
)
_SPAN = re.compile(r"`[^`]*`|\"[^\"]*\"")
_OBJECT = re.compile(r"\{\s{0,20}[\"'][A-Za-z_]\w{0,40}[\"']\s{0,20}:")
MAX_JSON = 100_000
"""Characters of an answer without an action in which JSON is looked for."""
_LISTED = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,2}[.)][ \t]+)?")


@dataclass(frozen=True, slots=True)
class Hint:
    """What a line of prose may be meant as. `unmarked`: an action whose heading lacks its `###`."""

    text: str
    unmarked: bool = False


def checked(lines: Sequence[str], at: int, heads: Sequence[re.Pattern[str]], *, acted: bool) -> Hint | None:
    """A hint about this line of prose, for an answer that turns out to have no action; None for most lines. `acted`: the line follows an
    action.

    Raises DamagedError if the line would be a lost action.
    """
    line = lines[at]
    where = f"Line {at + 1} ({shown(line)})"
    hint: Hint | None = None
    said = line.lstrip(" \t>-*+")
    said = said if acts(said) else _LISTED.sub("", line)
    if acts(said) and heading(line, heads) is None:
        if said != line and (HEADING.match(said) or len(heads) > 1):
            raise DamagedError(
                f"{where} looks like an action and does not begin in the first column.",
                advice="Begin each action there; to quote one, put it in backticks within a sentence.",
            )
        if len(heads) > 1:
            raise DamagedError(
                f"{where} looks like an action, and others are marked in another way.",
                advice=HOW,
            )
        hint = Hint(f"{where} looks like an action and has no `###` before it.", unmarked=True)
    if acted and line.strip(" \t`*") in FORMS:
        raise DamagedError(
            f"{where} is the name of an action without a heading.",
            advice=HOW,
        )
    if calls_as_python(line):
        raise DamagedError(
            f"{where} looks like an action and is written as a call of Python.",
            advice=HOW,
        )
    if call_within(line):
        hint = hint or Hint(f"{where} has an action after other text: begin it in a line of its own.")
    if _HIDDEN.search(_SPAN.sub("", line[:300])) and heading(line, heads) is None:
        raise DamagedError(f"{where} looks like an action and does not begin with its heading.")
    _check_heading(lines, at, heads, where)
    argument = ARGUMENT.match(line)
    if argument and "<<" in tail_of(argument) and re.search(r"<<-?['\"]?\w+['\"]?$", line.rstrip()):
        raise DamagedError(f"{where} opens a block, and belongs to no action.")
    return hint


def json_line(lines: Sequence[str]) -> int:
    """The number of the first line that seems to open a JSON object; 0 if there is none."""
    text = "\n".join(lines)[:MAX_JSON]
    found = _OBJECT.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _check_heading(lines: Sequence[str], at: int, heads: Sequence[re.Pattern[str]], where: str) -> None:
    """Raises DamagedError for a heading that names an action without the word `Action`: `### Write`."""
    line = lines[at].strip()
    bare = re.sub(r"^(?:#{1,6}[ \t]+|\*\*)|\*\*$", "", line)
    name = bare.strip("`*: \t").rpartition(":")[2].strip("`*: \t")
    kind = kind_of(name) if bare != line and name else None
    if kind is None:
        return
    following = next((each for each in lines[at + 1 :] if each.strip()), "")
    argument = ARGUMENT.match(following)
    known = argument is not None and argument_of(kind, argument["name"]) is not None
    if not following or known or FENCE.match(following) or heading(following, heads):
        raise DamagedError(f"{where} is no heading of an action; write `### Action: {kind}`.")
