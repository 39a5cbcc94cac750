"""Check the answers of a model researcher field by field, and describe for the model what it must write again.

Everything usable is used: fields under another name, categories in words, several differences of one interface. Fields that leak are
stored separately, and are used only if the model sends nothing better, after the audit has cut them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from pytest_recode.feedback import source
from pytest_recode.feedback.inline_code import LEFT_OUT, left_out
from pytest_recode.feedback.json_answers import Record, interfaces_of, matching, records
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import CATEGORIES, WORDS, Part, code_only, part_of, words_only

MOST_WORDS = 4_000
MOST_CODE = 60_000
MOST_NAME = 100
MOST_DIFFERENCES = 10
"""Maximum number of records of one interface; others are dropped."""

NAMES: Mapping[str, Sequence[str]] = {
    "interface": ("interface_name", "function", "function_name", "method", "name", "symbol", "target"),
    "category": ("error_category", "error_type", "feedback_category", "type", "kind"),
    "description": ("summary", "issue", "problem", "difference", "symptom", "what"),
    "analysis": ("root_cause", "reason", "cause", "explanation", "why", "impact"),
    "suggestion": ("actionable_feedback", "guidance", "recommendation", "advice", "action", "how", "fix_description"),
    "correction": ("direct_code_feedback", "code", "corrected_code", "correct_code", "fix", "patch", "solution"),
    "caused_by": ("caused_by_interface", "root_interface", "depends_on", "because_of"),
}
"""Accepted other names of the fields: those of RECODE-H's schema, and names that models use."""

_CATEGORY_WORDS = {
    "T0": ("structure", "structural", "planning", "architecture"),
    "T1": ("correctness", "syntax", "runtime", "crash", "exception"),
    "T2": ("alignment", "implementation", "instruction", "paper"),
    "T3": ("knowledge", "context", "domain"),
    "T4": ("repository", "integration", "repo"),
}
_CODED = re.compile(
    r"\b[tT](?:ype)?[\s_-]*\W?[0-4]\b(?:\s*(?:or|and|to|[-/,;|&+])\s*(?:[tT](?:ype)?[\s_-]*)?[0-4]\b)*",
)
"""Category numbers: one, or several as in "T2 or 3"."""
_NOTHING = re.compile(
    r"(?:n/?a|none|null|nil|-+|\.+|…|todo|no (?:change|correction|code)s?(?: (?:is |are )?(?:needed|required|necessary))?|not applicable)\W*",
    re.IGNORECASE,
)

Fields = dict[str, str]


