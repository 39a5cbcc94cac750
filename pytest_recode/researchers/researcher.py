"""The researcher: the simulated human who answers a failed turn, with text of the task's author, of a model, or derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import secrets_of
from pytest_recode.feedback.creation import written
from pytest_recode.feedback.derived import Words, derive
from pytest_recode.feedback.model_answers import STYLE, WORDS, Style, words_only
from pytest_recode.models import Model
from pytest_recode.task import Parts, Task


def researcher(task: Task, parts: Parts, model: Model | None = None, style: Style = STYLE) -> Researcher:
    """The researcher for the failed turns of one episode: `model`, in that style, else the task's feedback.yaml, else derived feedback.

    The researcher raises `ModelError` and `BudgetSpent` if a model cannot be called.
    """
    if model is not None:
        from pytest_recode.researchers.by_model import by_model  # takes its time, and most runs have no such model

        return by_model(model, task, parts, style)
    return derived(task, parts) if parts.feedback is None else from_task(task, parts, parts.feedback)


def derived(task: Task, parts: Parts) -> Researcher:
    """Feedback that is only derived."""
    return from_task(task, parts, {}, "derived")


def from_task(task: Task, parts: Parts, words: Words, source: str = "task") -> Researcher:
    """The author's text for each failing interface; missing fields are derived."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, drafted(task, parts, turn, words), source)

    return answer


def drafted(task: Task, parts: Parts, turn: Turn, words: Words) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, from `words` if they have it, else derived."""
    return derive(
        task, parts, turn.targets, turn.verdict, {interface: in_words(fields) for interface, fields in words.items()}
    )


def in_words(words: Mapping[str, str]) -> dict[str, str]:
    """A researcher's fields, with code removed from text fields, and without empty fields."""
    texts = {name: words_only(text) if name in WORDS else text for name, text in words.items()}
    return {name: text for name, text in texts.items() if text}
