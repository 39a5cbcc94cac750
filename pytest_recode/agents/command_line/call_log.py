"""The transcript's lines of the model calls of a program, in the form of those of `recode`.

Kind, and fields beside `turn` and `step`, which is the number of the call in the turn, in the order in which calls began:

    message   role, content, tool_calls, tool_call_id    each message that the program sends to the model, once; and its answers
    step      planning (the text beside tool calls), actions (the names of the tools), asked_model, usage, finish, thoughts
    action    number, kind, arguments                    each tool call
    result    number, kind, ok, text                     what the program sends the model of it, with a later call; the step is that of
                                                         the tool call: subagents call the model in between
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_recode.agents import Log
from pytest_recode.agents.prompt_texts import cut
from pytest_recode.agents.step_log import clean, reply_fields
from pytest_recode.agents.tools import arguments_in
from pytest_recode.models import Message, Reply, ToolCall, Usage

MAX_LOGGED = 24_000
"""Characters of a message that the transcript keeps."""


@dataclass(slots=True, kw_only=True)
class CallLog:
    """`logged`: digests of the messages that the transcript has, of all turns."""

    log: Log
    turn: int
    logged: set[bytes]
    steps: int = 0  # calls that were answered
    cut_off: int = 0  # calls that the program, or the end of its turn, left before they were answered
    usage: Usage = field(default_factory=Usage)
    answers: list[tuple[str, ...]] = field(default_factory=list)  # text and ids of each answer
    _open: dict[str, list[tuple[int, int, str]]] = field(
        default_factory=dict
    )  # tool calls without a result: step, number and name by id, which several conversations may have

    def request(self, messages: Sequence[Message], asking: int) -> None:
        """Log the messages that the transcript does not have, of the call `asking`. Answers were logged when they were given."""
        names = {call.id: call.name for message in messages for call in message.tool_calls}
        for message in messages:
            if message.role == "assistant":
                continue
            text = clean(cut(message.content, MAX_LOGGED))
            if not self._is_new(message.role, text, message.tool_call_id):
                continue
            step = asking
            if opened := self._open.get(message.tool_call_id):
                name = names.get(message.tool_call_id, "")
                asked = next((call for call in opened if call[2] == name), opened[-1])
                opened.remove(asked)
                step, number, name = asked
                self._line("result", step, {"number": number, "kind": name, "ok": not message.failed, "text": text})
            self._message(replace(message, content=text), step)

    def answer(self, reply: Reply, asked_model: str, step: int) -> None:
        """The answer to the call `step`. `asked_model`: the name that the program gave the model."""
        self.steps += 1
        self.usage += reply.usage
        text = clean(cut(reply.text, MAX_LOGGED))
        self._message(Message(role="assistant", content=text, tool_calls=reply.tool_calls), step)
        names = [call.name for call in reply.tool_calls]
        parts = {"planning": text if names else "", "actions": names, "asked_model": asked_model}
        self._line("step", step, {**parts, **reply_fields(reply)})
        for number, call in enumerate(reply.tool_calls, 1):
            self._line("action", step, {"number": number, "kind": call.name, "arguments": _arguments(call)})
            self._open.setdefault(call.id, []).append((step, number, call.name))
        self.answers.append(
            tuple(each for each in (reply.text.strip(), *(call.id for call in reply.tool_calls)) if each)
        )

    def _is_new(self, *parts: str) -> bool:
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest()
        new = digest not in self.logged
        self.logged.add(digest)
        return new

    def _message(self, message: Message, step: int) -> None:
        calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
        fields = {"role": message.role, "content": message.content, "tool_calls": calls}
        self._line("message", step, {**fields, "tool_call_id": message.tool_call_id})

    def _line(self, kind: str, step: int, fields: Mapping[str, Any]) -> None:
        self.log(kind, {"turn": self.turn, "step": step, **fields})


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    try:
        return arguments_in(call)
    except ValueError:
        return {"unreadable": call.arguments}
