"""A person as the researcher: what there is to see, what is asked, and what is made of the answer.

How the person is reached is handed in (`Ask`): in the terminal (`dialogue.py`), or by files (`by_file.py`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback import source
from pytest_recode.feedback.audit import faults, secrets_of
from pytest_recode.feedback.levels import count, cut, tally
from pytest_recode.feedback.model_answers import CATEGORIES, WORDS, code_lines
from pytest_recode.feedback.researcher import drafted, in_words, written
from pytest_recode.task import Files, Parts, Task

MOST_LINES = 400
"""Of a difference; a candidate may be of any size."""
MOST_LINE = 400

Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One failed turn, as a person is asked about it. All text in it is fit for a terminal."""

    name: str  # of episode and turn, fit for a file
    title: str
    task: str  # its manifest: beside it are instruction, paper and reference
    verdict: str
    difference: str  # of the candidate, to the last turn or to the repository
    drafts: tuple[
        FeedbackItem, ...
    ]  # one per failing interface: what is said of it where the person leaves something out
    fields: tuple[str, ...]  # that the level shows
    check: Callable[[str, str], str]  # what is wrong with a text for a field; "" where nothing is
    lost: Callable[[str], str]  # what of words will be cut from them, and why; "" for nothing

    @property
    def interfaces(self) -> tuple[str, ...]:
        return tuple(item.interface for item in self.drafts)


Ask = Callable[[Request], Words]
"""Waits for a person's words: interface -> field -> text; any may be left out. Raises `UserError` where nobody will answer."""


def by_person(
    task: Task, parts: Parts, ask: Ask, *, name: str, waiting: Callable[[], AbstractContextManager[None]]
) -> Researcher:
    """A person answers every failed turn from level L1 on; at L0 there is nothing to write, and nobody is asked.

    `name` is that of the episode. `waiting` is entered while the person is at it: that time is not the episode's.
    """
    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        drafts = drafted(task, parts, turn, parts.feedback or {})
        if level == 0 or not drafts:
            return written(task, hidden(), turn, level, drafts, "derived")
        before = turns[-2].targets if len(turns) > 1 else parts.repo
        request = Request(
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
            given = ask(request)
        items = tuple(_said(item, given.get(item.interface, {})) for item in drafts)
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
    return "\n".join(shown + [f"[… {left} more lines]"] * (left > 0)) or "(the candidate is as it was)"


def _said(item: FeedbackItem, given: Mapping[str, str]) -> FeedbackItem:
    """What a person says stands alone: the derived facts of code that cannot run were there to be seen."""
    fields = {name: getattr(item, name) for name in ("category", *WORDS, "correction")}
    words = in_words(given)
    kept = {name: author for name, author in item.authors.items() if not words or name != "caused_by"}
    authors = {**kept, **dict.fromkeys(words, "person")}
    causes = {} if words else {"caused_by": item.caused_by, "possible_causes": item.possible_causes}
    elsewhere = item.elsewhere if "correction" not in words else {}
    return FeedbackItem(interface=item.interface, **{**fields, **words, **causes}, elsewhere=elsewhere, authors=authors)


def _lost(faulty: Callable[[str], tuple[str, ...]]) -> Callable[[str], str]:
    def lost(text: str) -> str:
        code = code_lines(text)
        if code:
            more = f" and {len(code) - 1} more" if len(code) > 1 else ""
            return f"that has code, which will be left out ({cut(code[0], MOST_LINE)}{more})"
        return next((f"that {what}, which will be cut" for what in faulty(text)), "")

    return lost


def problem(field: str, text: str) -> str:
    """What is wrong with a person's text for a field; "" where nothing is."""
    if field == "category":
        return "" if text in CATEGORIES else f"choose one of {', '.join(CATEGORIES)}"
    if field == "correction":
        fault = source.parse(text.encode(errors="replace")).problem
        return f"the code {fault}" if fault else ""
    return "" if in_words({field: text}) else "there are no words in it: code is for the correction, at level L4"
