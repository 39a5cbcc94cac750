"""The researcher: the simulated human who answers a failed turn, with text of the task's author, of a model, or derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import secrets_of
from pytest_recode.feedback.causes import advice_in_words
from pytest_recode.feedback.creation import written
from pytest_recode.feedback.derived import Derivation, derivations
from pytest_recode.feedback.model_answers import WORDS, Style, words_only
from pytest_recode.models import Model
from pytest_recode.task import Parts, Task

USUALLY = "What usually goes wrong here:"
"""Precedes an author's analysis that was written for another kind of failure."""


def researcher(task: Task, parts: Parts, model: Model | None = None, style: Style = Style()) -> Researcher:  # noqa: B008  a frozen value
    """The researcher for the failed turns of one episode: `model`, in that style, else the task's feedback.yaml, else derived feedback.

    The researcher raises `ModelError` and `BudgetSpent` if a model cannot be called.
    """
    if model is not None:
        from pytest_recode.feedback.by_model import by_model  # takes its time, and most runs have no such model

        return by_model(model, task, parts, style)
    return derived(task, parts) if parts.feedback is None else from_task(task, parts, parts.feedback)


def unaudited(task: Task, parts: Parts, turn: Turn) -> tuple[FeedbackItem, ...]:
    """The items of the researcher without a model, before the audit: for the task's author."""
    return drafted(task, parts, turn, parts.feedback or {})


def derived(task: Task, parts: Parts) -> Researcher:
    """Feedback that is only derived."""
    return from_task(task, parts, {}, "derived")


def from_task(task: Task, parts: Parts, words: Mapping[str, Mapping[str, str]], source: str = "task") -> Researcher:
    """The author's text for each failing interface; missing fields are derived."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, drafted(task, parts, turn, words), source)

    return answer


def drafted(task: Task, parts: Parts, turn: Turn, words: Mapping[str, Mapping[str, str]]) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, from `words` if they have it, else derived."""
    corrections = {name: fields["correction"] for name, fields in words.items() if "correction" in fields}
    return tuple(
        _with_words(derivation, in_words(words.get(derivation.item.interface, {})))
        for derivation in derivations(task, parts, turn.targets, turn.verdict, corrections)
    )


def _with_words(derivation: Derivation, words: Mapping[str, str]) -> FeedbackItem:
    """The author's text that applies to this failure, between what is derived of it."""
    item = derivation.item
    fields: dict[str, Any] = {}
    for name in derivation.applies & words.keys():
        usually = USUALLY if name == "analysis" and derivation.usual else ""
        texts = (derivation.first.get(name, ""), usually, words[name].strip(), derivation.last.get(name, ""))
        fields[name] = " ".join(filter(None, texts))
    authors = {name: "task" if text == words[name].strip() else "derived+task" for name, text in fields.items()}
    if item.possible_causes and "suggestion" in fields:
        fields["suggestion"] = advice_in_words(item.possible_causes, fields["suggestion"])
    return replace(item, **fields, authors={**item.authors, **authors})


def in_words(words: Mapping[str, str]) -> dict[str, str]:
    """A researcher's fields, with code removed from text fields, and without empty fields."""
    texts = {name: words_only(text) if name in WORDS else text for name, text in words.items()}
    return {name: text for name, text in texts.items() if text}