@dataclass(slots=True, kw_only=True)
class Draft:
    """One record: its usable fields, its leaking fields (used only as a last resort), and the problems of the others."""

    usable: Fields = field(default_factory=dict)
    leaking: Fields = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # by field
    no_cause: str = ""  # the problem of an invalid caused_by

    def fields(self) -> Fields:
        return {**self.leaking, **self.usable}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an answer must and may contain. Each of the `failing` interfaces needs a record; `others` may have some.

    `may_have_code`: text fields in which code is allowed. `wrong`: returns the problem of the text of a field, or "". `one_block`: all
    corrections are of the same piece of code, so that one is enough. `part`: which part of a definition a correction is.
    """

    failing: tuple[str, ...]
    others: tuple[str, ...] = ()
    may_have_code: frozenset[str] = frozenset()
    wrong: Callable[[str, str], str] = lambda _field, _words: ""
    one_block: bool = False
    whole: bool = False  # whether corrections must be whole definitions
    part: Callable[[str, str], Part] = lambda _interface, code: part_of(code)

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.failing, *self.others)


@dataclass(slots=True, kw_only=True)
class Answers:
    """The records in one or more answers to the same question."""

    rules: Rules
    drafts: dict[str, list[Draft]] = field(default_factory=dict)
    problem: str = ""  # error in the last answer as a whole
    unplaced: tuple[
        str, ...
    ] = ()  # subjects of records that are not interfaces, if records may be about any difference

    def add(self, text: str) -> None:
        """Add an answer. Accepted fields are kept; a later answer replaces missing and unusable ones."""
        read = records(text, NAMES)
        self.problem = read.problem
        new: dict[str, list[Draft]] = {}
        again, self.unplaced = bool(self.unplaced), ()
        for record in read.records:
            names = interfaces_of(record, self.rules.known, self.rules.failing)
            if not names and not again and self.rules.others:
                self._unplaced(record)
            for name in names:
                draft = _draft(name, record, self.rules)
                same = [each for each in new.setdefault(name, []) if each == draft]
                if not same and len(new[name]) < MOST_DIFFERENCES:
                    new[name].append(draft)
        for name, drafts in new.items():
            self._take_in(name, drafts, more=again)
        self._causes()

    def accepted(self) -> tuple[str, ...]:
        """Interfaces whose records are complete."""
        return tuple(name for name, drafts in self.drafts.items() if not any(draft.problems for draft in drafts))

    def problems(self) -> tuple[str, ...]:
        """One sentence for each missing or unusable field, for the model."""
        found = []
        for name, drafts in self.drafts.items():
            for number, draft in enumerate(drafts, 1):
                which = f"{name} (its record {number})" if len(drafts) > 1 else name
                if draft.no_cause and not draft.problems.keys().isdisjoint({"suggestion", "correction"}):
                    found.append(f"{which}: {draft.no_cause}")  # otherwise the model assumes that it needs neither
                found += [f"{which}: {wrong}" for wrong in draft.problems.values()]
        missing = [name for name in (*self.rules.failing, *self.causes()) if name not in self.drafts]
        if missing and self.problem and not self.drafts:
            found.append(self.problem)
        if missing:
            why = f" (of that answer, {self.problem})" if self.problem and self.drafts else ""
            found.append(f"there is no record for {', '.join(missing)}{why}")
        if self.unplaced:
            found.append(
                f"{', '.join(self.unplaced)}: not one of the interfaces: give what can matter of it in one more record of the interface in whose results it shows"
            )
        return tuple(found)

    def causes(self) -> tuple[str, ...]:
        """Interfaces with passing tests that records name as the cause. They need records that say what to change."""
        named = (draft.usable.get("caused_by", "") for drafts in self.drafts.values() for draft in drafts)
        return tuple(dict.fromkeys(name for name in named if name in self.rules.others))

    def _unplaced(self, record: Record) -> None:
        under = record.get("under")
        name = record.get("interface") or (under if isinstance(under, str) and "." in under else None)
        words = any(re.search(r"[^\W\d_]{2}", _text(record.get(field))) for field in ("description", "analysis"))
        if isinstance(name, str) and name.strip(" .\u2026") and words and len(self.unplaced) < MOST_DIFFERENCES:
            self.unplaced = tuple(dict.fromkeys((*self.unplaced, cut(name.strip(), MOST_NAME))))

    def _take_in(self, name: str, drafts: Sequence[Draft], more: bool) -> None:
        """`more`: whether records of accepted interfaces may be new ones."""
        before = self.drafts.get(name)
        if before is None:
            self.drafts[name] = list(drafts)
            return
        # An answer that repeats all records of an interface refers to each by its position
        meant = before if len(drafts) >= len(before) else [draft for draft in before if draft.problems]
        if more and not any(draft.problems for draft in before):
            meant = []
        known = {draft.fields().get("description") for draft in before}
        extra = [draft for draft in drafts[len(meant) :] if draft.fields().get("description") not in {None, *known}]
        for old, new in zip(meant, drafts, strict=False):
            if not old.problems:
                continue
            old.usable = {**new.usable, **old.usable}
            old.leaking |= new.leaking
            old.no_cause = new.no_cause
            old.problems = {
                each: wrong for each, wrong in {**old.problems, **new.problems}.items() if each not in old.usable
            }
        before += extra[: MOST_DIFFERENCES - len(before)]

    def corrects(self, name: str, draft: Draft) -> bool:
        """Whether the draft has a correction that can fix all faults of its interface: not of one of its methods."""
        code = draft.usable.get("correction")
        return code is not None and self.rules.part(name, code) is not Part.METHODS

    def _causes(self) -> None:
        """Drop invalid causes, and require corrections of records without a valid cause."""
        causes = {
            name: draft.usable["caused_by"]
            for name, drafts in self.drafts.items()
            for draft in drafts
            if "caused_by" in draft.usable
        }
        corrected = {name for name, drafts in self.drafts.items() if any(self.corrects(name, one) for one in drafts)}
        for name, drafts in self.drafts.items():
            for draft in drafts:
                if "caused_by" in draft.usable and _goes_round(name, causes):
                    del draft.usable["caused_by"]
                    draft.no_cause = "its caused_by leads back to itself"
                needless: set[str] = set()
                if "caused_by" in draft.usable:
                    needless = {"analysis", "suggestion", "correction"}
                elif name in self.rules.others or name in corrected or (self.rules.one_block and corrected):
                    needless = {"correction"}
                draft.problems = {field: wrong for field, wrong in draft.problems.items() if field not in needless}


def _goes_round(name: str, causes: Mapping[str, str]) -> bool:
    """Whether the causes lead from `name` back to it. An interface that only leads to such a cycle keeps its cause."""
    seen: set[str] = set()
    at = name
    while at in causes and at not in seen:
        seen.add(at)
        at = causes[at]
    return at == name and at in seen


def category_of(given: object) -> str:
    """Normalize a model's category to T0 … T4; "" if it is unclear or names several."""
    if isinstance(given, list):
        named = {category_of(each) for each in given}
    elif isinstance(given, int) or (isinstance(given, str) and re.fullmatch(r"\W*[0-4]\W*", given)):
        named = {f"T{digit}" for digit in re.findall(r"^\W*([0-4])\W*$", str(given))}
    elif isinstance(given, str):
        named = {f"T{digit}" for match in _CODED.finditer(given) for digit in re.findall(r"[0-4]", match[0])}
        words = set(re.findall(r"[a-z]+", given.casefold()))
        named = named or {name for name, meant in _CATEGORY_WORDS.items() if words & set(meant)}
    else:
        return ""
    return named.pop() if len(named) == 1 else ""


