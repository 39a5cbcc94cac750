"""Check the records of a model researcher, beyond their schema: that they can be used, and have nothing that the audit would cut.

The unit is the record. What is wrong with an answer goes back to the model once; a record that cannot be used is then replaced by the
derived one of its interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent

from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import CATEGORIES, STYLE, WORDS, Style, words_only
from pytest_recode.program import source
from pytest_recode.researchers.json_answers import Key, Record, Records, list_of

MOST_WORDS = 4_000
MOST_CODE = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an answer must and may contain. Each of the `failing` interfaces needs a record; `others` may have some.

    `wrong`: returns what the audit finds in the text of a field, or "". `one_block`: all corrections are of the same piece of code, so that
    one is enough.
    """

    failing: tuple[str, ...]
    others: tuple[str, ...] = ()
    style: Style = STYLE
    wrong: Callable[[str, str], str] = lambda _field, _words: ""
    one_block: bool = False

    @property
    def records(self) -> Records:
        """For the answers by these rules."""
        names = (*self.failing, *self.others)
        texts = (*WORDS, "correction") if self.style.corrections else WORDS
        schema = list_of(
            "feedbacks",
            interface={"type": "string", "enum": list(names)},
            category={"type": "string", "enum": list(CATEGORIES)},
            **{name: {"type": "string"} for name in texts},
            caused_by={"type": "string", "enum": ["", *names]},
        )
        return Records(schema=schema, key="interface", needed=self.failing, check=self._checked, review=self._reviewed)

    def uncorrected(self, records: Mapping[Key, Sequence[Record]]) -> list[str]:
        """Failing interfaces with records that say neither what the right code is nor that the fault is elsewhere."""
        corrected = {name for name, its in records.items() if any(one.get("correction") for one in its)}
        if self.one_block and corrected:
            return []
        unsettled = [name for name in self.failing if name in records and name not in corrected]
        return [name for name in unsettled if not all(one["caused_by"] for one in records[name])]

    def _checked(self, record: Record) -> tuple[Record | None, list[str]]:
        """The fields of a record, None if it cannot be used, and what should be better."""
        fields = {name: str(text).strip("\n") for name, text in record.items()}
        problems = []
        needed = WORDS[:1] if fields["caused_by"] else WORDS
        for name in WORDS:
            fields[name] = bounded(fields[name])
            if name in needed and not (fields[name] if name in self.style.may_have_code else words_only(fields[name])):
                return None, [f"has a record whose {name} has no words"]
            if what := self.wrong(name, fields[name]):
                problems.append(f"has a record whose {name} {what}")
        if self.style.corrections:
            fields["correction"] = dedent(fields["correction"]).encode(errors="replace").decode()
            if what := _fault(fields["correction"]):
                problems.append(f"has a record whose correction {what}")
                fields["correction"] = ""
        return fields, problems

    def _reviewed(self, records: dict[Key, list[Record]]) -> Iterator[tuple[Key, str]]:
        """Remove records whose cause is unfounded."""
        for name, cause in unfounded(records, self.failing).items():
            yield name, f"has a record whose caused_by is {cause}, of whose own fault there is no record"
            records[name] = [one for one in records[name] if not one["caused_by"]]
            if not records[name]:
                del records[name]
        if self.style.corrections:
            yield from ((name, "has no correction") for name in self.uncorrected(records))


def unfounded(records: Mapping[Key, Sequence[Record]], failing: Sequence[str]) -> dict[Key, str]:
    """Causes of which no record says what their own fault is, by interface. A failing one without a record has a derived item."""
    known = set(failing) - records.keys() | {
        name for name, its in records.items() if not all(one["caused_by"] for one in its)
    }
    causes = {name: one["caused_by"] for name, its in records.items() for one in its if one["caused_by"]}
    return {name: cause for name, cause in causes.items() if cause == name or cause not in known}


def bounded(words: str) -> str:
    """The text of a field as the audit reads it: with its code, unless that makes it too long."""
    return cut(words if len(words) <= MOST_WORDS else words_only(words), MOST_WORDS).strip()


def _fault(code: str) -> str:
    if len(code) > MOST_CODE:
        return f"is longer than {MOST_CODE} characters"
    parsed = source.parse(code.encode())
    empty = bool(code.strip()) and parsed.tree is not None and not parsed.tree.body
    return "holds comments and no code" if empty else parsed.problem
