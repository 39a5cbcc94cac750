"""The memory of the recode agent: what a summary may replace, whatever was said before."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents.memory import MAX_TOKENS, MAX_TOKENS_UNKNOWN, MIN_TOKENS, Entry, Memory, limit_of
from pytest_recode.models import Message, ToolCall
from tests.agents.scripted import Scripted
from tests.examples import examples

lengths = st.integers(min_value=0, max_value=9_000)


@st.composite
def exchanges(draw: st.DrawFn) -> list[Entry]:
    """Answers in both protocols with their results, and ends of turns."""
    entries: list[Entry] = []
    for step in range(1, draw(st.integers(min_value=1, max_value=12)) + 1):
        kind = draw(st.sampled_from(["calls", "text", "turn"]))
        if kind == "calls":
            sizes = draw(st.lists(lengths, min_size=1, max_size=6))
            made = tuple(
                ToolCall(id=f"s{step}c{number}", name="read", arguments=json.dumps({"path": f"{step}/{number}.py"}))
                for number in range(len(sizes))
            )
            entries.append(Entry(message=Message(role="assistant", content="", tool_calls=made), turn=1, step=step))
            for number, size in enumerate(sizes):
                result = Message(role="tool", content="r" * size, tool_call_id=f"s{step}c{number}")
                entries.append(Entry(message=result, turn=1, step=step, files={f"{step}/{number}.py": True}))
        elif kind == "text":
            entries.append(Entry(message=Message(role="assistant", content="a" * draw(lengths)), turn=1, step=step))
            entries.append(Entry(message=Message(role="user", content="u" * draw(lengths)), turn=1, step=step))
        else:
            entries.append(Entry(message=Message(role="user", content="over"), turn=1, step=0))
    return entries


def unanswered(messages: Sequence[Message]) -> bool:
    """Whether a result stands without its call, or a call without its result."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if not waiting or waiting.pop(0) != message.tool_call_id:
                return True
            continue
        if waiting:
            return True
        waiting = [call.id for call in message.tool_calls]
    return bool(waiting)


@examples(300)
@given(
    entries=exchanges(),
    limit=st.integers(min_value=MIN_TOKENS, max_value=20_000),
    threshold=st.one_of(st.none(), st.integers(min_value=2, max_value=20)),
    keep=st.one_of(st.none(), st.integers(min_value=1, max_value=19)),
)
def test_a_summary_parts_nothing_and_leaves_the_limit(
    entries: list[Entry], limit: int, threshold: int | None, keep: int | None
) -> None:
    memory = Memory(threshold=threshold, keep=keep, entries=list(entries))
    much = memory.tokens(memory.shown()) > limit
    many = threshold is not None and len(entries) > threshold
    reply = memory.shrink(
        Scripted(["S" * 20_000]), limit, read=lambda path: path * 100, known=frozenset(), now="Feedback."
    )
    if not (much or many):
        assert reply is None
    if much:
        assert reply is not None or len(entries) == len(memory.entries)
        assert memory.tokens(memory.shown()) <= limit
    assert memory.entries == entries[len(entries) - len(memory.entries) :]
    assert not unanswered([entry.message for entry in memory.entries])
    if reply is not None:
        again = Memory()
        again.restore(json.loads(json.dumps(memory.state())))
        assert again.shown() == memory.shown()


def test_a_limit_leaves_room_for_the_brief_and_the_answer() -> None:
    assert limit_of(None, 100_000) == MAX_TOKENS_UNKNOWN
    assert limit_of(200_000, 20_000) == MAX_TOKENS
    assert limit_of(32_000, 10_000) == 32_000 - 8_000 - 10_000
    assert limit_of(8_000, 8_000) == MIN_TOKENS


def test_tokens_are_counted_as_the_provider_counts_them() -> None:
    memory, said = Memory(), [Message(role="user", content="x" * 3_000)]
    memory.counted(said, 600, 1_200)
    assert memory.tokens(said) == 1_000 + 4
    for lie, ratio in ((0, 3.0), (1, 4.5), (10**9, 1.0)):
        memory.counted(said, 600, lie)
        assert memory.characters == ratio
