"""What the `recode-h` agent remembers: as in RECODE-H's own code, its latest messages and a summary of those before.

Limited in messages on purpose: the numbers are the original's (docs/reference/recode-h.md). `recode` has another memory, limited in tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pytest_recode.agents.memory import MAX_SUMMARY, message_of, quoted, summarised
from pytest_recode.agents.prompt_texts import cut
from pytest_recode.models import Message, Model, Reply
from pytest_recode.models.prompt_size import CHARACTERS
from pytest_recode.records.checkpoint import typed_field

MAX_CHARACTERS = 120_000
"""Of all messages, some 30,000 tokens: past it they are summarised as well, or the prompt outgrows small models."""


@dataclass(slots=True, kw_only=True)
class MessageHistory:
    """Past `threshold` messages the older ones are summarised; the latest `keep` stay. None of them is the brief."""

    threshold: int
    keep: int
    summary: str = ""
    messages: list[Message] = field(default_factory=list)

    def shown(self) -> list[Message]:
        if not self.summary:
            return list(self.messages)
        return [Message(role="user", content=f"# Summary of your earlier work\n\n{self.summary}"), *self.messages]

    def replace(self, old: str, new: str) -> bool:
        """Replace the content `old` of a message by `new`. Returns whether there was one."""
        for at, message in enumerate(self.messages):
            if message.content == old:
                self.messages[at] = replace(message, content=new)
                return True
        return False

    def state(self) -> Mapping[str, Any]:
        return {"summary": self.summary, "messages": [asdict(message) for message in self.messages]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.summary = typed_field(state, "summary", str)
        self.messages = [message_of(message) for message in typed_field(state, "messages", list)]

    def shrink(self, model: Model) -> Reply | None:
        """Summarise what is over the threshold; None where nothing is. Keeps all where the model raises."""
        if len(self.messages) <= self.threshold and _size(self.messages) <= MAX_CHARACTERS:
            return None
        at = max(len(self.messages) - self.keep, 0)
        while _size(self.messages[at:]) > MAX_CHARACTERS // 2 and at < len(self.messages) - 2:
            at += 1
        return self._summarise(model, at) if at else None

    def shrink_to(self, model: Model, window: int) -> Reply:
        """Summarise all messages, of which a prompt of `window` tokens has no room for more than a half."""
        return self._summarise(model, len(self.messages), int(window * CHARACTERS) // 2)

    def forget(self) -> bool:
        """Drop everything but a short summary, without asking the model. Returns whether there was anything else."""
        short = cut(_plain(self.summary, self.messages), MAX_SUMMARY // 8)
        shorter = bool(self.messages) or len(short) < len(self.summary)
        self.summary, self.messages = short, []
        return shorter

    def _summarise(self, model: Model, at: int, room: int | None = None) -> Reply:
        """Replace the first `at` messages by a summary, for which the model reads at most `room` characters of them."""
        old = self.messages[:at]
        work = "\n\n".join(f"[{_WHO[message.role]}]\n{quoted(message)}" for message in old)
        work = work if room is None else cut(work, room)
        before = f"# The summary so far\n\n{self.summary}\n\n" if self.summary else ""
        reply = summarised(model, f"{before}# The work since\n\n{work}")
        self.summary = cut(reply.text.strip(), MAX_SUMMARY) or _plain(self.summary, old)
        del self.messages[:at]
        return reply


_WHO = {"user": "result", "assistant": "engineer"}


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


def _plain(before: str, old: Sequence[Message]) -> str:
    """Where the model writes no summary: the first line of every message, rather than nothing."""
    lines = [message.content.strip().partition("\n")[0][:200] for message in old]
    return cut("\n".join(filter(None, (before, *lines))), MAX_SUMMARY)
