"""The researcher: the simulated human who answers a failed turn. Words of the task's author, of a model, or derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.levels import render
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

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        items = derive(task, parts, turn.targets, turn.verdict)
        said = tuple(_with_words(item, words.get(item.interface, {})) for item in items)
        return written(task, turn, level, said, "task")

    return answer


def derived(task: Task, parts: Parts) -> Researcher:
    """What can be said without anybody's words."""

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, turn, level, derive(task, parts, turn.targets, turn.verdict), "derived")

    return answer


def written(task: Task, turn: Turn, level: int, items: tuple[FeedbackItem, ...], source: str) -> Feedback:
    """The Feedback of these items at `level`; the usage is that of nobody."""
    text = render(turn.verdict, items, level, turn.number, targets=task.targets)
    return Feedback(level=level, text=text, turn=turn.number, items=items, source=source)


def recut(task: Task, turn: Turn, given: Feedback, level: int) -> Feedback:
    """A feedback that was given on `turn`, with what `level` shows of it."""
    return replace(
        given,
        level=level,
        text=render(turn.verdict, given.items, level, turn.number, targets=task.targets),
        usage=Usage(),
    )


def _with_words(item: FeedbackItem, words: Mapping[str, str]) -> FeedbackItem:
    """The author wrote for code that runs: of code that cannot, or lacks a piece, the derived facts come first."""
    if item.category not in {"T0", "T1"}:
        return replace(item, **words)
    both = {
        name: f"{getattr(item, name)} {words[name].strip()}" for name in ("analysis", "suggestion") if name in words
    }
    return replace(item, **{**words, **both, "category": item.category})
