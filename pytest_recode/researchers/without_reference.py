"""A model as the researcher in two calls, of which the one that writes never sees the reference (`--recode-feedback-writer=without-reference`).

The first call sees what the one-call researcher sees, and fills closed fields only: names out of lists, and numbers. The second one writes the words
from these, the brief and the candidate. So no text can pass from the reference to the agent below L4; the correction of L4 is the derived one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recode.episode import FeedbackItem, Turn
from pytest_recode.feedback.levels import tally
from pytest_recode.feedback.model_answers import CATEGORIES, WORDS, Style, words_only
from pytest_recode.models import Message, Model
from pytest_recode.researchers import prompts
from pytest_recode.researchers.answers import bounded, unfounded
from pytest_recode.researchers.conversation import ConversationResult, converse, with_correction
from pytest_recode.researchers.json_answers import Key, Record, Records, list_of
from pytest_recode.researchers.model_prompt import (
    Refusals,
    files_of,
    framed,
    repository,
    shortenable,
    shown_files,
    sound,
    words_of,
)
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
    brief, passages_count = numbered_brief(parts)
    names = files_of(task, turn.targets)
    material = {
        **brief,
        "REPOSITORY": repository(parts),
        "CANDIDATE": numbered_files(turn.targets, names),
        "VERDICT": tally(turn.verdict),
    }
    known = (*failing, *(sound(turn.verdict) if style.scope == "all" else ()))
    lines = max(len(turn.targets.get(name, b"").split(b"\n")) for name in names or ("",))
    longest = shortenable(material)

    def diagnose(most: int) -> list[Message]:
        key, text = framed(
            {**material, "REFERENCE": shown_files(parts.reference, files_of(task, parts.reference))}, most
        )
        system = prompts.DIAGNOSE.format(key=key, records=prompts.RECORDS[style.scope])
        return _messages(system, prompts.DIAGNOSE_ASK.format(sections=text, interfaces=", ".join(known)))

    diagnosis = faults(failing, known, names, lines, passages_count)
    first = converse(model, diagnosis, diagnose, longest, refusals)
    wrong = unfounded(diagnosis.by_key, failing)
    records = [
        {**one, "caused_by": ""} if name in wrong else one for name, its in diagnosis.by_key.items() for one in its
    ]
    if not records:
        return ConversationResult(items=derived, by_model=False, shortened=first.shortened, usage=first.usage)
    # From here on, nothing but `records` follows from the reference: names out of lists, and numbers in their ranges.
    material["FAULTS"] = "\n".join(_line(number, one) for number, one in enumerate(records, 1))
    words = Records(
        schema=list_of("feedbacks", fault={"type": "integer"}, **{name: {"type": "string"} for name in WORDS}),
        key="fault",
        needed=tuple(range(1, len(records) + 1)),
        check=lambda record: _words(record, style),
    )

    def write(most: int) -> list[Message]:
        key, text = framed(material, most)
        return _messages(prompts.WRITE.format(key=key, words=words_of(style)), prompts.WRITE_ASK.format(sections=text))

    second = converse(model, words, write, longest, refusals)
    return ConversationResult(
        items=_items(records, words.by_key, derived),
        by_model=bool(words.by_key),
        shortened=first.shortened or second.shortened,
        usage=first.usage + second.usage,
    )


def _messages(system: str, ask: str) -> list[Message]:
    return [Message(role="system", content=system), Message(role="user", content=ask)]


def numbered_brief(parts: Parts) -> tuple[dict[str, str], int]:
    """Instruction and paper as numbered passages (sentences, and blocks such as formulas, lists and code), and the number of them."""
    instruction, paper = passages(parts.instruction), passages(parts.paper or "")
    lines = [f"[{number}] {text}" for number, text in enumerate([*instruction, *paper], 1)]
    start = len(instruction)
    return {"PAPER": "\n".join(lines[start:]), "INSTRUCTION": "\n".join(lines[:start])}, len(lines)


def passages(text: str) -> list[str]:
    """The sentences, list items and other blocks of a Markdown text. Together they are the whole text."""
    pieces: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        if "```" in block or "$$" in block:
            pieces.append(block)
        elif block[:1].isalpha():
            pieces += re.split(r"(?<=[.!?])\s+(?=[^\W\d_]|[`$\\])", block)
        else:
            pieces += re.split(r"\n(?=[ \t]*(?:[-*+]|\d+[.)])[ \t])", block)
    return [each.strip("\n") for each in pieces if each.strip()]


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


def faults(
    failing: tuple[str, ...], known: tuple[str, ...], files: Sequence[str], lines: int, passages: int
) -> Records:
    """The first call's records: closed fields, in the ranges that there are. Other numbers are refused, because they carry nothing but a place."""

    def check(record: Record) -> tuple[Record | None, list[str]]:
        if not 1 <= record["first_line"] <= record["last_line"] <= lines:
            return None, [f"has a record without 1 <= first_line <= last_line <= {lines}"]
        if len(record["passages"]) > MOST_PASSAGES or not all(1 <= n <= passages for n in record["passages"]):
            return None, [f"has a record without at most {MOST_PASSAGES} passages from 1 to {passages}"]
        return record, []

    number = {"type": "integer"}
    schema = list_of(
        "faults",
        interface={"type": "string", "enum": list(known)},
        category={"type": "string", "enum": list(CATEGORIES)},
        file={"type": "string", "enum": list(files)},
        first_line=number,
        last_line=number,
        passages={"type": "array", "items": number},
        caused_by={"type": "string", "enum": ["", *known]},
    )
    return Records(schema=schema, key="interface", needed=failing, check=check)


def _line(number: int, fault: Record) -> str:
    """A fault for the writer."""
    about = ", ".join(f"[{int(passage)}]" for passage in fault["passages"]) or "none"
    cause = f"; caused by {fault['caused_by']}" if fault["caused_by"] else ""
    place = f"lines {int(fault['first_line'])} to {int(fault['last_line'])} of {fault['file']}"
    return f"{number}. {fault['interface']}: {fault['category']}; {place}; passages {about}{cause}"


def _words(record: Record, style: Style) -> tuple[Record | None, list[str]]:
    texts = {name: bounded(record[name]) for name in WORDS}
    empty = [name for name, text in texts.items() if not (text if name in style.may_have_code else words_only(text))]
    return (None, [f"has no words in {', '.join(empty)}"]) if empty else (texts, [])


def _items(
    faults: Sequence[Record], words: Mapping[Key, Sequence[Record]], derived: Sequence[FeedbackItem]
) -> tuple[FeedbackItem, ...]:
    """The faults with words of each failing interface, the first of them with the derived correction, or its derived item; then the others'."""
    by_interface: dict[str, list[FeedbackItem]] = {}
    for number, fault in enumerate(faults, 1):
        if number in words:
            fields: dict[str, Any] = {
                **words[number][-1],
                "category": fault["category"],
                "caused_by": fault["caused_by"],
            }
            authors = {name: "model" for name, text in fields.items() if text}
            item = FeedbackItem(interface=fault["interface"], **fields, authors=authors)
            by_interface.setdefault(fault["interface"], []).append(item)
    items: list[FeedbackItem] = []
    for item in derived:
        own = by_interface.pop(item.interface, [])
        items += with_correction(own, item) or [item]
    return (*items, *(item for others in by_interface.values() for item in others))
