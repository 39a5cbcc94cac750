"""The memory of the `recode` agent for one episode: the latest messages, a summary of older ones, and the files seen so far.

Limited in tokens, which are estimated by the characters per token of this model's latest prompt, as counted by the provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_recode.agents.prompt_texts import cut, fence_for, printable
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Message, Model, Reply, Tool, ToolCall
from pytest_recode.models.prompt_size import CHARACTERS, characters_of, room_in, tokens_of
from pytest_recode.records.checkpoint import typed_field

MAX_TOKENS = 40_000
"""Of a memory, however large the model's context window is: every call pays for all of it."""
MAX_TOKENS_UNKNOWN = 30_000
"""Like MAX_TOKENS, where the size of the context window is not known."""
MIN_TOKENS = 1_000
"""Where brief and state fill a window, the provider says so better than an empty memory would."""
MAX_FILE = 16_000
"""Characters of one file kept beside a summary, as of one result."""
MAX_QUOTED = 6_000
"""Characters of an answer or a result shown to the summary's writer."""
MAX_QUOTED_FEEDBACK = 24_000
"""Characters of the message that ends a turn, with its feedback: what the summary must not miss."""
MAX_SUMMARY = 8_000
"""Characters of a summary; a longer one would grow with each round."""
MIN_REPEATED = 200
"""Characters of a file below which it is shown again rather than pointed at."""

SUMMARISE = """\
You keep the notes of an engineer at work on a piece of research code. Write one summary of the work below, for the \
engineer to go on with: what was changed and why, what each hand-in and its feedback showed, what is known of the \
repository, what was tried and did not help, what is open. Facts only, at most 400 words. Do not repeat the task or \
whole files. Do not act."""


@dataclass(slots=True, kw_only=True)
class MemoryEntry:
    """One message. `files` are those that it reads, writes or changes; the value is True if it may contain the whole text.

    `step` is 0 for the message between two turns.
    """

    message: Message
    turn: int
    step: int
    files: dict[str, bool] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"turn {self.turn}, step {self.step}" if self.step else f"the end of turn {self.turn}"


