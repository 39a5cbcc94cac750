"""A model as the researcher: it sees reference and candidate, and fills at least one record per failing interface.

It sees neither hidden tests nor their inputs, unless the run shows their output to the agent as well. As in RECODE-H, it sees
neither the level nor earlier feedback, so its feedback depends only on the candidate, and turns of all levels can share it. Its text is
checked: what is not as its schema asks, and text that repeats the reference, goes back once; what then still repeats it is cut.

A prompt that does not fit into the model's context window has less of the paper and of the list of the repository's files, and at last less
of the candidate and the verdict. Feedback on such a prompt says so in `Feedback.prompt`. Instruction and reference are never shortened for the window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.feedback import prompts, source
from pytest_recode.feedback.answers import Answers, Rules, schema
from pytest_recode.feedback.audit import TEST_NAME, TESTS, faults, secrets_of
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.interfaces import file_of, path_within
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import Part, Style, part_of
from pytest_recode.feedback.model_prompt import Lengths, Refusals, fitting, longest_lengths, prompt, sound
from pytest_recode.feedback.researcher import written
from pytest_recode.models import Message, Model, Usage
from pytest_recode.task import Files, Parts, Task

MOST_QUOTED = 20_000
"""Maximum characters of an invalid answer that the next prompt repeats."""
ATTEMPTS = 2
"""Maximum number of calls per failed turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of the calls: the items, whether the model wrote any of them, whether a prompt was shortened, and the usage."""

    items: tuple[FeedbackItem, ...]
    by_model: bool
    shortened: bool
    usage: Usage


def by_model(model: Model, task: Task, parts: Parts, style: Style = Style()) -> Researcher:  # noqa: B008  a frozen value
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
        result = _ask(model, task, parts, turn, derived, style, faults(hidden(), turn.targets), refusals)
        given = written(task, hidden(), turn, level, result.items, "model" if result.by_model else "derived", style)
        version = f"{prompts.VERSION} (shortened)" if result.shortened else prompts.VERSION
        return replace(given, model=model.name, prompt=version, usage=result.usage)

    return answer


def _ask(
    model: Model,
    task: Task,
    parts: Parts,
    turn: Turn,
    derived: tuple[FeedbackItem, ...],
    style: Style,
    faulty: Callable[[str], tuple[str, ...]],
    refusals: Refusals,
) -> Result:
    failing = tuple(item.interface for item in derived)
    others = sound(turn.verdict) if style.scope == "all" else ()

    def wrong(field: str, words: str) -> str:
        free = field in style.may_have_code
        found = (
            what
            for what in faulty(words)
            if not free or (what.startswith((TESTS, TEST_NAME)) and not style.test_output)
        )
        return next(found, "")

    rules = Rules(
        failing=failing,
        others=others,
        may_have_code=style.may_have_code,
        wrong=wrong,
        one_block=parts.slot is not None,
        whole=parts.slot is None and not style.may_have_code,
        part=lambda interface, code: _part(interface, code, task, turn.targets),
    )
    form = schema(rules.known)
    answers = Answers(rules=rules)
    usage = Usage()
    longest = lengths = longest_lengths(task, parts, turn.targets, turn.verdict, style)
    before, again = "", ""

    def messages(most: Lengths) -> list[Message]:
        within = Lengths(min(most.background, lengths.background), most.candidate)
        first = prompt(task, parts, turn.targets, turn.verdict, style, within)
        if not again:
            return first
        quoted = cut(before, min(most.background, MOST_QUOTED)) if most.background else "(left out)"
        return [*first, Message(role="assistant", content=quoted or "(empty)"), Message(role="user", content=again)]

    for attempt in range(ATTEMPTS):
        try:
            most = lengths._replace(background=max(lengths.background, min(len(before), MOST_QUOTED)))
            reply, most = fitting(model, messages, most, form, refusals)
        except ModelError as error:
            if not attempt or error.fault is not ModelFault.CONTEXT:
                raise
            break  # what the first answer lacks is derived
        lengths = Lengths(*map(min, lengths, most))
        usage += reply.usage
        answers.add(reply.text)
        if not answers.problems:
            break
        before, again = reply.text, _again(answers)
    return Result(
        items=_items(answers, derived),
        by_model=bool(answers.records),
        shortened=lengths != longest,
        usage=usage,
    )


def _part(interface: str, code: str, task: Task, candidate: Files) -> Part:
    file = file_of(interface, task.targets)
    if file is None:
        return part_of(code)
    return part_of(code, path_within(interface, file), source.parse(candidate.get(file)))


def _again(answers: Answers) -> str:
    accepted = ", ".join(answers.accepted())
    return prompts.AGAIN.format(
        problems="\n".join(f"- {each}" for each in answers.problems),
        accepted=prompts.ACCEPTED.format(interfaces=accepted) if accepted else "",
    )


def _items(answers: Answers, derived: Sequence[FeedbackItem]) -> tuple[FeedbackItem, ...]:
    """The records of each failing interface, or its derived item; then the records of other interfaces."""
    found: list[FeedbackItem] = []
    uncorrected = answers.uncorrected()
    for item in derived:
        own = [_item(fields) for fields in answers.records.get(item.interface, ())]
        if item.interface in uncorrected:
            authors = {**own[0].authors, "correction": "derived"}
            own[0] = replace(own[0], correction=item.correction, elsewhere=item.elsewhere, authors=authors)
        found += own or [item]
    found += [_item(fields) for name in answers.rules.others for fields in answers.records.get(name, ())]
    return tuple(found)


def _item(fields: Mapping[str, Any]) -> FeedbackItem:
    return FeedbackItem(
        **fields, authors={name: "model" for name, text in fields.items() if text and name != "interface"}
    )
