"""The memory of the recode agent: what a summary may replace, whatever was said before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents.memory import MAX_TOKENS, MAX_TOKENS_UNKNOWN, MIN_TOKENS, Memory, MemoryEntry, limit_of
from pytest_recode.models import Message, Reply, ToolCall
from tests.agents.conftest import Open
from tests.agents.played import SUBMIT, Played, block, feedback, shell
from tests.agents.scripted import USAGE, Scripted, acts, answer
from tests.examples import examples

lengths = st.integers(min_value=0, max_value=9_000)


@st.composite
def exchanges(draw: st.DrawFn) -> list[MemoryEntry]:
    """Answers in both protocols with their results, and ends of turns."""
    entries: list[MemoryEntry] = []
    for step in range(1, draw(st.integers(min_value=1, max_value=12)) + 1):
        kind = draw(st.sampled_from(["calls", "text", "turn"]))
        if kind == "calls":
            sizes = draw(st.lists(lengths, min_size=1, max_size=6))
            calls = tuple(
                ToolCall(id=f"s{step}c{number}", name="read", arguments=json.dumps({"path": f"{step}/{number}.py"}))
                for number in range(len(sizes))
            )
            entries.append(
                MemoryEntry(message=Message(role="assistant", content="", tool_calls=calls), turn=1, step=step)
            )
            for number, size in enumerate(sizes):
                result = Message(role="tool", content="r" * size, tool_call_id=f"s{step}c{number}")
                entries.append(MemoryEntry(message=result, turn=1, step=step, files={f"{step}/{number}.py": True}))
        elif kind == "text":
            entries.append(
                MemoryEntry(message=Message(role="assistant", content="a" * draw(lengths)), turn=1, step=step)
            )
            entries.append(MemoryEntry(message=Message(role="user", content="u" * draw(lengths)), turn=1, step=step))
        else:
            entries.append(MemoryEntry(message=Message(role="user", content="over"), turn=1, step=0))
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
    entries: list[MemoryEntry], limit: int, threshold: int | None, keep: int | None
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
    memory, messages = Memory(), [Message(role="user", content="x" * 3_000)]
    memory.counted(messages, 600, 1_200)
    assert memory.tokens(messages) == 1_000 + 4
    for lie, ratio in ((0, 3.0), (1, 4.5), (10**9, 1.0)):
        memory.counted(messages, 600, lie)
        assert memory.characters == ratio


# In a turn

LONG = "def solve(x):\n" + "".join(f"    y{number} = x * {number}\n" for number in range(40)) + "    return 2 * x\n"


def played_with(say: str | Reply) -> tuple[Callable[[Sequence[Message]], str | Reply], list[str]]:
    """The same answer for each step, a numbered summary for whoever asks for one, and what those were asked with."""
    summaries: list[str] = []

    def answers(messages: Sequence[Message]) -> str | Reply:
        if "You keep the notes" not in messages[0].content:
            return say
        summaries.append(messages[1].content)
        return f"SUMMARY {len(summaries)}"

    return answers, summaries


def times(text: str, asked: Sequence[Message]) -> int:
    """How often a prompt has this text."""
    given = [json.loads(call.arguments) for message in asked for call in message.tool_calls]
    values = [value for each in given for value in each.values()]
    return sum(each.count(text.strip()) for each in (*(message.content for message in asked), *values))


def helpers(number: int) -> dict[str, bytes]:
    return {f"lib/part{each}.py": f"# part {each}\n{'value = 1' * 400}\n".encode() for each in range(number)}


def reads(*paths: str) -> Reply:
    return acts(*(("read", {"path": path}) for path in paths))


@pytest.mark.parametrize("native", [False, True])
def test_the_summary_takes_the_place_of_what_it_sums_up(open_walled: Open, native: bool) -> None:
    answers, asked_for = played_with(answer(("run", {"command": "ls lib"}), native=native))
    played = Played(open_walled(), *[answers] * 40, steps=10, native=native, memory_threshold=15)
    assert played.turn() == (10, False)
    assert len(played.log.of("memory")) == len(asked_for) == 1
    assert played.move.usage == sum([USAGE] * 10, USAGE)  # ten steps and one summary
    memory = played.log.of("memory")[0]
    assert memory["messages"] == 16 - 10  # two thirds of the threshold stay
    assert memory["summary"] == "SUMMARY 1"
    assert memory["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5}
    final = played.model.asked[-1]
    assert "The paper says: solve(x) is 2 x." in final[1].content
    assert "# Summary of your earlier work\n\nSUMMARY 1" in final[1].content
    assert "Summary of your earlier work" not in played.prompt(0)
    played.turn(feedback("Half right."))
    assert "# The summary so far\n\nSUMMARY 1" in asked_for[1]
    assert "# Feedback on turn 1\n\nHalf right." in played.last()


@pytest.mark.parametrize("native", [False, True])
def test_large_messages_are_summarised_before_there_are_many(open_walled: Open, native: bool) -> None:
    answers, summaries = played_with(answer(("run", {"command": f"cat big {'x' * 20_000}"}), native=native))
    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, *[answers] * 20, steps=8, native=native)
    played.turn()
    assert len(played.log.of("memory")) == len(summaries) > 0
    assert max(sum(len(message.content) for message in asked) for asked in played.model.asked) < 200_000
    assert "SUMMARY" in played.model.asked[-1][1].content


def test_a_summary_does_not_part_a_tool_call_from_its_result(open_walled: Open) -> None:
    answers, _ = played_with(acts("list", "list", "list"))
    played = Played(open_walled(), *[answers] * 20, steps=12, native=True, memory_threshold=15)
    played.turn()
    assert played.log.of("memory")
    for asked in played.model.asked:
        assert not unanswered(asked)
        ids = [call.id for message in asked for call in message.tool_calls]
        assert len(ids) == len(set(ids))


def test_an_empty_summary_is_replaced_by_what_was_done(open_walled: Open) -> None:
    def answers(messages: Sequence[Message]) -> str:
        return "  " if "You keep the notes" in messages[0].content else shell("ls lib")

    played = Played(open_walled(), *[answers] * 20, steps=10, memory_threshold=15)
    played.turn()
    assert "Result of run ls lib:" in played.log.of("memory")[0]["summary"]


def test_how_much_is_remembered_is_for_the_run_to_say(open_walled: Open) -> None:
    answers, _ = played_with(shell("ls lib"))
    played = Played(open_walled(), *[answers] * 40, steps=6, memory_threshold=4, memory_keep=3)
    played.turn()
    # two messages a step, which stay together: at most three of the six before the fourth step are one step's
    assert [line["messages"] for line in played.log.of("memory")] == [4, 4]


def test_what_a_summary_drops_is_still_in_the_transcript(open_walled: Open) -> None:
    """Read back as a person would: the messages that were sent once and then replaced."""

    def answers(messages: Sequence[Message]) -> Reply:
        if "You keep the notes" in messages[0].content:
            return Reply(text="S", usage=USAGE)
        step = re.findall(r"Step (\d+) of", messages[-1].content)[-1]
        return reads(f"file-{step}.py")

    played = Played(open_walled(), *[answers] * 40, steps=9, native=True, memory_threshold=6, memory_keep=2)
    played.turn()
    assert "file-1.py" not in played.prompt()
    kept = [line for line in played.log.of("message") if line["step"] == 1]
    assert ['{"path": "file-1.py"}'] in [[call["arguments"] for call in line["tool_calls"]] for line in kept]
    assert any(line["content"].startswith("Result of read file-1.py:\nRefused: ") for line in kept)
    dropped = sum(line["messages"] for line in played.log.of("memory"))
    assert dropped + len(played.agent.memory.entries) == 2 * 9


def test_a_file_that_was_just_written_or_read_is_in_the_prompt_once(open_walled: Open) -> None:
    played = Played(
        open_walled(),
        acts(("write", {"path": "./solver.py", "text": LONG})),
        acts(("edit", {"path": "solver.py", "old": "return 2 * x", "new": "return x + x"})),
        acts(("read", {"path": "solver.py"})),
        acts(("run", {"command": "sed -i 's/x + x/x * 2/' solver.py"})),
        *[acts("submit")] * 3,
        steps=5,
    )
    played.turn()
    edited = LONG.replace("return 2 * x", "return x + x")
    ran = LONG.replace("return 2 * x", "return x * 2")
    shown = [[times(text, asked) for text in (LONG, edited, ran)] for asked in played.model.asked]
    assert shown == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]]
    above = "## solver.py\n\n(not repeated here: it is exactly as in"
    assert f"{above} your latest successful `write` of it, above)" in played.last(1)
    assert f"{above} the latest result of `read`, above)" in played.last(3)
    played.turn(feedback("Half right."))
    assert times(ran, played.model.asked[-1]) == 1


def test_a_file_that_a_block_wrote_is_in_the_prompt_once(open_walled: Open) -> None:
    line = "return 2 * x\n"
    change = f"<<<<<<< SEARCH\n    {line}=======\n    return x + x\n>>>>>>> REPLACE\n"
    played = Played(open_walled(), block(LONG), block(change), shell("cat solver.py"), SUBMIT)
    played.turn()
    edited = LONG.replace("return 2 * x", "return x + x")
    shown = [[times(text, asked) for text in (LONG, edited)] for asked in played.model.asked]
    # a command shows a file without being known to: it is there twice then
    assert shown == [[0, 0], [1, 0], [1, 1], [1, 2]]
    assert "(not repeated here: it is exactly as in your latest successful `write` of it, above)" in played.last(1)


@pytest.mark.parametrize("native", [False, True])
def test_a_long_answer_whose_middle_is_cut_does_not_stand_for_the_file(open_walled: Open, native: bool) -> None:
    long = ("write", {"path": "solver.py", "text": f"{LONG}{'# end' * 10_000}\n"})
    played = Played(open_walled(), answer(long, native=native), answer("submit", native=native))
    played.turn()
    assert times("characters left out", played.model.asked[-1]) > 0
    assert "not repeated here" not in played.last()


def test_many_reads_in_few_answers_are_remembered(open_walled: Open) -> None:
    files = helpers(18)
    answers = [reads(*list(files)[start : start + 6]) for start in (0, 6, 12)]
    workspace = open_walled(files={"solver.py": b"", **files})
    played = Played(workspace, *answers, acts("submit"))
    played.turn()
    assert played.log.of("memory") == []
    assert all(data.decode() in played.prompt() for data in files.values())


def test_files_that_a_summary_drops_stay_as_they_are_then(open_walled: Open) -> None:
    """But for what every prompt shows: targets, paper and instruction."""

    def summary(messages: Sequence[Message]) -> str:
        assert "You keep the notes" in messages[0].content
        return "SUMMARY"

    files = {"lib/a.py": b"a = 1\n" * 100, "lib/b.py": b"b = 1\n" * 100, "solver.py": LONG.encode()}
    played = Played(
        open_walled(files=files),
        reads("lib/a.py", "lib/b.py", "solver.py", "paper.md"),
        acts(("run", {"command": "sed -i 's/b = 1/b = 2/' lib/b.py; cat lib/a.py > /dev/null"})),
        acts("list"),
        summary,
        reads("lib/a.py"),
        acts("submit"),
        steps=5,
        memory_threshold=8,
        memory_keep=2,
    )
    played.turn()
    [memory] = played.log.of("memory")
    assert memory["files"] == {"lib/b.py": "b = 2\n" * 100, "lib/a.py": "a = 1\n" * 100}
    after = played.model.asked[4][1].content
    title = "# Files you have read or changed, as they were when this summary was written"
    assert f"SUMMARY\n\n{title}\n\n## lib/b.py\n\n```\nb = 2\n" in after
    assert after.count("# Paper") == 1
    assert times(LONG, played.model.asked[4]) == 1  # as the target's present content


def test_a_memory_keeps_to_the_models_window(open_walled: Open) -> None:
    def answers(messages: Sequence[Message]) -> str | Reply:
        said = sum(len(message.content) for message in messages)
        assert said / 4.5 < 8_000  # as many characters to a token as are assumed, where fewer were counted
        return "SUMMARY" if "You keep the notes" in messages[0].content else reads("lib/part0.py", "lib/part1.py")

    workspace = open_walled(files={"solver.py": b"", **helpers(2)})
    played = Played(workspace, *[answers] * 60, steps=20, native=True, window=8_000)
    played.turn()
    assert played.log.of("memory")
    unknown = Played(workspace, *[answers] * 3, native=True)
    unknown.turn()
    assert unknown.log.of("memory") == []


@pytest.mark.parametrize("native", [False, True])
def test_a_summarys_writer_sees_every_hand_in_and_all_feedback(open_walled: Open, native: bool) -> None:
    answers, seen = played_with(answer("submit", native=native))
    played = Played(open_walled(), *[answers] * 20, steps=1, native=native, memory_threshold=7)
    for turn, text in enumerate(["", "The factor is wrong. " * 1000, "The sign is wrong.", "Nearly."]):
        played.turn(feedback(text, turn) if turn else None)
    [asked] = seen
    assert "[the end of turn 1: researcher]\nTurn 1 is over: the work was handed in, and did not pass all" in asked
    assert ("The factor is wrong. " * 1000).strip() in asked
    assert "Nearly." in asked  # what is worked on now, which stays
    assert "# Feedback on turn 3\n\nNearly." in played.last()
    assert asked.index("[turn 1, step 1: engineer]") < asked.index("[the end of turn 1: researcher]")


def test_feedback_that_is_worked_on_outlives_a_summary(open_walled: Open) -> None:
    answers, _ = played_with(shell("ls"))
    played = Played(open_walled(), *[answers] * 40, steps=6, memory_threshold=4)
    played.turn()
    played.turn(feedback("The sign is wrong."))
    for asked in played.model.asked:
        if "in turn 2 of 10" in asked[-1].content:
            assert times("# Feedback on turn 1\n\nThe sign is wrong.", asked) == 1
