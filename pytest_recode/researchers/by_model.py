"""A model as the researcher: it sees reference and candidate, and fills at least one record per failing interface.

It sees neither hidden tests nor their inputs, unless the run shows their output to the agent as well. As in RECODE-H, it sees
neither the level nor earlier feedback, so its feedback depends only on the candidate, and turns of all levels can share it: it is not asked
twice about the same code with the same verdict. Its text is checked: what is not as its schema asks, and text that repeats the reference,
goes back once; what then still repeats it is cut. The correction is the reference's code, except in RECODE-H's style.

A prompt that does not fit into the model's context window has less of the paper and of the list of the repository's files, and at last less
of the candidate and the verdict. Feedback on such a prompt says so in `Feedback.prompt`. Instruction and reference are never shortened for the window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback.audit import faults, secrets_of
from pytest_recode.feedback.creation import on_the_same, recut, written
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.model_answers import STYLE, WITHOUT_REFERENCE, Style
from pytest_recode.models import Message, Model
from pytest_recode.researchers import prompts
from pytest_recode.researchers.answers import Rules
from pytest_recode.researchers.conversation import ConversationResult, converse, with_correction
from pytest_recode.researchers.json_answers import Key, Record
from pytest_recode.researchers.model_prompt import Refusals, prompt, sections, shortenable, sound
from pytest_recode.researchers.without_reference import without_reference
from pytest_recode.task import Parts, Task


def by_model(model: Model, task: Task, parts: Parts, style: Style = STYLE) -> Researcher:
    """The researcher that calls `model` for every failed turn from level L1 on; at L0 there is nothing to write.

    What is wrong with the first answer goes back once; what is then still missing is derived. `ModelError` and `BudgetSpent` pass
    through: if the model cannot be called, the episode is an error, not one with worse feedback.
    """

    hidden = secrets_of(parts, task.oracle)
    refusals = Refusals()

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        derived = derive(task, parts, turn.targets, turn.verdict)
        if level == 0 or not derived:
            return written(task, hidden(), turn, level, derived, "derived")
        if not style.test_output and (earlier := on_the_same(turns)) is not None:
            return recut(task, turn, earlier, level)
        if style.writer == WITHOUT_REFERENCE:
            result = without_reference(model, task, parts, turn, derived, style, refusals)
        else:
            result = _ask(model, task, parts, turn, derived, style, faults(hidden(), turn.targets, style), refusals)
        feedback = written(task, hidden(), turn, level, result.items, "model" if result.by_model else "derived", style)
        version = [prompts.VERSION]
        version += [f"({style.writer})"] if style.writer == WITHOUT_REFERENCE else []
        version += ["(shortened)"] if result.shortened else []
        return replace(feedback, model=model.name, prompt=" ".join(version), usage=result.usage)

    return answer


def _ask(
    model: Model,
    task: Task,
    parts: Parts,
    turn: Turn,
    derived: tuple[FeedbackItem, ...],
    style: Style,
    wrong: Callable[[str, str], str],
    refusals: Refusals,
) -> ConversationResult:
    failing = tuple(item.interface for item in derived)
    others = sound(turn.verdict) if style.scope == "all" else ()

    rules = Rules(
        failing=failing,
        others=others,
        style=style,
        wrong=wrong,
        one_block=parts.slot is not None,
    )
    records = rules.records

    def ask(most: int) -> list[Message]:
        return prompt(task, parts, turn.targets, turn.verdict, style, most)

    longest = shortenable(sections(task, parts, turn.targets, turn.verdict, style))
    calls = converse(model, records, ask, longest, refusals)
    return ConversationResult(
        items=_items(rules, records.by_key, derived),
        by_model=bool(records.by_key),
        shortened=calls.shortened,
        usage=calls.usage,
    )


def _items(
    rules: Rules, records: Mapping[Key, Sequence[Record]], derived: Sequence[FeedbackItem]
) -> tuple[FeedbackItem, ...]:
    """The records of each failing interface, or its derived item; then the records of other interfaces."""
    items: list[FeedbackItem] = []
    uncorrected = rules.uncorrected(records)
    for item in derived:
        own = [_item(fields) for fields in records.get(item.interface, ())]
        items += with_correction(own, item) if item.interface in uncorrected else own or [item]
    items += [_item(fields) for name in rules.others for fields in records.get(name, ())]
    return tuple(items)


def _item(fields: Mapping[str, Any]) -> FeedbackItem:
    return FeedbackItem(
        **fields, authors={name: "model" for name, text in fields.items() if text and name != "interface"}
    )
