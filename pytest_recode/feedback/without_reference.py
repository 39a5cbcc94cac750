"""A model as the researcher in two calls, of which the one that writes never sees the reference (`--recode-feedback-writer=without-reference`).

The first call sees what the one-call researcher sees, and fills closed fields only: names out of lists, and numbers. The second one writes the words
from these, the brief and the candidate. So no text can pass from the reference to the agent below L4; the correction of L4 is the derived one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_recode.episode import FeedbackItem, Turn
from pytest_recode.feedback import prompts
from pytest_recode.feedback.answers import MOST_DIFFERENCES, MOST_WORDS, goes_round
from pytest_recode.feedback.conversation import ConversationResult, converse
from pytest_recode.feedback.json_answers import Record, read
from pytest_recode.feedback.levels import cut, tally
from pytest_recode.feedback.model_answers import CATEGORIES, WORDS, Style, words_only
from pytest_recode.feedback.model_prompt import (
    Lengths,
    Refusals,
    framed,
    longest_lengths,
    repository,
    shown_files,
    sound,
    words_of,
)
from pytest_recode.models import Message, Model
from pytest_recode.task import Files, Parts, Task

MOST_PASSAGES = 5
"""Maximum number of passages of the brief that a fault is about."""


def without_reference(
    model: Model,
    task: Task,
    parts: Parts,
    turn: Turn,
    derived: tuple[FeedbackItem, ...],
    style: Style,
    refusals: Refusals,
) -> ConversationResult:
    """The items of a failed turn. What the second answer lacks is derived. Raises `ModelError` and `BudgetSpent`."""
    failing = tuple(item.interface for item in derived)
    brief = NumberedBrief.of(parts)
    candidate = numbered_files(turn.targets, task.targets)
    faults = Faults(
        failing=failing,
        others=sound(turn.verdict) if style.scope == "all" else (),
        files=task.targets,
        lines=max(len(turn.targets.get(name, b"").split(b"\n")) for name in task.targets),
        passages=len(brief.passages),
    )
    material = {
        **brief.sections(parts),
        "REPOSITORY": repository(parts),
        "CANDIDATE": candidate,
        "VERDICT": tally(turn.verdict),
    }
    longest = longest_lengths({**material, "REFERENCE": ""})

    def diagnose(most: Lengths) -> list[Message]:
        key, text = framed({**material, "REFERENCE": shown_files(parts.reference, task.targets)}, most)
        names = ", ".join(faults.known)
        system = prompts.DIAGNOSE.format(key=key, records=prompts.RECORDS[style.scope])
        return _messages(system, prompts.DIAGNOSE_ASK.format(sections=text, interfaces=names))

    first = converse(model, faults.schema, diagnose, longest, refusals, faults.add)
    if not faults.found:
        return ConversationResult(items=derived, by_model=False, shortened=first.shortened, usage=first.usage)
    words = FaultWords(count=len(faults.found), may_have_code=style.may_have_code)
    # From here on, nothing but `faults` follows from the reference.
    material["FAULTS"] = faults.text()

    def write(most: Lengths) -> list[Message]:
        key, text = framed(material, most)
        return _messages(prompts.WRITE.format(key=key, words=words_of(style)), prompts.WRITE_ASK.format(sections=text))

    second = converse(model, words.schema, write, longest, refusals, words.add)
    return ConversationResult(
        items=_items(faults.found, words.found, derived),
        by_model=bool(words.found),
        shortened=first.shortened or second.shortened,
        usage=first.usage + second.usage,
    )


def _messages(system: str, ask: str) -> list[Message]:
    return [Message(role="system", content=system), Message(role="user", content=ask)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedBrief:
    """Instruction and paper as numbered passages: sentences, and blocks such as formulas, lists and code."""

    passages: tuple[str, ...]
    of_instruction: int

    @classmethod
    def of(cls, parts: Parts) -> NumberedBrief:
        instruction = tuple(passages(parts.instruction))
        return cls(passages=(*instruction, *passages(parts.paper or "")), of_instruction=len(instruction))

    def sections(self, parts: Parts) -> dict[str, str]:
        lines = [f"[{number}] {text}" for number, text in enumerate(self.passages, 1)]
        paper = "\n".join(lines[self.of_instruction :])
        return {"PAPER": paper, "INSTRUCTION": "\n".join(lines[: self.of_instruction])}


def passages(text: str) -> list[str]:
    """The sentences, list items and other blocks of a Markdown text. Together they are the whole text."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if "```" in block or "$$" in block:
            found.append(block)
        elif block[:1].isalpha():
            found += re.split(r"(?<=[.!?])\s+(?=[^\W\d_]|[`$\\])", block)
        else:
            found += re.split(r"\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])", block)
    return [each.strip("\n") for each in found if each.strip()]


def numbered_files(files: Files, names: Sequence[str]) -> str:
    """Files with line numbers."""
    numbered = {
        name: "\n".join(
            f"{number:4}  {line}" for number, line in enumerate(files[name].decode(errors="replace").split("\n"), 1)
        ).encode(errors="replace")
        for name in names
        if name in files
    }
    return shown_files(numbered, names)


