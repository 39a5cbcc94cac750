"""The judgements in a model's answers on which feedback was adopted. They are validated against the schema, and never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.feedback.json_answers import read

Item = dict[str, str]


@dataclass(slots=True, kw_only=True)
class Judgements:
    """The judgements in one or more answers to the same question. `wanted`: the interface of each item, repeated for several items."""

    wanted: tuple[str, ...]
    schema: Mapping[str, Any]
    found: dict[str, list[Item]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def add(self, text: str) -> None:
        """Add an answer. Its items of an interface replace those of an earlier answer, if some were missing."""
        answer = read(text, self.schema)
        done = self.accepted()
        new: dict[str, list[Item]] = {}
        for record in answer.records:
            if record["interface"] not in done:
                item = {**record, "adopted": record["adopted"].lower(), "resolved": record["resolved"].lower()}
                new.setdefault(record["interface"], []).append(item)
        for name, items in new.items():
            if len(items) >= len(self.found.get(name, ())):
                self.found[name] = items[: self.wanted.count(name)]
        short = [name for name in dict.fromkeys(self.wanted) if name not in self.accepted()]
        counts = [f"{name} has {len(self.found.get(name, ()))} of {self.wanted.count(name)} items" for name in short]
        self.problems = (*answer.problems, *counts) if short else ()

    def items(self) -> list[Item]:
        return [item for name in dict.fromkeys(self.wanted) for item in self.found.get(name, ())]

    def accepted(self) -> tuple[str, ...]:
        """Interfaces that have all their items."""
        names = dict.fromkeys(self.wanted)
        return tuple(name for name in names if len(self.found.get(name, ())) == self.wanted.count(name))
