"""Answers the requests that a program sends to the door during one turn."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_recode.agents.command_line.call_log import CallLog
from pytest_recode.agents.door_requests import DoorAnswer, DoorRequest
from pytest_recode.faults import ProgramError
from pytest_recode.gateway import dialects
from pytest_recode.models import Message, Relaying

MIN_KNOWN = 24
"""Characters of an answer that only the conversation it belongs to would repeat."""


@dataclass(slots=True, kw_only=True)
class TurnCalls:
    """`most`: calls of the turn. `prompt`: what the program was asked in this turn. `earlier`: answers that a request with that prompt must
    repeat, because they were given in the turns before; empty in the first. `lost`: raised if it does not."""

    model: Relaying
    log: CallLog
    most: int
    prompt: str
    earlier: frozenset[str]
    lost: ProgramError
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    stopped: str = ""  # "steps", when the program has asked for one more call than a turn has
    continued: bool = False  # whether a request had the prompt, after the conversation of the turns before

    def serve(self, request: DoorRequest, answer: DoorAnswer) -> None:
        """Answer a request of the program. Raises what the model's call raises, which ends the program."""
        try:
            asked = dialects.asked(request.method, request.path, request.body)
            if asked is None:
                return _refuse(
                    answer, 404, f"{request.method} {request.path.partition('?')[0]}: there is a model here only"
                )
            if not secrets.compare_digest(dialects.key_of(request.headers).encode(), self.key.encode()):
                return _refuse(answer, 401, "this door opens with the key of its turn")
            if asked.counts:
                return _whole(answer, dialects.counted(asked))
            return self._ask(asked, answer)
        except ValueError as error:
            # one that has begun, because the gateway was waited for, cannot be refused any more: it ends without an answer
            return None if answer.begun else _refuse(answer, 400, str(error))

    def _ask(self, asked: dialects.Asked, answer: DoorAnswer) -> None:
        messages = dialects.messages_of(asked.dialect, asked.body)
        self._check_session(messages)
        if self.log.steps >= self.most:
            self.stopped = "steps"
            return answer.stop()
        self.log.request(messages)
        headers = {"Content-Type": "text/event-stream" if asked.streams else "application/json"}

        def send(data: bytes) -> None:
            if not answer.begun:
                answer.begin(200, headers)
            answer.send(data)

        relayed = self.model.relay(asked.dialect, asked.body, lambda: send(dialects.alive_of(asked)))
        if relayed.waited:
            answer.grant(relayed.waited)
        self.log.answer(relayed.reply, relayed.asked_model)
        if asked.streams:
            return send(dialects.stream_of(asked.dialect, relayed.answer))
        return send(json.dumps(relayed.answer).encode())

    def _check_session(self, messages: Sequence[Message]) -> None:
        """Raise `lost` if the program asks its model about the feedback in a conversation without the turns before.

        Other requests, such as for a title, do not have this turn's prompt.
        """
        if self.continued or not any(self.prompt.strip() in each.content for each in messages):
            return
        self.continued = not self.earlier or any(_repeats(message, self.earlier) for message in messages)
        if not self.continued:
            raise self.lost


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