_PIECES = {Part.LINES: "a piece of a definition", Part.ELIDED: "a definition with parts left out"}


def _draft(interface: str, record: Record, rules: Rules) -> Draft:
    draft = Draft()
    if category := category_of(record.get("category")):
        draft.usable["category"] = category
    else:
        draft.problems["category"] = f"its category is not one of {', '.join(CATEGORIES)}"
    causes = matching(record.get("caused_by"), rules.known)
    if len(causes) == 1:
        draft.usable["caused_by"] = causes[0]
    elif (cause := _text(record.get("caused_by")).strip()) and not _NOTHING.fullmatch(cause):
        draft.no_cause = f"its caused_by is not one of {', '.join(rules.known)}"
    for name in WORDS:
        given = _text(record.get(name))
        start = given[: 2 * MOST_WORDS]
        words = cut(start if name in rules.may_have_code else words_only(start), MOST_WORDS).strip()
        bare = words if name in rules.may_have_code else left_out(words).replace(LEFT_OUT, "")
        if not re.search(r"[^\W\d_]", bare) or _NOTHING.fullmatch(words):
            draft.problems[name] = f"its {name} has no words"
        elif what := rules.wrong(name, words):
            draft.problems[name] = f"its {name} {what}"
            draft.leaking[name] = words
        else:
            draft.usable[name] = words
    code = dedent(code_only(_text(record.get("correction"))))  # a block's, as it stands in its file
    code = code.encode(errors="replace").decode()
    if not code.strip() or _NOTHING.fullmatch(code.strip()):
        problem = "is empty"
    elif len(code) > MOST_CODE:
        problem = f"is longer than {MOST_CODE} characters"
    else:
        read = source.parse(code.encode())
        problem = read.problem or ("" if read.tree is None or read.tree.body else "holds comments and no code")
    if problem:
        draft.problems["correction"] = f"its correction {problem}"
    elif rules.whole and (part := rules.part(interface, code)) not in (Part.WHOLE, Part.METHOD, Part.METHODS):
        draft.problems["correction"] = f"its correction is {_PIECES[part]}: give the whole definition"
        draft.leaking["correction"] = code
    else:
        draft.usable["correction"] = code
    return draft


def _text(given: Any) -> str:
    """The text in a value: a string, a list of strings, or an object with a string."""
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return "\n".join(given)
    if isinstance(given, dict):
        texts = [each for each in given.values() if isinstance(each, str)]
        return max(texts, key=len, default="")
    # JSON reads the backslash of \frac and \beta as a control character, which no text contains
    return given.replace("\x0c", "\\f").replace("\x08", "\\b") if isinstance(given, str) else ""
