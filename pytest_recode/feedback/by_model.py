"""A model as the researcher: it sees reference and candidate, and fills at least one record per failing interface.

It sees neither hidden tests nor their inputs, unless the run shows their output to the agent as well. As in RECODE-H, it sees
neither the level nor earlier feedback, so its feedback depends only on the candidate, and turns of all levels can share it. Its text is
checked: code is removed, text that repeats the reference is requested again, and what then still repeats it is cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback import prompts, source, test_output
from pytest_recode.feedback.answers import Answers, Draft, Rules
from pytest_recode.feedback.audit import TEST_NAME, TESTS, faults, secrets_of
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.interfaces import file_of, path_within
from pytest_recode.feedback.levels import cut, tally
from pytest_recode.feedback.model_answers import CATEGORIES, FIELDS, WORDS, Part, Style, part_of
from pytest_recode.feedback.researcher import written
from pytest_recode.models import Message, Model, Usage
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict

MOST_SECTION = 60_000
"""Maximum characters of each section of the prompt, because a candidate may have any size."""
MOST_QUOTED = 20_000
"""Maximum characters of an invalid answer that the next prompt repeats."""
ATTEMPTS = 2
"""Maximum number of calls per failed turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of the calls: the items, whether the model wrote any of them, and the usage."""

    items: tuple[FeedbackItem, ...]
    by_model: bool
    usage: Usage


def by_model(model: Model, task: Task, parts: Parts, style: Style = Style()) -> Researcher:  # noqa: B008  a frozen value
    """The researcher that calls `model` for every failed turn from level L1 on; at L0 there is nothing to write.

    Missing or unusable records are requested once more; what is then still missing is derived. `ModelError` and `BudgetSpent` pass
    through: if the model cannot be called, the episode is an error, not one with worse feedback.
    """

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        derived = derive(task, parts, turn.targets, turn.verdict)
        if level == 0 or not derived:
            return written(task, hidden(), turn, level, derived, "derived")
        result = _ask(model, task, parts, turn, derived, style, faults(hidden(), turn.targets))
        given = written(task, hidden(), turn, level, result.items, "model" if result.by_model else "derived", style)
        return replace(given, model=model.name, prompt=prompts.VERSION, usage=result.usage)

    return answer


def _ask(
    model: Model,
    task: Task,
    parts: Parts,
    turn: Turn,
    derived: tuple[FeedbackItem, ...],
    style: Style,
    faulty: Callable[[str], tuple[str, ...]],
) -> Result:
    messages = prompt(task, parts, turn.targets, turn.verdict, style)
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
    for _attempt in range(ATTEMPTS):
        reply = model.complete(messages, schema=form)
        usage += reply.usage
        answers.add(reply.text)
        problems = answers.problems()
        if not problems:
            break
        quoted = Message(role="assistant", content=cut(reply.text, MOST_QUOTED) or "(empty)")
        messages = [*messages[:2], quoted, Message(role="user", content=_again(answers, problems))]
    return Result(
        items=_items(answers, derived),
        by_model=any(draft.fields().keys() - {"category"} for drafts in answers.drafts.values() for draft in drafts),
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


def sound(verdict: Verdict) -> tuple[str, ...]:
    """The interfaces whose cases all passed."""
    failing = verdict.failing_interfaces
    return tuple(name for name in dict.fromkeys(case.interface for case in verdict.cases) if name not in failing)


def prompt(
    task: Task,
    parts: Parts,
    candidate: Files,
    verdict: Verdict,
    style: Style = Style(),  # noqa: B008  a frozen value
) -> list[Message]:
    """The messages for the model. A pure function, so that a run can be repeated."""
    sections = {
        "PAPER": parts.paper or "",
        "INSTRUCTION": parts.instruction,
        "REPOSITORY": _repository(parts),
        "REFERENCE": _files(parts.reference, task.targets),
        "CANDIDATE": _files(candidate, task.targets),
        "VERDICT": tally(verdict) + (test_output.full(verdict) if style.test_output else ""),
    }
    # No text can contain its own digest, so no section can forge its END.
    key = hashlib.sha256("\0".join(sections.values()).encode(errors="surrogatepass")).hexdigest()[:16]
    shown = [prompts.SECTION.format(name=name, key=key, text=_bounded(text)) for name, text in sections.items() if text]
    result = prompts.ASK.format(sections="\n".join(shown), interfaces=", ".join(verdict.failing_interfaces))
    if style.scope == "all" and (others := sound(verdict)):
        result += prompts.OTHERS.format(interfaces=", ".join(others))
    return [
        Message(role="system", content=_system(style, key)),
        Message(role="user", content=result + (prompts.BLOCK if parts.slot is not None else "")),
    ]


def _system(style: Style, key: str) -> str:
    words = prompts.WORDS_ALONE
    if style.may_have_code:
        alone = [name for name in WORDS if name not in style.may_have_code]
        words = prompts.WORDS_WITH_CODE.format(
            fields=" and ".join(name for name in WORDS if name in style.may_have_code),
            others=f"{' and '.join(alone)} may not: there, use words and names alone; " if alone else "",
        )
    tests = prompts.WITH_TESTS if style.test_output else prompts.WITHOUT_TESTS
    return prompts.SYSTEM.format(key=key, records=prompts.RECORDS[style.scope], words=words, tests=tests)


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


def _repository(parts: Parts) -> str:
    """The files of the repository, with the functions and classes of each."""
    lines = []
    for path, data in parts.repo.items():
        tree = source.parse(data).tree if path.endswith(".py") else None
        names = [node.name for node in (tree.body if tree else ()) if isinstance(node, source.Definition)]
        lines.append(f"{path}: {', '.join(names)}" if names else path)
    return "\n".join(lines)


def _files(files: Files, names: Sequence[str]) -> str:
    shown = []
    for name in names:
        text = files[name].decode(errors="replace") if name in files else "(no such file)"
        shown.append(f"### {name}\n{text}")
    return "\n\n".join(shown)


def _bounded(text: str) -> str:
    if len(text) <= MOST_SECTION:
        return text
    half = MOST_SECTION // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"
