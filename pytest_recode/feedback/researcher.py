"""The researcher: the simulated human who answers a failed turn, with text of the task's author, of a model, or derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import secrets_of
from pytest_recode.feedback.causes import advice_in_words
from pytest_recode.feedback.creation import written
from pytest_recode.feedback.derived import Derivation, derivations, derive
from pytest_recode.feedback.levels import render
from pytest_recode.feedback.model_answers import WORDS, Style, words_only
from pytest_recode.feedback.symptoms import wrong_values
from pytest_recode.models import Model, Usage
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
    if parts.feedback is None:
        return derive(task, parts, turn.targets, turn.verdict)
    return drafted(task, parts, turn, parts.feedback)


def from_task(task: Task, parts: Parts, words: Mapping[str, Mapping[str, str]]) -> Researcher:
    """The author's text for each failing interface; missing fields are derived."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, drafted(task, parts, turn, words), "task")

    return answer


def derived(task: Task, parts: Parts) -> Researcher:
    """Feedback that is only derived."""

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        return written(task, hidden(), turn, level, derive(task, parts, turn.targets, turn.verdict), "derived")

    return answer


def drafted(task: Task, parts: Parts, turn: Turn, words: Mapping[str, Mapping[str, str]]) -> tuple[FeedbackItem, ...]:
    """One item for each failing interface, from `words` if they have it, else derived."""
    corrections = {name: fields["correction"] for name, fields in words.items() if "correction" in fields}
    found = derivations(task, parts, turn.targets, turn.verdict, corrections)
    return tuple(
        _of_consequence(each, in_words(words.get(each.item.interface, {})))
        if each.item.caused_by or each.item.possible_causes
        else _with_words(
            each,
            in_words(words.get(each.item.interface, {})),
            wrong_values(turn.verdict, each.item.interface) and not each.indirect,
        )
        for each in found
    )


def _of_consequence(found: Derivation, words: Mapping[str, str]) -> FeedbackItem:
    """The author's text on an interface that may fail because of another one: without unconditional claims about its own code."""
    item = found.item
    if item.caused_by or found.right:
        return item
    used: dict[str, Any] = {name: text for name, text in words.items() if name in {"analysis", "suggestion"}}
    if "analysis" in used:
        used["analysis"] = (
            f"{found.before('analysis')} {USUALLY} {used['analysis'].strip()} {found.after['analysis']}".strip()
        )
    if "suggestion" in used:
        advice = f"{found.besides['suggestion']} {used['suggestion'].strip()} {found.after['suggestion']}".strip()
        used["suggestion"] = advice_in_words(item.possible_causes, advice)
    both = dict.fromkeys(used.keys() & {"analysis", "suggestion"}, "derived+task")
    return replace(
        item,
        **{**used, "category": item.category},
        authors={**item.authors, **dict.fromkeys(used, "task"), **both, "category": "derived"},
    )


def recut(task: Task, turn: Turn, given: Feedback, level: int) -> Feedback:
    """A stored feedback on `turn`, with its text for `level`."""
    return replace(
        given,
        level=level,
        text=render(turn.verdict, given.items, level, turn.number, targets=task.targets, candidate=turn.targets),
        usage=Usage(),
    )


def in_words(words: Mapping[str, str]) -> dict[str, str]:
    """A researcher's fields, with code removed from text fields, and without empty fields."""
    found = {name: words_only(text) if name in WORDS else text for name, text in words.items()}
    return {name: text for name, text in found.items() if text}


def _with_words(found: Derivation, words: Mapping[str, str], wrong: bool) -> FeedbackItem:
    """The author's text that can apply to this failure. `wrong`: results were wrong.

    Authors describe wrong results of code that runs. If no result of the interface is known to be wrong (an exception, a missing exception, a value of
    another type, tests that reach it only through code of the repository), the author's description would be false, and the analysis is marked as the usual cause. If the code cannot run or lacks
    a piece, or if the fault may be in code around the interface's own, the derived facts come first; those that may matter less than any
    other come last. If the interface's own code is
    right, or the interpreter refuses its file, the author's analysis and suggestion do not apply. If there is no such code yet, the analysis
    does not apply.
    """
    item = found.item
    apply = {"description"} if found.right or found.unread else {"description", "category", "analysis", "suggestion"}
    apply -= {"analysis"} if found.unwritten else set()
    used: dict[str, Any] = {
        name: text for name, text in words.items() if name in apply and (wrong or name != "description")
    }
    authors = {**item.authors, **dict.fromkeys(used, "task")}
    if "description" in used and found.besides["description"]:
        both_kinds = [used["description"].strip(), found.besides["description"]]
        used["description"] = " ".join(reversed(both_kinds) if found.besides_first else both_kinds)
        authors["description"] = "derived+task"
    after = found.after
    first = {name: found.before(name) for name in ("analysis", "suggestion")}
    if wrong and item.category not in {"T0", "T1"}:
        first = {name: found.besides[name] for name in first}
        if found.right or not any((*first.values(), *after.values())):
            return replace(item, **used, authors=authors)
    elif "category" in used:
        used["category"], authors["category"] = item.category, "derived"
    between = {"analysis": " " if wrong else f" {USUALLY} ", "suggestion": " "}
    both: dict[str, Any] = {
        name: f"{first[name]}{space}{used[name].strip()} {after[name]}".strip()
        for name, space in between.items()
        if name in used
    }
    authors = {**authors, **dict.fromkeys(both, "derived+task")}
    return replace(item, **{**used, **both}, authors=authors)
