"""A model as the researcher: it sees reference and candidate, and fills one record per failing interface.

What it must not know it is not given: hidden tests and their inputs. What it must not say below level L4 is looked
for in its words: code is taken out, words that repeat the reference are asked for again, and what repeats it then is cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_recode.episode import Feedback, FeedbackItem, Researcher, Turn
from pytest_recode.feedback import prompts, source
from pytest_recode.feedback.audit import repeats, secrets_of
from pytest_recode.feedback.derived import derive
from pytest_recode.feedback.levels import cut, tally
from pytest_recode.feedback.records import CATEGORIES, FIELDS, read_answer
from pytest_recode.feedback.researcher import written
from pytest_recode.models import Message, Model, Usage
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Verdict

MOST_SECTION = 60_000
"""Characters of each section of the prompt: a candidate may be of any size."""
MOST_QUOTED = 20_000
"""Characters of a bad answer that are shown again to the model that gave it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What came of asking: one item per failing interface, whether the model wrote any of it, what that cost."""

    items: tuple[FeedbackItem, ...]
    by_model: bool
    usage: Usage


def by_model(model: Model, task: Task, parts: Parts) -> Researcher:
    """`model` answers every failed turn from level L1 on; at L0 there is nothing to write, and it is not asked.

    A malformed answer is asked for once more, then what is still missing is derived. A model that cannot be asked
    is a `ModelError` or `BudgetSpent`, which pass through: that episode is an error, not one with worse feedback.
    """

    hidden = secrets_of(parts, task.oracle)

    def answer(turns: Sequence[Turn], level: int) -> Feedback:
        turn = turns[-1]
        derived = derive(task, parts, turn.targets, turn.verdict)
        if level == 0 or not derived:
            return written(task, hidden(), turn, level, derived, "derived")
        asked = _ask(model, task, parts, turn, derived, repeats(hidden(), turn.targets))
        given = written(task, hidden(), turn, level, asked.items, "model" if asked.by_model else "derived")
        return replace(given, model=model.name, prompt=prompts.VERSION, usage=asked.usage)

    return answer


def _ask(
    model: Model,
    task: Task,
    parts: Parts,
    turn: Turn,
    derived: tuple[FeedbackItem, ...],
    repeating: Callable[[str], str],
) -> Asked:
    messages = prompt(task, parts, turn.targets, turn.verdict)
    form = schema([item.interface for item in derived])
    usage = Usage()
    given: dict[str, dict[str, str]] = {}
    leaking: dict[str, dict[str, str]] = {}  # used where nothing better comes; what leaks will be cut out of it
    for _attempt in range(2):
        reply = model.complete(messages, schema=form)
        usage += reply.usage
        answer = read_answer(reply.text, derived, repeating)
        for name in answer.usable:
            given[name] = {**given.get(name, {}), **answer.usable[name]}
            leaking[name] = {**leaking.get(name, {}), **answer.leaking[name]}
        if not answer.problems:
            break
        quoted = Message(role="assistant", content=cut(reply.text, MOST_QUOTED) or "(empty)")
        again = Message(role="user", content=prompts.AGAIN.format(problems="; ".join(answer.problems)))
        messages = [*messages[:2], quoted, again]
    given = {name: {**leaking[name], **fields} for name, fields in given.items()}
    items = tuple(replace(item, **given.get(item.interface, {})) for item in derived)
    return Asked(items=items, by_model=any(fields.keys() - {"category"} for fields in given.values()), usage=usage)


def prompt(task: Task, parts: Parts, candidate: Files, verdict: Verdict) -> list[Message]:
    """What the model is asked. A function of what is the case, so that a run can be repeated."""
    sections = {
        "PAPER": parts.paper or "",
        "INSTRUCTION": parts.instruction,
        "REPOSITORY": _repository(parts),
        "REFERENCE": _files(parts.reference, task.targets),
        "CANDIDATE": _files(candidate, task.targets),
        "VERDICT": tally(verdict),
    }
    # Nobody can write a text that holds its own digest: no section can forge its END.
    key = hashlib.sha256("\0".join(sections.values()).encode(errors="surrogatepass")).hexdigest()[:16]
    shown = [prompts.SECTION.format(name=name, key=key, text=_bounded(text)) for name, text in sections.items() if text]
    interfaces = ", ".join(verdict.failing_interfaces)
    asked = prompts.ASK.format(sections="\n".join(shown), interfaces=interfaces)
    return [
        Message(role="system", content=prompts.SYSTEM.format(key=key)),
        Message(role="user", content=asked + (prompts.BLOCK if parts.slot is not None else "")),
    ]


def schema(interfaces: Sequence[str]) -> Mapping[str, Any]:
    """JSON schema of the answer; strict enough for providers that enforce one."""
    text = {"type": "string"}
    record = {
        "type": "object",
        "properties": {
            "interface": {"type": "string", "enum": list(interfaces)},
            "category": {"type": "string", "enum": list(CATEGORIES)},
            **{name: text for name in FIELDS if name != "category"},
        },
        "required": ["interface", *FIELDS],
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
    """Its files, with the functions and classes of each."""
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
