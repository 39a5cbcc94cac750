"""Find actions in the text next to native tool calls, where most text below an `Action` heading is prose.

Called by `tools` in the pytest process. Text counts as an action only if it names a known action and has the arguments that the action
needs: a sentence such as "Run a quick check." only announces the call.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import islice

from pytest_recode.agents.action_names import argument_of, kind_of
from pytest_recode.agents.fences import SHELLS, language_in
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.headings import (
    ARGUMENT,
    HEADING,
    LOOSE,
    SINGLE,
    VERB,
    acts,
    calls_as_python,
    heading,
)
from pytest_recode.agents.json_calls import call_behind_text, decoded, json_calls, looks_like_a_call, names_a_call
from pytest_recode.agents.marked_calls import begins_call
from pytest_recode.agents.other_tools import names_a_tool
from pytest_recode.agents.python_calls import API_CALL, LIST_OF_CALLS
from pytest_recode.agents.tagged_calls import opening_tags, tag_at
from pytest_recode.agents.values import FENCE, DamagedError, WrongError

MAX_READ = 1_000_000
"""Maximum number of characters of a text that are searched."""
_MAX_DATA = 20
"""JSON values of a text that are decoded."""
_MAX_TAGS = 100
"""Maximum number of tags that are searched; on the lines after them, only the first tag is."""
_MAX_LINES = 1000
"""Lines of JSON within a tag."""
_INPUT = re.compile(r"[ \t]*[*`_]{0,3}action[ _]input[*`_]{0,3}[ \t]*:", re.IGNORECASE)
_SENTENCE = re.compile(
    r"(?:an?|the|this|that|these|those|it|its|them|all|some|for|to|into|in|with|on|of|my|our|again|now|and|then|once|each|every|more)\b"
    r"|.*[a-z0-9`)][.!?]$",
    re.IGNORECASE | re.DOTALL,
)


def action_line(text: str, called: Collection[str] = ()) -> int:
    """The line (from 1) in which a text has an action; 0 if there is none. A heading that only announces one of the kinds `called` does
    not count."""
    lines = text[:MAX_READ].removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    data, tags = 0, _MAX_TAGS
    for at, line in enumerate(lines):
        said = line.lstrip(" \t>-*+")
        opened = list(islice(opening_tags(line), max(tags, 1)))
        tags -= len(opened)
        if (
            begins_call(line) >= 0
            or _python_acts(lines, at)
            or call_behind_text(line)
            or any(_tag_acts(lines, at, tag, called) for tag in opened)
        ):
            return at + 1
        if said[:1] in ("{", "["):
            data += 1
            if _holds_json("\n".join(lines[at:] if data <= _MAX_DATA else lines[at : at + 20]).lstrip(" \t>-*+")):
                return at + 1
        elif acts(said):
            head = heading(said, (HEADING, LOOSE, SINGLE))
            if head is not None and _acts(head.rest, lines, at + 1, called):
                return at + 1
    return 0


def _python_acts(lines: Sequence[str], at: int) -> bool:
    """Whether a line begins calls in Python as Gemini or Llama 4 write them: in a fence of `tool_code`, by `default_api`, in a list."""
    line = lines[at]
    fence = FENCE.match(line) if "tool_code" in line else None
    called = calls_as_python(line.lstrip(" \t["))
    return fence is not None or bool(called and (API_CALL.match(line) or LIST_OF_CALLS.fullmatch(line)))


def _below(lines: Sequence[str], at: int) -> str:
    return next((line for line in lines[at + 1 :] if line.strip()), "").lstrip()


def _holds_json(text: str, *, tagged: bool = False) -> bool:
    """Whether a text begins with JSON that is an action. `tagged`: within a tag for calls, where a call of any name counts."""
    try:
        value, _ = decoded(text)
    except (ValueError, RecursionError):
        return looks_like_a_call(text[:1000]) and names_a_call(text[:1000])
    try:
        return any(tagged or names_a_tool(call.name) for call in json_calls(value, 1) or ())
    except (DamagedError, WrongError):
        return names_a_call(text) or not isinstance(value, dict) or set(value) != {"action"}


def _tag_acts(lines: Sequence[str], at: int, tag: re.Match[str], called: Collection[str]) -> bool:
    """Whether a tag in a line is an action: by its name, its attribute or its content."""
    behind = lines[at][tag.end() :]
    if tag.start() > len(lines[at]) - len(lines[at].lstrip()) and not (
        tag["empty"]
        or tag["equals"]
        or tag["rest"]
        or f"</{tag['name']}>" in behind
        or behind.lstrip()[:1] in ("{", "[")
    ):
        return False  # a word in angle brackets
    if tag["equals"] or tag["rest"] or kind_of(tag["name"]) is not None:
        return True
    if behind.lstrip().startswith("<arg_key>") or _below(lines, at).startswith("<arg_key>"):  # as GLM writes calls
        return True
    said = behind.partition(f"</{tag['name']}>")[0].strip()
    if behind.lstrip()[:1] in ("{", "["):
        return _holds_json("\n".join([behind.lstrip(), *lines[at + 1 : at + 1 + _MAX_LINES]]), tagged=True)
    return _acts(said, lines, at + 1, called)


def _acts(said: str, lines: Sequence[str], at: int, called: Collection[str]) -> bool:
    """Whether `said`, or if that is empty the first line from `at`, is an action with its arguments."""
    below = not said
    while below and at < len(lines) and not lines[at].strip():
        at += 1
    if below and at < len(lines):
        said, at = lines[at].strip(), at + 1
    fence = FENCE.match(said)
    if fence is not None:
        inner = next((line.strip() for line in lines[at:] if line.strip()), "")
        word = (inner.split() or [""])[0]
        return language_in(fence["info"]) in SHELLS or word in FORMS or calls_as_python(inner)
    verb = VERB.match(said)
    if verb is None or said[:1] == "<":
        return False
    name, second = verb["verb"], verb["second"] or ""
    if second and kind_of(name + second) is not None and second[0] != " ":
        name, second = name + second, ""
    kind = kind_of(name.rstrip("."))
    if kind is None:
        return False
    if _arguments_follow(kind, lines, at):
        return True
    rest = (second + verb["rest"]).strip()
    return kind not in called and _complete(kind, name, rest)


def _arguments_follow(kind: str, lines: Sequence[str], at: int) -> bool:
    following = next((line for line in lines[at:] if line.strip()), "")
    argument, tag = ARGUMENT.match(following), tag_at(following.lstrip(), 0)
    return (
        (argument is not None and argument_of(kind, argument["name"]) is not None)
        or (tag is not None and argument_of(kind, tag["name"]) is not None)
        or (FENCE.match(following) is not None and kind in ("write", "edit", "run"))
        or following.lstrip()[:1] == "{"
        or _INPUT.match(following) is not None
    )


def _complete(kind: str, name: str, rest: str) -> bool:
    """Whether the text after an action's name is exactly what the action needs, and not a sentence about it."""
    given = rest.strip("`'\"*]> \t").lstrip(":").strip()
    if rest[:1] in ("(", "["):
        return True
    if not given.strip("."):
        return FORMS[kind].needs_nothing
    if FORMS[kind].holds_text or not FORMS[kind].main:
        return False
    if FORMS[kind].main == "path":
        return not re.search(r"\s", given) and bool(re.search(r"[./]\w", given) or rest[:1] == ":")
    quoted = rest.lstrip(": ")
    span = quoted[:1] == "`" == quoted[-1:] and quoted.count("`") == 2
    return span or rest[:1] == ":" or (name.islower() and _SENTENCE.match(given) is None)
