"""Check the records of a model researcher, beyond their schema: that they can be used, and have nothing that the audit would cut.

The unit is the record. What is wrong with an answer goes back to the model once; a record that cannot be used is then replaced by the
derived one of its interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from pytest_recode.feedback import prompts
from pytest_recode.feedback.json_answers import Record, read
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import CATEGORIES, FIELDS, WORDS, CorrectionPart, part_of, words_only
from pytest_recode.program import source

MOST_WORDS = 4_000
MOST_CODE = 60_000
MOST_DIFFERENCES = 10
"""Maximum number of records of one interface; others are dropped."""

Fields = dict[str, str]


def schema(names: Sequence[str]) -> Mapping[str, Any]:
    """JSON schema of the answer, on these interfaces; strict enough for providers that enforce one."""
    text = {"type": "string"}
    record = {
        "type": "object",
        "properties": {
            "interface": {"type": "string", "enum": list(names)},
            "category": {"type": "string", "enum": list(CATEGORIES)},
            **{name: text for name in FIELDS if name != "category"},
            "caused_by": {"type": "string", "enum": ["", *names]},
        },
        "required": ["interface", *FIELDS, "caused_by"],
        "additionalProperties": False,
    }
    return {
        "title": "feedbacks",
        "type": "object",
        "properties": {"feedbacks": {"type": "array", "items": record}},
        "required": ["feedbacks"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an answer must and may contain. Each of the `failing` interfaces needs a record; `others` may have some.

    `may_have_code`: text fields in which code is allowed. `wrong`: returns what the audit finds in the text of a field, or "".
    `one_block`: all corrections are of the same piece of code, so that one is enough. `whole`: whether corrections must be whole
    definitions. `part`: which part of a definition a correction is.
    """

    failing: tuple[str, ...]
    others: tuple[str, ...] = ()
    may_have_code: frozenset[str] = frozenset()
    wrong: Callable[[str, str], str] = lambda _field, _words: ""
    one_block: bool = False
    whole: bool = False
    part: Callable[[str, str], CorrectionPart] = lambda _interface, code: part_of(code)

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.failing, *self.others)


@dataclass(slots=True, kw_only=True)
class Answers:
    """The usable records in one or more answers to the same question, by interface, and the problems of the last answer."""

    rules: Rules
    records: dict[str, list[Fields]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    unfinished: frozenset[str] = frozenset()  # interfaces with records that should be better

    def add(self, text: str) -> str:
        """Add an answer. Its records of an interface replace those of an earlier answer, if these should be better. Returns the text
        that asks again, or ""."""
        done = self.accepted()
        answer = read(text, schema(self.rules.known))
        new: dict[str, list[Fields]] = {}
        problems: list[tuple[str, str]] = []  # by interface
        for record in answer.records:
            fields, wrong = self._checked(record)
            problems += [(record["interface"], each) for each in wrong]
            if fields is not None and record["interface"] not in done:
                new.setdefault(record["interface"], []).append(fields)
        self.records |= {name: records[:MOST_DIFFERENCES] for name, records in new.items()}
        problems += self._causes()
        problems += [(name, "has no correction") for name in self.uncorrected() if name in new]
        named = {name for name, _ in problems}
        missing = [name for name in self.rules.failing if name not in self.records and name not in named]
        self.problems = (
            *answer.problems,
            *dict.fromkeys(f"{name} {what}" for name, what in problems),
            *((f"there is no record for {', '.join(missing)}",) if missing else ()),
        )
        self.unfinished = frozenset(named)
        return prompts.again(self.problems, self.accepted())

    def accepted(self) -> tuple[str, ...]:
        """Interfaces whose records are complete."""
        return tuple(name for name in self.records if name not in self.unfinished)

    def uncorrected(self) -> tuple[str, ...]:
        """Failing interfaces with records that say neither what the right code is nor that the fault is elsewhere."""
        corrected = {name for name, records in self.records.items() if any(each["correction"] for each in records)}
        if self.rules.one_block and corrected:
            return ()
        return tuple(
            name
            for name in self.rules.failing
            if name in self.records
            and name not in corrected
            and not all(each["caused_by"] for each in self.records[name])
        )

    def _checked(self, record: Record) -> tuple[Fields | None, list[str]]:
        """The fields of a record, None if it cannot be used, and what should be better."""
        fields = {name: str(text).strip("\n") for name, text in record.items()}
        problems = []
        needed = WORDS[:1] if fields["caused_by"] else WORDS
        for name in WORDS:
            words = fields[name]
            fields[name] = cut(words if name in self.rules.may_have_code else words_only(words), MOST_WORDS).strip()
            if name in needed and not fields[name]:
                return None, [f"has a record whose {name} has no words"]
            if what := self.rules.wrong(name, fields[name]):
                problems.append(f"has a record whose {name} {what}")
        fields["correction"] = dedent(fields["correction"]).encode(errors="replace").decode()
        if what := self._fault(fields["interface"], fields["correction"]):
            problems.append(f"has a record whose correction {what}")
            if not what.startswith(_PIECE):
                fields["correction"] = ""
        return fields, problems

    def _fault(self, interface: str, code: str) -> str:
        if not code.strip():
            return ""
        if len(code) > MOST_CODE:
            return f"is longer than {MOST_CODE} characters"
        parsed = source.parse(code.encode())
        if parsed.problem or (parsed.tree is not None and not parsed.tree.body):
            return parsed.problem or "holds comments and no code"
        return _PIECE if self.rules.whole and self.rules.part(interface, code) is Part.PIECE else ""

    def _causes(self) -> list[tuple[str, str]]:
        """Remove records whose cause leads back to them, or is an interface of which nothing is said."""
        causes = {
            name: one["caused_by"] for name, records in self.records.items() for one in records if one["caused_by"]
        }
        problems = []
        for name, cause in causes.items():
            what = ""
            if goes_round(name, causes):
                what = "has a record whose caused_by leads back to it"
            elif cause in self.rules.others and cause not in self.records:
                what = f"has a record whose caused_by is {cause}, of which there is no record"
            if what:
                problems.append((name, what))
        for name, _ in problems:
            self.records[name] = [one for one in self.records[name] if not one["caused_by"]]
            if not self.records[name]:
                del self.records[name]
        return problems


_PIECE = "is a part of a definition: give the whole definition"


def goes_round(name: str, causes: Mapping[str, str]) -> bool:
    """Whether the causes lead from `name` back to it. An interface that only leads to such a cycle keeps its cause."""
    at = name
    for _ in causes:
        at = causes.get(at, "")
        if at == name:
            return True
    return False