@dataclass(slots=True, kw_only=True)
class Faults:
    """The first call's answers: closed fields, in the ranges that there are."""

    failing: tuple[str, ...]
    others: tuple[str, ...]
    files: tuple[str, ...]
    lines: int
    passages: int
    found: list[Record] = field(default_factory=list)

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.failing, *self.others)

    @property
    def schema(self) -> Mapping[str, Any]:
        number = {"type": "integer"}
        return _list_of(
            "faults",
            interface={"type": "string", "enum": list(self.known)},
            category={"type": "string", "enum": list(CATEGORIES)},
            file={"type": "string", "enum": list(self.files)},
            first_line=number,
            last_line=number,
            passages={"type": "array", "items": number},
            caused_by={"type": "string", "enum": ["", *self.known]},
        )

    def add(self, text: str) -> str:
        """Add an answer. Returns the text that asks again, or ""."""
        answer = read(text, self.schema)
        problems = list(answer.problems)
        of_new: dict[str, list[Record]] = {}
        for record in answer.records:
            if wrong := self._wrong(record):
                problems.append(f"{record['interface']}: {wrong}")
            elif len(of_new.setdefault(record["interface"], [])) < MOST_DIFFERENCES:
                of_new[record["interface"]].append(record)
        self.found = [one for one in self.found if one["interface"] not in of_new]
        self.found += [one for records in of_new.values() for one in records]
        causes = {one["interface"]: one["caused_by"] for one in self.found if one["caused_by"]}
        self.found = [{**one, "caused_by": ""} if goes_round(one["interface"], causes) else one for one in self.found]
        named = {one["interface"] for one in self.found}
        missing = [name for name in self.failing if name not in named]
        problems += [f"there is no fault of {', '.join(missing)}"] if missing else []
        return prompts.again(problems)

    def _wrong(self, record: Record) -> str:
        """The problem of numbers that are out of their ranges: they carry nothing but a place."""
        if not 1 <= record["first_line"] <= record["last_line"] <= self.lines:
            return f"expected 1 <= first_line <= last_line <= {self.lines}"
        if len(record["passages"]) > MOST_PASSAGES or not all(1 <= n <= self.passages for n in record["passages"]):
            return f"expected at most {MOST_PASSAGES} passages from 1 to {self.passages}"
        return ""

    def text(self) -> str:
        """The faults for the writer: names out of lists, and numbers in their ranges."""
        lines = []
        for number, one in enumerate(self.found, 1):
            about = ", ".join(f"[{int(passage)}]" for passage in one["passages"]) or "none"
            cause = f"; caused by {one['caused_by']}" if one["caused_by"] else ""
            place = f"lines {int(one['first_line'])} to {int(one['last_line'])} of {one['file']}"
            lines.append(f"{number}. {one['interface']}: {one['category']}; {place}; passages {about}{cause}")
        return "\n".join(lines)


@dataclass(slots=True, kw_only=True)
class FaultWords:
    """The second call's answers: words by the number of the fault."""

    count: int
    may_have_code: frozenset[str]
    found: dict[int, dict[str, str]] = field(default_factory=dict)

    @property
    def schema(self) -> Mapping[str, Any]:
        return _list_of("feedbacks", fault={"type": "integer"}, **{name: {"type": "string"} for name in WORDS})

    def add(self, text: str) -> str:
        """Add an answer. Returns the text that asks again, or ""."""
        answer = read(text, self.schema)
        problems = list(answer.problems)
        for record in answer.records:
            words = {name: self._words(name, record[name]) for name in WORDS}
            if empty := [name for name, text in words.items() if not text]:
                problems.append(f"fault {record['fault']} has no words in {', '.join(empty)}")
            else:
                self.found[record["fault"]] = words
        missing = [str(number) for number in range(1, self.count + 1) if number not in self.found]
        problems += [f"there are no words for fault {', '.join(missing)}"] if missing else []
        return prompts.again(problems)

    def _words(self, name: str, text: str) -> str:
        return cut(text if name in self.may_have_code else words_only(text), MOST_WORDS).strip()


def _list_of(name: str, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    record = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {
        "title": name,
        "type": "object",
        "properties": {name: {"type": "array", "items": record}},
        "required": [name],
        "additionalProperties": False,
    }


def _items(
    faults: Sequence[Record], words: Mapping[int, Mapping[str, str]], derived: Sequence[FeedbackItem]
) -> tuple[FeedbackItem, ...]:
    """The faults with words of each failing interface, the first of them with the derived correction, or its derived item; then the others'."""
    made: dict[str, list[FeedbackItem]] = {}
    for number, fault in enumerate(faults, 1):
        if number in words:
            fields: dict[str, Any] = {**words[number], "category": fault["category"], "caused_by": fault["caused_by"]}
            authors = {name: "model" for name, text in fields.items() if text}
            item = FeedbackItem(interface=fault["interface"], **fields, authors=authors)
            made.setdefault(fault["interface"], []).append(item)
    items: list[FeedbackItem] = []
    for item in derived:
        own = made.pop(item.interface, [])
        if own and item.correction and not own[0].caused_by:
            authors = {**own[0].authors, "correction": "derived"}
            own[0] = replace(own[0], correction=item.correction, elsewhere=item.elsewhere, authors=authors)
        items += own or [item]
    return (*items, *(item for others in made.values() for item in others))
