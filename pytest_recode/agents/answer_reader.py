"""Parse a text answer line by line into its parts and its actions.

Longer than 350 lines because parsing is one pass with one state: earlier lines decide what a later line may be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_recode.agents.action_reader import ActionReader
from pytest_recode.agents.actions import MAX_ACTIONS
from pytest_recode.agents.calls import Call
from pytest_recode.agents.fences import PYTHON, SHELLS, language_in
from pytest_recode.agents.forms import FORMS, PART_NAMES
from pytest_recode.agents.headings import (
    NAMED_FILE,
    SINGLE,
    SUBHEADING,
    Head,
    acts,
    calls_as_python,
    heading,
    path_in,
)
from pytest_recode.agents.json_calls import decoded, json_calls, json_fault, looks_like_a_call
from pytest_recode.agents.marked_calls import begins_call, marked_calls, stray_mark
from pytest_recode.agents.outside_code import file_named_near
from pytest_recode.agents.prose import HOW, Hint, checked
from pytest_recode.agents.python_calls import API_CALL, LIST_OF_CALLS, python_calls
from pytest_recode.agents.python_source import holds_code
from pytest_recode.agents.tagged_calls import ACTION_TAG, PART_TAG, call_within, opens_call, tagged_calls
from pytest_recode.agents.unknown_tags import check_tag
from pytest_recode.agents.value_reader import value_at
from pytest_recode.agents.values import (
    AS_BLOCKS,
    FENCE,
    DamagedError,
    Value,
    closes,
    closes_fence,
    ends,
    shown,
    to_write,
)

MAX_DATA = 20
"""Maximum number of prose lines that are parsed as JSON."""

MAX_TAGS = 100
"""Maximum number of parts in tags; each costs a copy of the rest of its line."""

_RESULT = re.compile(
    r"[ \t]*[*#`_ ]{0,6}(?:results? of|tool (?:results?|outputs?|responses?)|output of|observation|feedback on turn)\b"
    r"|[ \t]*<(?:tool_|function_)?(?:results?|outputs?|responses?)>",
    re.IGNORECASE,
)
"""How an invented result or next turn begins: with words of this project's prompts or of chat templates."""
_SHELL_TEST = re.compile(
    r"[ \t]*(?:\[\[?[ ]+[-!$\w]|\{[ ]+[A-Za-z])"
)  # `[ -f a.py ]`, `{ ls; }`: JSON begins otherwise
_TITLE = re.compile(r"\bactions\b", re.IGNORECASE)
_THOUGHT = ("</think>", "</thinking>")


