"""Answers the requests that a program sends to the door during one turn."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.agents.command_line.call_log import CallLog
from pytest_recode.agents.door_requests import DoorAnswer, DoorRequest
from pytest_recode.faults import ProgramError
from pytest_recode.gateway import dialects
from pytest_recode.models import Message, RelayedCall, Relaying

MIN_KNOWN = 24
"""Characters of an answer that only the conversation it belongs to would repeat."""


@dataclass(slots=True, kw_only=True)
class TurnCalls:
    """A `DoorService`. `most`: calls of the turn. `prompt`: what the program was asked in this turn. `earlier`: answers that a request with
    that prompt must repeat, because they were given in the turns before; empty in the first. `lost`: raised if it does not. `key`: what a request must have.
    `offers_tools`: whether the program has offered its model tools, in this turn or before: then a request without them, such as for a title, is none
    of its conversation."""

    model: Relaying
    log: CallLog
    most: int
    prompt: str
    earlier: frozenset[str]
    lost: ProgramError
    key: str = field(repr=False)
    offers_tools: bool = False
    stopped: str = ""  # "steps", when the program has asked for one more call than a turn has
    continued: bool = False  # whether a request had the prompt, after the conversation of the turns before
    begun: int = 0  # calls, also those without an answer
    open: int = 0  # calls whose answers are awaited

    @property
    def over(self) -> bool:
        """Whether the turn has no call left, and the answers to all that were begun are given."""
        return bool(self.stopped) and not self.open

    def serve(self, request: DoorRequest, answer: DoorAnswer) -> AgentAnswer | None:
        """Answer a request of the program, or ask its model. Raises `lost`, and what `Relaying.relay` raises, which ends the program."""
        try:
            asked = dialects.asked(request.method, request.path, request.body)
            if asked is None:
                why = f"{request.method} {request.path.partition('?')[0]}: there is a model here only"
                _refuse(answer, 404, why)
                return None
            if not secrets.compare_digest(dialects.key_of(request.headers).encode(), self.key.encode()):
                _refuse(answer, 401, "this door opens with the key of its turn")
                return None
            if asked.counts:
                _whole(answer, dialects.counted(asked))
                return None
            messages = dialects.messages_of(asked.dialect, asked.body)
        except ValueError as error:
            _refuse(answer, 400, str(error))
            return None
        tools = bool(asked.body.get("tools"))
        self.offers_tools = self.offers_tools or tools
        if tools or not self.offers_tools:
            self._check_session(messages)
        if self.begun >= self.most:
            self.stopped = "steps"
            return None
        call = self.model.relay(asked.dialect, asked.body)
        self.begun += 1
        self.open += 1
        self.log.request(messages, self.begun)
        return AgentAnswer(calls=self, asked=asked, answer=answer, step=self.begun, call=call)

    def _check_session(self, messages: Sequence[Message]) -> None:
        """Raise `lost` if the program asks its model about the feedback in a conversation without the turns before.

        Other requests, such as for a title, do not have this turn's prompt.
        """
        if self.continued or not any(self.prompt.strip() in each.content for each in messages):
            return
        self.continued = not self.earlier or any(_repeats(message, self.earlier) for message in messages)
        if not self.continued:
            raise self.lost


@dataclass(slots=True, kw_only=True)
class AgentAnswer:
    """A `PendingAnswer` of the model. `step`: the number of the call in the turn."""

    calls: TurnCalls
    asked: dialects.Asked
    answer: DoorAnswer
    step: int
    call: RelayedCall

    @property
    def waits(self) -> bool:
        return self.call.waits

    def events(self) -> Iterator[object]:
        return self.call.events()

    def take(self, event: object) -> bool:
        try:
            relayed = self.call.take(event)
        except BaseException as error:
            self.calls.open -= 1
            if not isinstance(error, ValueError):
                raise
            if not self.answer.begun:  # one that has begun, because it was kept waiting, ends without an answer
                _refuse(self.answer, 400, str(error))
            return True
        if relayed is None:
            self._send(dialects.alive_of(self.asked))
            return False
        self.calls.open -= 1
        self.calls.log.answer(relayed.reply, relayed.asked_model, self.step)
        whole = dialects.stream_of(self.asked.dialect, relayed.answer) if self.asked.streams else None
        self._send(json.dumps(relayed.answer).encode() if whole is None else whole)
        return True

    def leave(self) -> None:
        self.calls.open -= 1
        self.calls.log.cut_off += 1
        self.call.leave()

    def _send(self, data: bytes) -> None:
        if not self.answer.begun:
            self.answer.begin(200, {"Content-Type": "text/event-stream" if self.asked.streams else "application/json"})
        self.answer.send(data)


def _repeats(message: Message, answers: frozenset[str]) -> bool:
    """Whether a message is one of these answers, or a summary of the conversation that has one of them."""
    if message.tool_call_id in answers or any(call.id in answers for call in message.tool_calls):
        return True
    text = message.content.strip()
    return text in answers or any(len(each) >= MIN_KNOWN and each in text for each in answers)


def _refuse(answer: DoorAnswer, status: int, why: str) -> None:
    _whole(answer, {"error": {"type": "invalid_request_error", "message": why}}, status)


def _whole(answer: DoorAnswer, body: Mapping[str, Any], status: int = 200) -> None:
    answer.begin(status, {"Content-Type": "application/json"})
    answer.send(json.dumps(body).encode())
