"""The researcher: the simulated human who answers a failed turn. Words of the task's author, of a model, or derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import Secrets, audited, secrets_of
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.embedded import left_out
from pytest_recode.feedback.levels import render
from pytest_recode.feedback.records import WORDS, words_only
from pytest_recode.models import Model, Usage
from pytest_recode.task import Parts, Task


def researcher(task: Task, parts: Parts, model: Model | None = None) -> Researcher:
    """Who answers the failed turns of one episode: `model`, else the task's feedback.yaml, else derived words.

    The answer raises `ModelError` and `BudgetSpent` where a model cannot be asked.
    """
    if model is not None:
        from pytest_recode.feedback.by_model import by_model

        return by_model(model, task, parts)
    return derived(task, parts) if parts.feedback is None else from_task(task, parts, parts.feedback)


def from_task(task: Task, parts: Parts, words: Mapping[str, Mapping[str, str]]) -> Researcher:
    """The author's words for each failing interface; what the author left out is derived."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, drafted(task, parts, turn, words), "task")

    return answer


def derived(task: Task, parts: Parts) -> Researcher:
    """What can be said without anybody's words."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, derive(task, parts, turn.targets, turn.verdict), "derived")

    return answer


def drafted(task: Task, parts: Parts, turn: Turn, words: Mapping[str, Mapping[str, str]]) -> tuple[FeedbackItem, ...]:
    """One item per failing interface, of `words` where they have any, else derived."""
    items = derive(task, parts, turn.targets, turn.verdict)
    return tuple(_with_words(item, in_words(words.get(item.interface, {}))) for item in items)


def written(
    task: Task, hidden: Secrets, turn: Turn, level: int, items: Sequence[FeedbackItem], source: str
) -> Feedback:
    """The one place where a Feedback is made of somebody's words: audited, without code, then cut to `level`. The usage is that of nobody."""
    found, audit = audited(items, hidden, turn.targets)
    # Only now: code that is left out cannot be measured
    kept = tuple(replace(item, **{name: left_out(getattr(item, name)) for name in WORDS}) for item in found)
    text = render(turn.verdict, kept, level, turn.number, targets=task.targets)
    return Feedback(level=level, text=text, turn=turn.number, items=kept, source=source, audit=audit)


def recut(task: Task, turn: Turn, given: Feedback, level: int) -> Feedback:
    """A feedback that was given on `turn`, with what `level` shows of it."""
    return replace(
        given,
        level=level,
        text=render(turn.verdict, given.items, level, turn.number, targets=task.targets),
        usage=Usage(),
    )


def in_words(words: Mapping[str, str]) -> dict[str, str]:
    """Somebody's fields, with the code taken out of those that are for words; what has no words is left out."""
    found = {name: words_only(text) if name in WORDS else text for name, text in words.items()}
    return {name: text for name, text in found.items() if text}


def _with_words(item: FeedbackItem, words: Mapping[str, str]) -> FeedbackItem:
    """The author wrote for code that runs: of code that cannot, or lacks a piece, the derived facts come first."""
    if item.category not in {"T0", "T1"}:
        return replace(item, **words)
    both = {
        name: f"{getattr(item, name)} {words[name].strip()}" for name in ("analysis", "suggestion") if name in words
    }
    return replace(item, **{**words, **both, "category": item.category})
