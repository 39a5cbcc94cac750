"""Find elements in tags that are calls of tools that do not exist here, such as `<apply_diff><path>a.py</path>...`. As prose they would be
lost, and the other actions of the answer would be executed without them.

Called by the readers of answers in the pytest process. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recode.agents.action_names import is_argument_name, is_known_elsewhere, nearest, plain_name
from pytest_recode.agents.forms import PART_NAMES
from pytest_recode.agents.other_tools import names_a_tool
from pytest_recode.agents.tagged_calls import attribute_names, bare_name, is_argument, opens_call, tag_at
from pytest_recode.agents.values import FENCE, closes_fence, shown, unknown_action

_HTML = frozenset(
    {
        *("html", "body", "div", "span", "p", "pre", "blockquote", "details", "section", "ul", "ol", "li"),
        *("table", "thead", "tbody", "tr", "td", "dl"),
    }
)
"""Elements of HTML that may contain one that is named like an argument, such as `<code>`."""
_LANGUAGES = frozenset({"python", "python3", "ipython", "pytest"})
"""Names of tags whose text some agents execute."""


def check_tag(lines: Sequence[str], at: int) -> None:
    """Raises WrongError if a line of prose opens a call of an unknown tool in tags."""
    if name := unknown_call(lines, at):
        before = f"Line {at + 1} ({shown(lines[at])}) looks like an action."
        raise unknown_action(name, before, "To quote the tag, put it in backticks.")


def unknown_call(lines: Sequence[str], at: int) -> str:
    """The name of the unknown tool that a line calls with a tag; "" for other lines.

    A tag is a call if it has an attribute or contains a tag that is named like an argument of an action, or if it has the name of a tool or of
    a language.
    """
    line = lines[at].lstrip()
    tag = tag_at(line, 0) if line[:1] == "<" else None
    if tag is None or opens_call(line) or is_argument(tag):
        return ""
    name = bare_name(tag)
    plain = plain_name(name)
    if plain in PART_NAMES or plain in _HTML:
        return ""
    attributed = any(map(is_argument_name, attribute_names(tag)))
    if is_argument_name(plain) and not attributed:
        return name if "_" in plain else ""
    within = line[tag.end() :].strip() or next((each.strip() for each in lines[at + 1 :] if each.strip()), "")
    child = tag_at(within, 0) if not tag["empty"] else None
    if child is not None and opens_call(within):
        return ""  # a frame around actions
    is_call = (
        (child is not None and (is_argument(child) or is_argument_name(bare_name(child))))
        or attributed
        or plain in _LANGUAGES
        or (
            "_" in plain
            and (names_a_tool(name) or is_known_elsewhere(name) or bool(nearest(name)) or bool(tag["empty"]))
        )
        or (child is not None and is_known_elsewhere(name) and nearest(name) != "submit")
    )
    return name if is_call else ""


def first_unknown_call(lines: Sequence[str], *, files: bool = True) -> int:
    """The first line (from 1) outside of fences that calls an unknown tool with a tag; 0 if there is none. `files`: also tags that are
    named like an argument, such as `<file path="a.py">`."""
    ticks = ""
    for at, line in enumerate(lines):
        fence = FENCE.match(line)
        if ticks:
            ticks = "" if closes_fence(line, ticks) else ticks
        elif fence is not None:
            ticks = fence["ticks"]
        elif (name := unknown_call(lines, at)) and (files or not is_argument_name(plain_name(name))):
            return at + 1
    return 0
