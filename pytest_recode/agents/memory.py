"""What the `recode` agent remembers of an episode: its latest messages, and a summary of those before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_recode.agents.prompts import cut
from pytest_recode.checkpoint import was
from pytest_recode.models import Message, Model, Reply, ToolCall

THRESHOLD = 15
"""Messages past which the older ones are summarised (RECODE-H's `memory_threshold`)."""
KEEP = 10
"""Latest messages that stay word for word (RECODE-H's `memory_to_keep`)."""
MAX_CHARACTERS = 120_000
"""Of all messages, some 30,000 tokens: past it they are summarised as well, or the prompt outgrows small models."""
MAX_QUOTED = 6_000
"""Characters of one message shown to the summary's writer: six such messages are some 10,000 tokens."""
MAX_SUMMARY = 8_000
"""Characters of a summary; a longer one would grow with each round."""

SUMMARISE = """\
You keep the notes of an engineer at work on a piece of research code. Write one summary of the work below, for the \
engineer to go on with: what was changed and why, what each hand-in and its feedback showed, what is known of the \
repository, what was tried and did not help, what is open. Facts only, at most 400 words. Do not repeat the task or \
whole files. Do not act."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """`messages` never holds the brief, so no summary can lose it."""

    threshold: int = THRESHOLD
    keep: int = KEEP
    summary: str = ""
    messages: list[Message] = field(default_factory=list)

    def shown(self) -> list[Message]:
        """What goes between the brief and the present state."""
        if not self.summary:
            return list(self.messages)
        return [Message(role="user", content=f"# Summary of your earlier work\n\n{self.summary}"), *self.messages]

    def state(self) -> Mapping[str, Any]:
        return {"summary": self.summary, "messages": [asdict(message) for message in self.messages]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.summary = was(state, "summary", str)
        self.messages = [_message(message) for message in was(state, "messages", list)]

    def shrink(self, model: Model) -> Reply | None:
        """Summarise what is over the threshold; None where nothing is. Keeps all where the model raises."""
        if len(self.messages) <= self.threshold and _size(self.messages) <= MAX_CHARACTERS:
            return None
        at = max(len(self.messages) - self.keep, 0)
        while _size(self.messages[at:]) > MAX_CHARACTERS // 2 and at < len(self.messages) - 2:
            at += 1
        while at < len(self.messages) and self.messages[at].role == "tool":
            at += 1  # a tool's result may not stand without the call it answers
        if not at:
            return None
        old = self.messages[:at]
        quoted = "\n\n".join(_quote(message) for message in old)
        before = f"# The summary so far\n\n{self.summary}\n\n" if self.summary else ""
        reply = model.complete(
            [
                Message(role="system", content=SUMMARISE),
                Message(role="user", content=f"{before}# The work since\n\n{quoted}"),
            ]
        )
        self.summary = cut(reply.text.strip(), MAX_SUMMARY) or _plain(self.summary, old)
        del self.messages[:at]
        return reply


def _message(kept: Mapping[str, Any]) -> Message:
    calls = [ToolCall(**{name: was(call, name, str) for name in call}) for call in was(kept, "tool_calls", list)]
    texts = {name: was(kept, name, str) for name in kept if name != "tool_calls"}
    return Message(**texts, tool_calls=tuple(calls))


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message.content) + sum(len(call.arguments) for call in message.tool_calls) for message in messages)


def _quote(message: Message) -> str:
    who = "engineer" if message.role == "assistant" else "result"
    calls = "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)
    said = "\n".join(filter(None, (message.content, calls)))
    return f"[{who}]\n{cut(said, MAX_QUOTED)}"


def _plain(before: str, old: Sequence[Message]) -> str:
    """Where the model writes no summary: the first line of every message, rather than nothing."""
    lines = [message.content.strip().partition("\n")[0][:200] for message in old]
    return cut("\n".join(filter(None, (before, *lines))), MAX_SUMMARY)