Reads = Callable[[str], str | None]
"""A file of the workspace as it is now; None where it cannot be read."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """The brief is never part of it, so that no summary can lose it. `threshold` and `keep` add limits in messages, if the user sets
    them.

    `files` are those that summarised messages read or changed, as of the summary.
    """

    threshold: int | None = None
    keep: int | None = None
    summary: str = ""
    files: dict[str, str] = field(default_factory=dict)
    entries: list[MemoryEntry] = field(default_factory=list)
    characters: float = CHARACTERS  # to a token

    def shown(self) -> list[Message]:
        """The messages between the brief and the current state."""
        messages = [entry.message for entry in self.entries]
        if not self.summary:
            return messages
        return [Message(role="user", content=self._before()), *messages]

    def _before(self) -> str:
        sections = [f"# Summary of your earlier work\n\n{self.summary}"]
        if self.files:
            sections.append("# Files you have read or changed, as they were when this summary was written")
        for path, text in self.files.items():
            fence, (text, note) = fence_for(text), printable(text)
            note = f"\n{note}" if note else ""
            sections.append(
                f"## {path}\n\n{fence}\n{text.rstrip()}\n{fence}{note}" if text.strip() else f"## {path}\n\n(empty)"
            )
        return "\n\n".join(sections)

    def counted(self, prompt: Sequence[Message], beside: int, tokens: int) -> None:
        """Update the estimate from a prompt for which the provider counted `tokens`. `beside`: characters of the prompt's tools."""
        self.characters = characters_of(prompt, beside, tokens) or self.characters

    def tokens(self, messages: Sequence[Message]) -> int:
        return tokens_of(messages, self.characters)

    def where(self, path: str, text: str) -> str:
        """A description of the message that has the whole text of a file; "" unless it is the latest message about that file. Short texts
        have none."""
        whole = text.strip("\n")
        last = next((entry for entry in reversed(self.entries) if path in entry.files), None)
        if last is None or len(whole) < MIN_REPEATED or not any(whole in each for each in _texts(last.message)):
            return ""
        return (
            "your latest successful `write` of it"
            if last.message.role == "assistant"
            else "the latest result of `read`"
        )

    def holds(self, text: str) -> bool:
        return any(text in entry.message.content for entry in self.entries)

    def state(self) -> Mapping[str, Any]:
        return {
            "summary": self.summary,
            "files": dict(self.files),
            "messages": [asdict(entry) for entry in self.entries],
            "characters": self.characters,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.summary = typed_field(state, "summary", str)
        entries = [_entry(kept) for kept in typed_field(state, "messages", list)]
        self.files = {path: typed_field(state["files"], path, str) for path in typed_field(state, "files", dict)}
        self.characters = typed_field(state, "characters", float)
        self.entries = entries

    def shrink(self, model: Model, limit: int, *, read: Reads, known: Collection[str], now: str) -> Reply | None:
        """Summarise the older messages if there are more than `limit` tokens; None if there are not.

        `known`: files that every prompt shows anyway. `now`: the current feedback. If the model raises, nothing is dropped, unless
        the messages are too long for it to summarise.
        """
        much = self.tokens(self.shown()) > limit
        many = self.threshold is not None and len(self.entries) > self.threshold
        at = self._cut(limit) if much or many else 0
        if not at:
            return None
        reply = summarised(model, self._asked(at, limit, now))
        old, paths = self.entries[:at], self._paths(at, known)
        room = min(MAX_SUMMARY, int(limit * self.characters) // 8)
        self.summary = cut(reply.text.strip() or _plain(self.summary, old), room)
        self.entries = self.entries[at:]
        self.files = {}
        self._keep_files(paths, limit, read)
        return reply

    def forget(self) -> bool:
        """Drop everything but a short summary, without asking the model. Returns whether there was anything else."""
        short = cut(_plain(self.summary, self.entries), MAX_SUMMARY // 8)
        shorter = bool(self.entries or self.files) or len(short) < len(self.summary)
        self.summary, self.entries, self.files = short, [], {}
        return shorter

    def _cut(self, limit: int) -> int:
        """How many messages a summary replaces: whole exchanges, so that no result is separated from its call."""
        starts = [number for number in range(1, len(self.entries)) if self._begins(number)]
        count = self.keep
        if count is None:
            count = len(self.entries) if self.threshold is None else self.threshold * 2 // 3
        last = starts[-1] if starts else 0
        first = max(len(self.entries) - count, 0)
        at = next((start for start in (0, *starts) if start >= first), last)
        while self._tail(at) > limit // 3 and at != last:
            at = next(start for start in starts if start > at)
        return len(self.entries) if self._tail(at) > 5 * limit // 6 else at

    def _begins(self, number: int) -> bool:
        """Whether an exchange begins at this message: an answer, or the message between two turns."""
        roles = [entry.message.role for entry in self.entries[number - 1 : number + 1]]
        return roles[1] == "assistant" or (roles[1] == "user" and roles[0] != "assistant")

    def _tail(self, at: int) -> int:
        return self.tokens([entry.message for entry in self.entries[at:]])

    def _paths(self, at: int, known: Collection[str]) -> list[str]:
        """Files that the first `at` messages show or change, most recent first, except those that a later message shows completely."""
        later = {path for entry in self.entries[at:] for path, whole in entry.files.items() if whole}
        seen = [path for entry in reversed(self.entries) for path in reversed(entry.files)]
        return [path for path in dict.fromkeys([*seen, *self.files]) if path not in later and path not in known]

    def _keep_files(self, paths: Sequence[str], limit: int, read: Reads) -> None:
        """Keep the most recent files, in a third of the limit and in the room that the messages leave."""
        room = int(self.characters * min(limit // 3, 5 * limit // 6 - self.tokens(self.shown())))
        for path in paths:
            text = read(path)
            if text is not None and (taken := len(cut(text, MAX_FILE)) + len(path) + 20) <= room:
                self.files[path] = cut(text, MAX_FILE)
                room -= taken

    def _asked(self, at: int, limit: int, now: str) -> str:
        work = "\n\n".join(_quote(entry) for entry in self.entries[:at])
        sections = [f"# The summary so far\n\n{self.summary}"] if self.summary else []
        sections.append(f"# The work since\n\n{cut(work, int(limit * self.characters))}")
        if now and now not in work:
            sections.append(f"# What is worked on now: the engineer sees this beside your summary\n\n{now}")
        return "\n\n".join(sections)


def summarised(model: Model, work: str) -> Reply:
    """The model's summary of `work`; an empty one if that does not fit into its context window."""
    try:
        return model.complete([Message(role="system", content=SUMMARISE), Message(role="user", content=work)])
    except ModelError as error:
        if error.fault is not ModelFault.CONTEXT:
            raise
        return Reply(text="")


def limit_of(window: int | None, fixed: int, answer: int | None = None) -> int:
    """The limit of a memory in tokens, if the rest of a prompt has `fixed` tokens and the model's context window, if known, is `window`.

    `answer`: the limit of an answer in tokens, if requests have one, which some servers subtract from the window.
    """
    if window is None:
        return MAX_TOKENS_UNKNOWN
    return max(MIN_TOKENS, min(MAX_TOKENS, room_in(window, answer) - fixed))


def size_of_tools(tools: Sequence[Tool]) -> int:
    """In characters."""
    return sum(len(json.dumps([tool.name, tool.description, dict(tool.parameters)])) for tool in tools)


def message_of(stored: Mapping[str, Any]) -> Message:
    calls = [
        ToolCall(**{name: typed_field(call, name, str) for name in call})
        for call in typed_field(stored, "tool_calls", list)
    ]
    fields: dict[str, Any] = {
        name: typed_field(stored, name, bool if name == "failed" else str) for name in stored if name != "tool_calls"
    }
    return Message(**fields, tool_calls=tuple(calls))


def quoted(message: Message, limit: int = MAX_QUOTED) -> str:
    """A message for the model that writes the summary; calls are written as their name and a line per argument."""
    calls = "\n".join("\n".join([call.name, *_lines(call)]) for call in message.tool_calls)
    return cut("\n".join(filter(None, (message.content, calls))), limit)


def _entry(stored: Mapping[str, Any]) -> MemoryEntry:
    files = typed_field(stored, "files", dict)
    return MemoryEntry(
        message=message_of(typed_field(stored, "message", dict)),
        turn=typed_field(stored, "turn", int),
        step=typed_field(stored, "step", int),
        files={path: typed_field(files, path, bool) for path in files},
    )


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    """The arguments of a stored call: a JSON object."""
    given: Mapping[str, Any] = json.loads(call.arguments)
    return given


def _lines(call: ToolCall) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in _arguments(call).items())


def _texts(message: Message) -> Iterator[str]:
    yield message.content
    for call in message.tool_calls:
        yield from (value for value in _arguments(call).values() if isinstance(value, str))


def _quote(entry: MemoryEntry) -> str:
    who = "engineer" if entry.message.role == "assistant" else "result" if entry.step else "researcher"
    limit = MAX_QUOTED if entry.step else MAX_QUOTED_FEEDBACK
    return f"[{entry.place}: {who}]\n{quoted(entry.message, limit)}"


def _plain(before: str, old: Sequence[MemoryEntry]) -> str:
    """The first line of every message: used if the model writes no summary."""
    lines = [entry.message.content.strip().partition("\n")[0][:200] for entry in old]
    return "\n".join(filter(None, (before, *lines)))