@dataclass(slots=True, kw_only=True)
class AnswerReader:
    """One pass over the lines of an answer."""

    lines: list[str]
    heads: Sequence[re.Pattern[str]]
    at: int = 0
    word: str = ""  # the current section, "" before the first
    parts: dict[str, list[str]] = field(default_factory=dict)
    exact: dict[str, str] = field(default_factory=dict)  # parts that are blocks
    calls: list[Call] = field(default_factory=list)
    forms: dict[str, int] = field(default_factory=dict)  # forms of the actions, and the line of the first of each
    wrapper: str = ""  # the backticks of a fence around the actions
    left_over: bool = False  # whether that fence may as well be one that was never opened
    below: str = ""  # the form of the actions that the last heading has below it, "" if it is an action's own
    fenced: bool = False  # whether a fence around actions was closed
    texts: list[Value] = field(default_factory=list)
    data: int = 0
    resumed: int = 0  # the line in which a part is repeated after an action
    quoted: int = 0  # the line of a fence around actions within a part, which may be a quotation
    hint: Hint | None = None
    tags: int = 0  # parts that were read out of tags
    unclosed: set[str] = field(default_factory=set)  # closing tags that no further line holds
    hidden: int = 0  # the line of a tag that opens an action after other text

    def read(self) -> AnswerReader:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            head = heading(line, self.heads)
            if head is None and not self.calls and not self.wrapper:
                head = heading(line, (SINGLE,))
                head = None if head is None or head.word == "action" else head
            if head is None:
                self._prose(line)
            elif head.word == "action":
                self._action(head)
            else:
                self._part(head)
            if len(self.calls) > 50 * MAX_ACTIONS:
                break
        if self.wrapper and self.calls and not self.left_over:
            what = f"The tag `{self.wrapper.replace('/', '')}`" if self.wrapper[0] == "<" else "The code fence"
            raise DamagedError(
                f"{what} around your actions is not closed: the answer was cut off, or the line is missing."
            )
        if self.hidden and self.calls:
            raise DamagedError(
                f"The action in line {self.hidden} follows other text.",
                advice="Begin each action in a line of its own.",
            )
        return self

    def _part(self, head: Head) -> None:
        if self.calls and self.single:
            raise DamagedError(
                f"Line {self.at + 1} ({shown(self.lines[self.at])}) follows an action: it is unclear whether it is a "
                "comment.",
                advice="Write headings with `###`.",
            )
        self._checked_part(head.word)
        self.word = head.word
        said = self.parts.setdefault(head.word, [])
        self.below = ""
        self._check_marks(head.rest)
        if head.tag:
            value = value_at(self.lines, self.at, head.word, f"<<{head.tag}")
            self.texts.append(value)
            if head.word in self.exact:
                raise DamagedError(f"Your answer has two blocks for {head.word}.")
            self.exact[head.word] = value.text
            self.at = value.end
            return
        said.append(head.rest)
        self.at += 1

    def _checked_part(self, word: str) -> None:
        # There is nothing to observe yet, and actions in a fence may be quoted by the part before
        if self.calls and (word in self.parts or word == "observation" or self.fenced):
            self.resumed = self.resumed or self.at + 1

    # Outside of actions

    def _prose(self, line: str) -> None:
        if self.wrapper and closes(line, self.wrapper):
            self.fenced = self.fenced or self.wrapper[0] != "<"
            self.wrapper, self.at = "", self.at + 1
            return
        if FENCE.match(line):
            self._fence_in_prose(line)
            return
        said = line.lstrip()
        if said.rstrip() in _THOUGHT:
            self._thought(line)
            return
        if (begin := begins_call(line)) >= 0:
            self._marked(line, begin)
            return
        if LIST_OF_CALLS.fullmatch(line):
            self._found("Python", python_calls(line, self.at + 1), self.at + 1)
            return
        if said[:1] == "<" and (self._part_in_tags(line) or self._action_in_tags(line)):
            return
        if opens_call(said):
            self._found(self.below or "tags", *self._tagged(line))
            return
        if said[:1] in ("{", "[") and self._json(self.at, line, self.below or "JSON"):
            return
        self._check_prose(line)
        self.parts.setdefault(self.word, []).append(line)
        self.at += 1

    def _part_in_tags(self, line: str) -> bool:
        """Read `<observation>...</observation>` as a part. Returns False if the line opens no part, or nothing closes it."""
        tag = PART_TAG.match(line)
        word = PART_NAMES.get(tag["name"].lower()) if tag else None
        if tag is None or word is None or self.tags == MAX_TAGS:
            return False
        close = f"</{tag['name']}>"
        rows = range(self.at, len(self.lines) if close not in self.unclosed else self.at)
        end = next((at for at in rows if close in self.lines[at]), None)
        if end is None:
            self.unclosed.add(close)
            return False
        whole = "\n".join(self.lines[self.at : end + 1])
        inner, _, rest = whole[tag.end() :].partition(close)
        for at, said in enumerate(inner.split("\n"), self.at):
            if acts(said.lstrip(" \t>-*+")) or opens_call(said) or call_within(said):
                raise DamagedError(
                    f"Line {at + 1} ({shown(said)}) looks like an action and is within `<{tag['name']}>`: it is unclear "
                    "whether it is meant.",
                    advice="Write actions after Observation, Reflection and Planning.",
                )
            self._check_marks(said)
        self.tags += 1
        self._checked_part(word)
        self.parts.setdefault(word, []).append(inner.strip("\n"))
        self.word, self.at = "", end + 1
        if rest.strip():
            self.lines[end], self.at = rest.lstrip(), end
        return True

    def _action_in_tags(self, line: str) -> bool:
        """Read `<action>` around an action in text. Returns False if it contains JSON or tags, or there is none."""
        tag = ACTION_TAG.match(line)
        if tag is None or self.wrapper:
            return False
        said, close = line[tag.end() :].strip(), f"</{tag['name']}>"
        following = said or self._next_line(self.at + 1).strip()
        if following[:1] in ("", "{", "[", "<") or FENCE.match(following):
            return False
        if said.endswith(close) and said.count(close) == 1:
            self._action(Head(word="action", rest=said.removesuffix(close).strip(), tag=""), "tags", self.at + 1)
            return True
        self.wrapper = close
        if heading(following, self.heads) is None:
            self._action(Head(word="action", rest=said, tag=""), "tags")
        elif said:
            raise DamagedError(
                f"Begin the action in line {self.at + 1} in a line of its own, after `{tag[0].strip()}`."
            )
        else:
            self.at += 1
        return True

    def _thought(self, line: str) -> None:
        """Drop everything up to a closing thought tag whose opening tag the provider removed."""
        if self.calls:
            raise DamagedError(
                f"`{line.strip()}` in line {self.at + 1} follows an action: it is unclear whether that was a thought.",
                advice="Write all actions after the end of your thoughts, and none within them.",
            )
        for found in (self.parts, self.exact, self.texts):
            found.clear()
        self.word, self.hint = "", None
        self.at += 1

    def _fence_in_prose(self, line: str, form: str = "") -> None:
        """Read a fence around actions, around JSON or calls in Python, or around quoted code. `form`: of a heading above it."""
        fence = FENCE.match(line)
        assert fence is not None
        if self.calls and any(ends(value, line) for value in self.texts):
            raise DamagedError(
                f"Line {self.at + 1} ({shown(line)}) could end a text that ended before: use a longer fence, or a block."
            )
        opened = self.at
        first = next((at for at in range(opened + 1, len(self.lines)) if self.lines[at].strip()), None)
        if first is None:
            self._check_prose(line)
            self.at += 1
            return
        inner = self.lines[first]
        if not self.wrapper and ((heading(inner, self.heads) and not SINGLE.match(inner)) or opens_call(inner)):
            self.wrapper, self.at = fence["ticks"], first
            if self.word and not self.calls:
                self.quoted = opened + 1
            self.left_over = bool(self.calls) and not fence["info"].strip()
            return
        if inner.lstrip()[:1] in ("{", "[") and self._json_in_fence(
            first, fence["ticks"], form or self.below or "JSON"
        ):
            return
        if self.wrapper:
            raise DamagedError(
                f"Line {opened + 1} opens a code fence outside of an action, within the fence or tag around your actions: it is unclear "
                "what it holds."
            )
        if fence["info"].strip().lower() in ("", "xml", "tool_call", "tool_calls", "tool_use"):
            check_tag(self.lines, first)
        end = opened + 1
        calls_within = (
            language_in(fence["info"]) == "tool_code" or API_CALL.match(inner) or (form and _begins_python_call(inner))
        )
        while end < len(self.lines) and not closes_fence(self.lines[end], fence["ticks"]):
            said = self.lines[end]
            if not calls_within and (acts(said) or opens_call(said) or begins_call(said) >= 0):
                raise DamagedError(
                    f"Line {end + 1} ({shown(said)}) is in the code fence that line {opened + 1} opens: "
                    "it is unclear whether it is meant.",
                    advice="Close the fence before the action.",
                )
            end += 1
        if calls_within and end < len(self.lines):
            self._found(form or "Python", python_calls("\n".join(self.lines[opened + 1 : end]), opened + 2), end + 1)
            return
        if calls_as_python(inner):
            raise DamagedError(
                f"Line {first + 1} ({shown(inner)}) looks like an action and is written as a call of Python.",
                advice=HOW,
            )
        if self.calls and end == len(self.lines):
            raise DamagedError(f"The code fence in line {opened + 1} belongs to no action.")
        if self.calls and "headings" in self.forms:
            path = path_in(fence["info"]) or file_named_near(self.lines, opened)
            how = to_write(path or "PATH")
            if language_in(fence["info"]) in SHELLS:
                how = "To run it, put `### Action: run` above the fence."
            stray = f"The code fence in line {opened + 1} follows an action and belongs to none."
            how += " To quote it, put it before the first action, without the name of a file."
            raise DamagedError(stray, advice=how, stray=True)
        self.parts.setdefault(self.word, []).extend(self.lines[opened : end + 1])
        self.at = min(end + 1, len(self.lines))

    def _json_in_fence(self, at: int, ticks: str, form: str) -> bool:
        """Read the actions in a fence as JSON, one or several values. Returns False if the first is no action."""
        quoted, self.quoted = self.quoted, 0  # other fences are no reason for doubt
        doubtful = at if self.word and not self.calls else 0
        if not self._json(at, self.lines[at], form):
            self.quoted = quoted
            return False
        while True:
            while self.at < len(self.lines) and not self.lines[self.at].strip():
                self.at += 1
            line = self.lines[self.at] if self.at < len(self.lines) else ""
            if closes_fence(line, ticks):
                self.at, self.quoted = self.at + 1, quoted or doubtful
                return True
            if line.lstrip()[:1] not in ("{", "[") or not self._json(self.at, line, form):
                where = f"line {self.at + 1} ({shown(line)}) is none" if line else "is not closed"
                raise DamagedError(f"The code fence around the JSON in line {at + 1} holds more than actions: {where}.")

    def _marked(self, line: str, begin: int, form: str = "tokens of a chat template") -> None:
        """Read calls between the tokens of a chat template. Text before them on their line is prose."""
        text = "\n" * self.at + "\n".join(self.lines[self.at :])
        calls, end = marked_calls(text, self.at + begin)
        if before := line[:begin].strip():
            self._check_marks(before)
            self.hint = self.hint or checked([line[:begin]], 0, self.heads, acted=bool(self.calls))
            self.parts.setdefault(self.word, []).append(line[:begin])
        _, following = self._rest_of_line(text, end)
        self._found(form, calls, following)

    def _check_marks(self, line: str) -> None:
        """Raises DamagedError if a line of prose has a token of a chat template, which may begin a call."""
        if mark := stray_mark(line):
            raise DamagedError(
                f"Line {self.at + 1} ({shown(line)}) has `{mark[:80]}`, which some models write to call a tool, and no call that can be read.",
                advice="Leave it out, or put it in backticks.",
            )

    def _json(self, at: int, line: str, form: str = "JSON") -> bool:
        """Read the JSON that begins in line `at`. Returns False if it is no action."""
        text = "\n".join(self.lines[at:] if self.data < MAX_DATA else self.lines[at : at + 20])
        start = len(line) - len(line.lstrip())
        self.data += 1
        if self.data > MAX_DATA:
            if looks_like_a_call(text[start:]):
                raise DamagedError(f"Your answer has more JSON than is read: line {at + 1} looks like an action.")
            return False
        try:
            value, end = decoded(text, start)
        except (ValueError, RecursionError) as error:
            if looks_like_a_call(text[start : start + 1000]):
                raise DamagedError(
                    f"The JSON that begins in line {at + 1} cannot be read ({json_fault(error)}).",
                    advice=AS_BLOCKS,
                ) from None
            return False
        calls = json_calls(value, at + 1)
        if calls is None:
            return False
        rest = text[end:].partition("\n")[0]
        if rest.strip(" \t,;"):
            raise DamagedError(f"{rest.strip()[:80]!r} follows the JSON that begins in line {at + 1}.")
        self._found(form, calls, at + text.count("\n", 0, end) + 1)
        return True

    def _tagged(self, line: str) -> tuple[list[Call], int]:
        text = "\n" * self.at + "\n".join(self.lines[self.at :])  # so that lines are counted from the answer's first
        calls, end = tagged_calls(text, self.at + len(line) - len(line.lstrip()))
        rest, following = self._rest_of_line(text, end)
        if rest and not opens_call(rest):
            raise DamagedError(f"{rest[:80]!r} follows an action in line {following + 1}.")
        return calls, following

    def _rest_of_line(self, text: str, end: int) -> tuple[str, int]:
        """What follows the index `end` of a text on its line, which becomes a line of its own, and the index of the line to read next."""
        rest, at = text[end:].partition("\n")[0].strip(), text.count("\n", 0, end)
        if not rest:
            return "", at + 1
        self.lines[at] = rest
        return rest, at

    def _found(self, form: str, calls: list[Call], end: int) -> None:
        self.forms.setdefault(form, calls[0].line if calls else self.at + 1)
        self._checked_order(calls[0].line if calls else self.at + 1)
        self.calls += calls
        self.at = end

    def _check_prose(self, line: str) -> None:
        """Check a line of prose that may be meant as an action, a result, or the end of a text."""
        if self.calls and any(ends(value, line) for value in self.texts):
            raise DamagedError(
                f"Line {self.at + 1} ({shown(line)}) could end a text that ended before: choose another word for its last line."
            )
        self._check_marks(line)
        check_tag(self.lines, self.at)
        self.hint = self.hint or checked(self.lines, self.at, self.heads, acted=bool(self.calls))
        if call_within(line):
            self.hidden = self.hidden or self.at + 1
        if self.calls and _RESULT.match(line):
            self.resumed = self.resumed or self.at + 1

    def _action(self, head: Head, form: str = "headings", end: int | None = None) -> None:
        """Read one action. `end` (from 0): the line before which it ends."""
        self._checked_order(self.at + 1)
        if self.single:
            self._checked_comment()
        self.below = ""
        call = Call(name="", line=self.at + 1)
        self.at += 1
        said, at = head.rest, call.line
        fence = ""
        while not said and self.at < len(self.lines):  # the action is in the next line
            line = self.lines[self.at]
            if following := heading(line, self.heads):
                if following.word == "action" and (following.rest or _TITLE.search(self.lines[call.line - 1])):
                    return  # `## 4. Actions`, or `## Action` above `### Action: read`: a title above the actions
                break
            opened = FENCE.match(line)
            if opened and not fence:
                first = self._next_line(self.at + 1)
                json = first.lstrip()[:1] in ("{", "[") and not _SHELL_TEST.match(first)
                if json or language_in(opened["info"]) == "tool_code" or _begins_python_call(first):
                    self._fence_in_prose(line, form=form)
                    self.below = form
                    return
                said = self._fence_for_an_action(opened["info"], first, call.line)
                if said:
                    break
                fence, self.at = opened["ticks"], self.at + 1
                continue
            if (begin := begins_call(line)) >= 0:
                self._marked(line, begin, form)
                self.below = form
                return
            if line.lstrip()[:1] in ("{", "[") and self._json(self.at, line, form):
                self.below = form
                return
            if opens_call(line):
                self._found(form, *self._tagged(line))
                self.below = form
                return
            if not fence and SUBHEADING not in self.heads and heading(line, (SUBHEADING,)) is not None:
                self.heads = (*self.heads, SUBHEADING)
                return
            said, at, self.at = line.strip(), self.at + 1, self.at + 1
        if not said:
            raise DamagedError(
                f"The heading in line {call.line} names no action.",
                advice="Write `### Action: read`, for example.",
            )
        if not head.rest and (named := NAMED_FILE.match(said)) and FENCE.match(self._next_line(self.at)):
            raise DamagedError(
                f"The heading in line {call.line} names no action, and line {at} names a file with code below it. {to_write(named['path'])}"
            )
        reader = ActionReader(
            lines=self.lines[:end],
            at=self.at,
            heads=self.heads,
            wrapper=self.wrapper,
            call=call,
            prose_follows=not self.single,
            earlier=tuple(self.texts),
        )
        self.forms.setdefault(form, call.line)
        reader.read(said, fence, at)
        self.calls += [call, *reader.further_edits()]
        self.texts += reader.texts
        self.at, self.word = reader.at, ""

    def _next_line(self, at: int) -> str:
        """The first line from `at` on that is not blank; "" if there is none."""
        return next((line for line in self.lines[at:] if line.strip()), "")

    def _fence_for_an_action(self, info: str, first: str, line: int) -> str:
        """The action for a fence directly below an action heading without a name: a shell script is a `run`. "" for a fence around an
        action, which begins with the action's name. `first` is the first line in the fence."""
        language = language_in(info)
        word = (first.split() or [""])[0]
        named = first.strip() in FORMS or (word in FORMS and word != "grep") or calls_as_python(first)
        if named or opens_call(first) or heading(first, self.heads):
            return ""
        if language in SHELLS:
            return "run"
        if language in PYTHON:
            raise DamagedError(
                f"The heading in line {line} names no action, and the code of line {self.at + 1} is below it.",
                advice=(
                    "To write it to a file, "
                    f"begin with `### Action: write` and `path: {path_in(info) or 'FILE.py'}`; the code follows."
                ),
            )
        return ""

    def _checked_comment(self) -> None:
        """A line with one hash may also be a comment, so an action under it must not follow code."""
        if not self.calls and holds_code("\n".join(self.lines[: self.at])):
            raise DamagedError(
                f"Line {self.at + 1} ({shown(self.lines[self.at])}) follows code: it is unclear whether it is a comment.",
                advice=HOW,
            )

    @property
    def single(self) -> bool:
        return SINGLE in self.heads

    def _checked_order(self, line: int) -> None:
        if self.quoted and not self.wrapper:
            raise DamagedError(
                f"The code fence in line {self.quoted} is within a part of your answer and holds an action, and line {line} acts outside of it: it is unclear "
                "whether the fence is a quotation.",
                advice="Write every action without a fence, after Observation, Reflection and Planning, and quote none.",
            )
        if self.resumed:
            raise DamagedError(
                f"Your answer continues with another part or with a result in line {self.resumed} and then acts again (line {line}), before it has seen any "
                "result.",
                advice="Write Observation, Reflection and Planning once, then all actions of this step, and stop.",
            )


def _begins_python_call(line: str) -> bool:
    """Whether a line begins an action as a call of Python that ends in a later line."""
    return calls_as_python(line) and not line.rstrip().endswith(")")
