"""Ask a feedback model for JSON of a schema: one call, and one more with what was wrong with the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.feedback.levels import cut
from pytest_recode.models import Message, Model, Usage
from pytest_recode.researchers.json_answers import Records
from pytest_recode.researchers.model_prompt import Refusals, fitting

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
    model: Model, records: Records, ask: Callable[[int], list[Message]], longest: int, refusals: Refusals
) -> CallUsage:
    """Ask for `records`, and add the answers to them. `longest`: characters of the parts of the prompt that may be shortened.

    Raises `ModelError`, except if the second prompt does not fit: what the first answer lacks is derived.
    """
    usage = Usage()
    length = longest
    before, again = "", ""

    def messages(most: int) -> list[Message]:
        first = ask(min(most, length))
        if not again:
            return first
        quoted = cut(before, min(most, MOST_QUOTED)) if most else "(left out)"
        return [*first, Message(role="assistant", content=quoted or "(empty)"), Message(role="user", content=again)]

    for attempt in range(ATTEMPTS):
        try:
            reply, most = fitting(model, messages, max(length, min(len(before), MOST_QUOTED)), records.schema, refusals)
        except ModelError as error:
            if not attempt or error.fault is not ModelFault.CONTEXT:
                raise
            break
        length = min(length, most)
        usage += reply.usage
        before, again = reply.text, records.add(reply.text)
        if not again:
            break
    return CallUsage(usage=usage, shortened=length != longest)


def with_correction(items: Sequence[FeedbackItem], derived: FeedbackItem) -> list[FeedbackItem]:
    """A model's items of one interface, the first that has its fault there with the derived correction."""
    place = next((place for place, item in enumerate(items) if not item.caused_by), None)
    if place is None or not (derived.correction or derived.elsewhere):
        return list(items)
    item = items[place]
    authors = {**item.authors, **({"correction": "derived"} if derived.correction else {})}
    corrected = replace(item, correction=derived.correction, elsewhere=derived.elsewhere, authors=authors)
    return [*items[:place], corrected, *items[place + 1 :]]
