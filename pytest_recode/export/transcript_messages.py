"""The conversation of an episode, in the order in which it was held: what a viewer of messages shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.records.transcript_turns import PlayedEpisode, PlayedStep, PlayedTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationMessage:
    """A message. `role`: "system", "user" or "assistant". `time`: seconds since 1970. `step`: what an assistant's message led to, if that is known.
    `last`: no other message of an assistant follows in the turn."""

    turn: PlayedTurn
    role: str
    text: str
    time: float
    step: PlayedStep | None = None
    last: bool = False


def conversation(episode: PlayedEpisode) -> Iterator[ConversationMessage]:
    """The messages of all turns. The results of tool calls are no messages of their own, but results of the actions of their step.

    An agent that logs no messages has one assistant's message per step or, without steps, per turn, and the feedback that preceded it.
    """
    before: PlayedTurn | None = None
    for turn in episode.turns:
        messages = list(_turn(turn, before))
        for place, message in enumerate(messages):
            last = message.role == "assistant" and all(later.role != "assistant" for later in messages[place + 1 :])
            yield ConversationMessage(
                turn=turn, role=message.role, text=message.text, time=message.time, step=message.step, last=last
            )
        before = turn


def _turn(turn: PlayedTurn, before: PlayedTurn | None) -> Iterator[ConversationMessage]:
    steps = {step.number: step for step in turn.steps}
    acted = {step.number for step in turn.steps if step.actions}
    if not turn.messages and before is not None and before.feedback is not None:
        yield ConversationMessage(turn=turn, role="user", text=before.feedback.text, time=before.feedback_time)
    for message in turn.messages:
        if message.role == "tool" and message.step in acted:
            continue
        if message.role == "assistant":
            step = steps.pop(message.step, None)
            yield ConversationMessage(turn=turn, role="assistant", text=message.content, time=message.time, step=step)
        else:
            role = "system" if message.role == "system" else "user"
            yield ConversationMessage(turn=turn, role=role, text=message.content, time=message.time)
    if not any(message.role == "assistant" for message in turn.messages):
        for step in turn.steps:
            yield ConversationMessage(
                turn=turn, role="assistant", text="\n\n".join(step.parts.values()), time=step.time, step=step
            )
        if not turn.steps and turn.judged is not None:
            yield ConversationMessage(turn=turn, role="assistant", text="", time=turn.judged["time"])
