"""A model as the researcher: it sees reference and candidate, and fills at least one record per failing interface.

It sees neither hidden tests nor their inputs, unless the run shows their output to the agent as well. As in RECODE-H, it sees
neither the level nor earlier feedback, so its feedback depends only on the candidate, and turns of all levels can share it. Its text is
checked: code is removed, text that repeats the reference is requested again, and what then still repeats it is cut.

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
from pytest_recode.feedback.answers import Answers, Draft, Rules
from pytest_recode.feedback.audit import TEST_NAME, TESTS, faults, secrets_of
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.interfaces import file_of, path_within
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import CATEGORIES, FIELDS, Part, Style, part_of
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

    Missing or unusable records are requested once more; what is then still missing is derived. `ModelError` and `BudgetSpent` pass
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
    form = schema(failing, others)
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
        problems = answers.problems()
        if not problems:
            break
        before, again = reply.text, _again(answers, problems)
    return Result(
        items=_items(answers, derived),
        by_model=any(draft.fields().keys() - {"category"} for drafts in answers.drafts.values() for draft in drafts),
        shortened=lengths != longest,
        usage=usage,
    )


def _part(interface: str, code: str, task: Task, candidate: Files) -> Part:
    file = file_of(interface, task.targets)
    if file is None:
        return part_of(code)
    return part_of(code, path_within(interface, file), source.parse(candidate.get(file)))


def _again(answers: Answers, problems: Sequence[str]) -> str:
    if not answers.drafts:
        return prompts.AGAIN.format(problems="; ".join(problems))
    accepted = ", ".join(answers.accepted()) or "none"
    return prompts.AGAIN_IN_PART.format(accepted=accepted, problems="; ".join(problems))


def _items(answers: Answers, derived: Sequence[FeedbackItem]) -> tuple[FeedbackItem, ...]:
    """The records of each failing interface, or its derived items; then the records of other interfaces."""
    found: list[FeedbackItem] = []
    silent = {name for name in answers.causes() if name not in answers.drafts}
    for draft in (draft for drafts in answers.drafts.values() for draft in drafts):
        if draft.usable.get("caused_by") in silent:  # otherwise nothing would say what to change
            del draft.usable["caused_by"]
    for item in derived:
        first, *more = answers.drafts.get(item.interface) or [Draft()]
        covered = any(answers.corrects(item.interface, each) for each in more)
        found.append(_filled(item, first, covered))
        found += [_item(item.interface, draft) for draft in more]
    for name in answers.rules.others:
        found += [_item(name, draft) for draft in answers.drafts.get(name, ())]
    return tuple(found)


def _filled(derived: FeedbackItem, draft: Draft, covered: bool) -> FeedbackItem:
    """Fill the missing fields of a record with derived ones, except those that it does not need: a fault of another interface is
    corrected there. `covered`: another record of the interface has its correction."""
    item, fields = _item(derived.interface, draft), draft.fields()
    needless: set[str] = set()
    if "caused_by" in fields:
        needless = {"analysis", "suggestion", "correction"}
    elif covered:
        needless = {"correction"}
    if not fields.keys() & {
        "analysis",
        "suggestion",
        "correction",
        "caused_by",
    }:  # the derived text, and the causes that it mentions
        authors = {**item.authors, **({"caused_by": "derived"} if derived.caused_by else {})}
        item = replace(item, caused_by=derived.caused_by, possible_causes=derived.possible_causes, authors=authors)
    lacking = [name for name in FIELDS if name not in fields and name not in needless and getattr(derived, name)]
    return replace(
        item,
        **{name: getattr(derived, name) for name in lacking},
        elsewhere=derived.elsewhere if "correction" not in fields and "correction" not in needless else {},
        authors={**item.authors, **dict.fromkeys(lacking, "derived")},
    )


def _item(interface: str, draft: Draft) -> FeedbackItem:
    fields: dict[str, Any] = dict(draft.fields())
    return FeedbackItem(interface=interface, **fields, authors=dict.fromkeys(fields, "model"))


def schema(failing: Sequence[str], others: Sequence[str] = ()) -> Mapping[str, Any]:
    """JSON schema of the answer; strict enough for providers that enforce one."""
    text = {"type": "string"}
    names = [*failing, *others]
    record = {
        "type": "object",
        "properties": {
            "interface": {"type": "string", "enum": names},
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
