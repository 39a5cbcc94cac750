"""A person as the researcher: create the request for a failed turn, and make feedback of the answer.

The caller passes the way to ask (`Ask`): in the terminal (`dialogue.py`), or by files (`by_file.py`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import faults, secrets_of
from pytest_recode.feedback.creation import written
from pytest_recode.feedback.levels import count, cut, tally
from pytest_recode.feedback.model_answers import CATEGORIES, WORDS, code_in
from pytest_recode.program import source
from pytest_recode.researchers.researcher import drafted, in_words
from pytest_recode.task import Files, Parts, Task

MOST_LINES = 400
"""Maximum lines of a difference, because a candidate may have any size."""
MOST_LINE = 400
MOST_QUOTED = 80

Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRequest:
    """A request for feedback on one failed turn. Its text is safe for a terminal."""

    name: str  # of episode and turn, a valid file name
    title: str
    task: str  # path of its manifest; instruction, paper and reference are next to it
    verdict: str
    difference: str  # between the candidate and the last turn, or the repository
    drafts: tuple[FeedbackItem, ...]  # one per failing interface, for fields that the person omits
    fields: tuple[str, ...]  # the fields of the level
    check: Callable[[str, str], str]  # the problem of a text for a field, or ""
    lost: Callable[[str], str]  # the part of a text that will be cut, with the reason, or ""

    @property
    def interfaces(self) -> tuple[str, ...]:
        return tuple(item.interface for item in self.drafts)


Ask = Callable[[FeedbackRequest], Words]
"""Waits for a person's text: interface -> field -> text; fields may be missing. Raises `UserError` if there will be no answer."""


def by_person(
    task: Task, parts: Parts, ask: Ask, *, name: str, waiting: Callable[[], AbstractContextManager[None]]
) -> Researcher:
    """The researcher that asks a person after every failed turn from level L1 on; at L0 there is nothing to write.

    `name` is that of the episode. `waiting` is entered while the person writes, so that this time does not count.
    """
    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        drafts = drafted(task, parts, turn, parts.feedback or {})
        if level == 0 or not drafts:
            return written(task, hidden(), turn, level, drafts, "derived")
        before = turns[-2].targets if len(turns) > 1 else parts.repo
        request = FeedbackRequest(
            name=f"{name}-turn-{turn.number}",
            title=f"{name}, turn {turn.number}, level L{level}: {count(turn.verdict)}",
            task=str(task.manifest),
            verdict=cut(tally(turn.verdict), MOST_LINES * MOST_LINE),
            difference=difference(before, turn.targets, task.targets),
            drafts=drafts,
            fields=("category", *WORDS[:level], *(["correction"] if level == 4 else [])),
            check=problem,
            lost=_lost(faults(hidden(), turn.targets)),
        )
        with waiting():
            words = ask(request)
        items = tuple(_written(item, words.get(item.interface, {})) for item in drafts)
        return written(task, hidden(), turn, level, items, "person")

    return answer


def difference(before: Files, after: Files, names: Sequence[str]) -> str:
    """A unified diff of the targets, bounded, with control characters made visible."""
    lines: list[str] = []
    for name in names:
        one, other = (
            files[name].decode(errors="replace").splitlines() if name in files else [] for files in (before, after)
        )
        lines += difflib.unified_diff(one, other, f"{name} before", f"{name} now", lineterm="")
    left = len(lines) - MOST_LINES
    shown = [cut(line, MOST_LINE) for line in lines[:MOST_LINES]]
    return "\n".join(shown + [f"[… {left} more lines]"] * (left > 0)) or "(the candidate has not changed)"


def _written(item: FeedbackItem, answer: Mapping[str, str]) -> FeedbackItem:
    """Replace the draft by the person's text. Derived facts are not added, because the person has seen them."""
    fields = {name: getattr(item, name) for name in ("category", *WORDS, "correction")}
    words = in_words(answer)
    authors = {name: author for name, author in item.authors.items() if not words or name != "caused_by"}
    authors = {**authors, **dict.fromkeys(words, "person")}
    causes = {} if words else {"caused_by": item.caused_by, "possible_causes": item.possible_causes}
    elsewhere = item.elsewhere if "correction" not in words else {}
    return FeedbackItem(interface=item.interface, **{**fields, **words, **causes}, elsewhere=elsewhere, authors=authors)


def _lost(faulty: Callable[[str, str], str]) -> Callable[[str], str]:
    def lost(text: str) -> str:
        code = code_in(text)
        if code:
            return f"this contains code, which will be removed: {cut(' '.join(code[0].split()), MOST_QUOTED)}"
        what = faulty(WORDS[0], text)
        return f"this text {what}, which will be cut" if what else ""

    return lost


def problem(field: str, text: str) -> str:
    """The problem of a person's text for a field, or ""."""
    if field == "category":
        return "" if text in CATEGORIES else f"choose one of {', '.join(CATEGORIES)}"
    if field == "correction":
        fault = source.parse(text.encode(errors="replace")).problem
        return f"the code {fault}" if fault else ""
    return (
        ""
        if in_words({field: text})
        else "this contains only code: write text here, and code in the correction, at level L4"
    )
