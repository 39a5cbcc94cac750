"""Ask a feedback model for JSON of a schema: one call, and one more with what was wrong with the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_prompt import Lengths, Refusals, fitting
from pytest_recode.models import Message, Model, Usage

MOST_QUOTED = 20_000
"""Maximum characters of an invalid answer that the next prompt repeats."""
ATTEMPTS = 2
"""Maximum number of calls for one question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationResult:
    """The result of the calls: the items, whether the model wrote any of them, whether a prompt was shortened, and the usage."""

    items: tuple[FeedbackItem, ...]
    by_model: bool
    shortened: bool
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """The usage of the calls for one question, and whether a prompt of them was shortened."""

    usage: Usage
    shortened: bool


def converse(
    model: Model,
    schema: Mapping[str, Any],
    ask: Callable[[Lengths], list[Message]],
    longest: Lengths,
    refusals: Refusals,
    add: Callable[[str], str],
) -> CallUsage:
    """Ask, and give each answer to `add`, which returns what to ask again, or "". `longest`: characters of the parts that may be shortened.

    Raises `ModelError`, except if the second prompt does not fit: what the first answer lacks is derived.
    """
    usage = Usage()
    lengths = longest
    before, again = "", ""

    def messages(most: Lengths) -> list[Message]:
        first = ask(Lengths(min(most.background, lengths.background), most.candidate))
        if not again:
            return first
        quoted = cut(before, min(most.background, MOST_QUOTED)) if most.background else "(left out)"
        return [*first, Message(role="assistant", content=quoted or "(empty)"), Message(role="user", content=again)]

    for attempt in range(ATTEMPTS):
        try:
            most = lengths._replace(background=max(lengths.background, min(len(before), MOST_QUOTED)))
            reply, most = fitting(model, messages, most, schema, refusals)
        except ModelError as error:
            if not attempt or error.fault is not ModelFault.CONTEXT:
                raise
            break
        lengths = Lengths(*map(min, lengths, most))
        usage += reply.usage
        before, again = reply.text, add(reply.text)
        if not again:
            break
    return CallUsage(usage=usage, shortened=lengths != longest)


def with_correction(items: Sequence[FeedbackItem], derived: FeedbackItem) -> list[FeedbackItem]:
    """A model's items of one interface, the first that has its fault there with the derived correction."""
    place = next((place for place, item in enumerate(items) if not item.caused_by), None)
    if place is None or not (derived.correction or derived.elsewhere):
        return list(items)
    item = items[place]
    authors = {**item.authors, **({"correction": "derived"} if derived.correction else {})}
    corrected = replace(item, correction=derived.correction, elsewhere=derived.elsewhere, authors=authors)
    return [*items[:place], corrected, *items[place + 1 :]]
