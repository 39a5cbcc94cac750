"""Parse a model's judgements of which feedback was adopted. Accepts many spellings, but never guesses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.feedback.answers import NAMES as RESEARCHER_NAMES
from pytest_recode.feedback.answers import category_of
from pytest_recode.feedback.json_answers import Record, interfaces_of, records

NAMES: Mapping[str, Sequence[str]] = {
    "interface": RESEARCHER_NAMES["interface"],
    "error_type": ("category", "error_category", "errortype", "fault_type", "type", "kind"),
    "adopted": ("adoption", "adopted_status", "adoption_status", "is_adopted", "was_adopted", "followed", "implemented", "applied"),
    "resolved": ("resolution", "resolved_status", "resolution_status", "is_resolved", "was_resolved", "fixed", "solved"),
}  # fmt: skip
"""Accepted other names of the fields."""

_MEANT = {
    "yes": "yes y true full fully complete completely adopted resolved fixed followed solved",
    "partial": "partial partially partly in_part somewhat mixed mostly partially_adopted partly_adopted partially_resolved partly_resolved",
    "no": "no n false not not_at_all not_adopted not_resolved not_fixed not_followed not_solved unadopted unresolved unfixed",
}
_ANSWER = {word: meant for meant, words in _MEANT.items() for word in words.split()}
_FULLY = {f"{how}_{what}": "yes" for how in ("fully", "completely") for what in ("adopted", "resolved", "fixed")}
_NUMBERS = {0: "no", 0.5: "partial", 1: "yes"}

Item = dict[str, str]


@dataclass(slots=True, kw_only=True)
class Judgements:
    """The judgements in one or more answers to the same question. `wanted`: the interface of each item, repeated for several items."""

    wanted: tuple[str, ...]
    drafts: dict[str, list[Item]] = field(default_factory=dict)
    problem: str = ""  # error in the last answer as a whole

    def add(self, text: str) -> None:
        """Add an answer. Accepted fields are kept; a later answer fills missing ones."""
        read = records(text, NAMES)
        self.problem = read.problem
        new: dict[str, list[Item]] = {}
        known = tuple(dict.fromkeys(self.wanted))
        for record in read.records:
            for name in interfaces_of(record, known, known):
                new.setdefault(name, []).append(_item(name, record))
        for name, items in new.items():
            self._take_in(name, items)

    def items(self) -> list[Item]:
        """The items with both `adopted` and `resolved`; `error_type` may be ""."""
        return [item for name in dict.fromkeys(self.wanted) for item in self._of(name) if _usable(item)]

    def problems(self) -> tuple[str, ...]:
        """One sentence for each missing or unusable field, for the model."""
        found = []
        for name, times in Counter(self.wanted).items():
            drafts = self._of(name)
            for number, draft in enumerate(drafts, 1):
                which = f"{name} (its item {number})" if times > 1 else name
                found += [f"{which}: {what}" for one, what in _NEEDED.items() if one not in draft]
            if 0 < len(drafts) < times:
                found.append(f"there are only {len(drafts)} of {times} items for {name}")
        missing = [name for name in dict.fromkeys(self.wanted) if name not in self.drafts]
        if missing and self.problem:
            found.append(self.problem)
        if missing:
            found.append(f"there is no item for {', '.join(missing)}")
        return tuple(found)

    def accepted(self) -> tuple[str, ...]:
        """Interfaces whose items are all complete."""
        times = Counter(self.wanted)
        return tuple(
            name
            for name in dict.fromkeys(self.wanted)
            if len(self._of(name)) == times[name] and all(_NEEDED.keys() <= draft.keys() for draft in self._of(name))
        )

    def _of(self, name: str) -> list[Item]:
        return self.drafts.get(name, [])[: self.wanted.count(name)]

    def _take_in(self, name: str, items: Sequence[Item]) -> None:
        """Merge a later answer: it first completes the incomplete items in their order, then adds missing items."""
        before = self.drafts.setdefault(name, [])
        left = list(items)
        if len(left) == len(before) == self.wanted.count(name):  # the answer repeats all items
            pairs = list(zip(before, left, strict=True))
            left = []
        else:
            lacking = [item for item in before if not _NEEDED.keys() <= item.keys()]
            pairs = list(zip(lacking, left, strict=False))
            left = left[len(pairs) :]
        for old, new in pairs:
            old |= {key: value for key, value in new.items() if key not in old}
        before += left


_NEEDED = {
    "error_type": "its error_type is none of T0, T1, T2, T3, T4",
    "adopted": "its adopted is none of YES, PARTIAL, NO",
    "resolved": "its resolved is none of YES, PARTIAL, NO",
}


def _usable(item: Item) -> bool:
    return {"adopted", "resolved"} <= item.keys()


def _item(name: str, record: Record) -> Item:
    found = {
        "interface": name,
        "error_type": category_of(record.get("error_type")),
        "adopted": answer_of(record.get("adopted")),
        "resolved": answer_of(record.get("resolved")),
    }
    return {key: value for key, value in found.items() if value}


def answer_of(given: Any) -> str:
    """Normalize an answer to "yes", "partial" or "no"; "" if it is unclear, as in "No change was needed"."""
    if isinstance(given, bool | int | float):
        return _NUMBERS.get(given, "")
    if isinstance(given, dict):  # an object with the answer and its reasons
        meant = {answer_of(each) for each in given.values()} - {""}
        return meant.pop() if len(meant) == 1 else ""
    if not isinstance(given, str):
        return ""
    head = re.split(r"[^\w\s'`*\"_/-]|\s[-\u2013\u2014]\s|\n", given.strip().strip("`'\"* \t"))[0]
    words = "_".join(re.findall(r"[a-z]+", head.casefold()))
    return _ANSWER.get(words) or _FULLY.get(words, "")
