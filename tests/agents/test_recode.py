"""The recode agent, with a scripted model and a real workspace."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from pytest_recode.agents import AgentContext
from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.memory import KEEP, THRESHOLD
from pytest_recode.agents.protocol import render
from pytest_recode.agents.recode import KIND, ReCode
from pytest_recode.agents.tools import TOOLS
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, UserError
from pytest_recode.models import Message, Reply, Usage
from tests.agents.conftest import Open
from tests.agents.scripted import USAGE, Answer, Logged, Scripted, a_brief, a_context, calls

RIGHT = "def solve(x):\n    return 2 * x"
SUBMIT = "### Action: submit"


def write(text: str, path: str = "solver.py") -> str:
    return render(Step(planning="Write it.", actions=(Action(kind="write", arguments={"path": path, "text": text}),)))


class Played:
    """An agent of its own for one test, turn by turn."""

    def __init__(self, workspace: SandboxWorkspace, *answers: Answer, steps: int = 3, native: bool = False) -> None:
        self.model = Scripted(answers, native_tools=native)
        self.log = Logged()
        self.agent = KIND.make(a_context(self.model, steps=steps, log=self.log))
        self.workspace = workspace
        self.brief = a_brief()

    def turn(self, feedback: Feedback | None = None) -> tuple[int, bool, Usage]:
        move = self.agent.act(self.brief, feedback, self.workspace)
        return move.steps, move.submitted, move.usage

    def last(self, call: int = -1) -> str:
        return self.model.asked[call][-1].content

    def results(self) -> list[str]:
        return [fields["text"] for fields in self.log.of("result")]


def feedback(text: str, turn: int = 1) -> Feedback:
    return Feedback(level=2, text=text, turn=turn)


# What it does


def test_it_writes_and_submits(open_workspace: Open) -> None:
    played = Played(open_workspace(), write(RIGHT), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    assert played.workspace.targets() == {"solver.py": RIGHT.encode() + b"\n"}


def test_every_action_tells_what_it_saw(open_walled: Open) -> None:
    actions = [
        Action(kind="list"),
        Action(kind="read", arguments={"path": "lib/helpers.py"}),
        Action(kind="grep", arguments={"pattern": "def", "path": "lib"}),
        Action(kind="search", arguments={"query": "double a number"}),
        Action(kind="write", arguments={"path": "new.py", "text": "a\nb"}),
        Action(kind="edit", arguments={"path": "solver.py", "old": "raise NotImplementedError", "new": "return 2 * x"}),
        Action(kind="run", arguments={"command": "python -c 'import solver; print(solver.solve(4))'; exit 3"}),
    ]
    played = Played(open_walled(), render(Step(actions=tuple(actions))), steps=1)
    assert played.turn() == (1, False, USAGE)
    assert played.results() == [
        "README.md\nlib/helpers.py\nsolver.py",
        "def double(x):\n    return 2 * x\n",
        "lib/helpers.py:1: def double(x):",
        "# lib/helpers.py, lines 1 to 2: double\ndef double(x):\n    return 2 * x",
        "Wrote new.py (2 lines).",
        "Edited solver.py at line 2.",
        "Exit status 3.\n8\n",
    ]


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (
            "x",
            "Refused: the old text occurs 2 times in lib/helpers.py. Give more lines around it, so that it is unique.",
        ),
        ("y", "Refused: the old text does not occur in lib/helpers.py. It must be exact, blanks included."),
        (
            "return 2 * x\n# end",
            "Refused: the old text does not occur in lib/helpers.py (line 2 is like its first line). "
            "It must be exact, blanks included.",
        ),
    ],
)
def test_an_edit_that_is_not_unique_is_refused(open_walled: Open, old: str, words: str) -> None:
    edit = Action(kind="edit", arguments={"path": "lib/helpers.py", "old": old, "new": "z"})
    played = Played(open_walled(), render(Step(actions=(edit, Action(kind="submit")))), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    assert played.results()[0] == words
    assert "Result of submit:\nNot done, since an action before it was refused." in played.last()


def test_an_edit_keeps_the_line_ends_of_the_file(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("solver.py", "a\r\nb\r\nc\r\n")
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": "a\nb", "new": "x\ny"})
    Played(workspace, render(Step(actions=(edit,))), steps=1).turn()
    assert workspace.targets() == {"solver.py": b"x\r\ny\r\nc\r\n"}


def test_a_fence_around_a_python_file_is_taken_off(open_walled: Open) -> None:
    workspace = open_walled()
    Played(workspace, write(f"```python\n{RIGHT}\n```"), write("```\nx\n```", "notes.md"), steps=2).turn()
    assert workspace.targets() == {"solver.py": RIGHT.encode() + b"\n"}
    assert workspace.read("notes.md") == "```\nx\n```\n"


def test_nasty_code_arrives_as_it_was_meant(open_walled: Open) -> None:
    code = (
        "try:\n    import x\nexcept ImportError:\n    x = None\naction: int = 1\n"
        "### Action: submit\nEND_OF_TEXT\n'''\n```\n'''"
    )
    played = Played(open_walled(), write(code), steps=1)
    played.turn()
    assert played.workspace.targets() == {"solver.py": code.encode() + b"\n"}


def test_steps_that_run_out_hand_in_what_is_there(open_walled: Open) -> None:
    played = Played(open_walled(), write("one"), write("two"), write("three"), "never asked")
    assert played.turn()[:2] == (3, False)
    assert len(played.model.asked) == 3
    assert played.workspace.targets() == {"solver.py": b"three\n"}


def test_the_model_is_asked_before_any_sandbox_starts(open_walled: Open) -> None:
    workspace = open_walled()

    def bad_key(_: Sequence[Message]) -> str:
        assert workspace._connection is None
        raise ModelError(ModelFault.AUTH, "scripted", "no such key")

    with pytest.raises(ModelError):
        Played(workspace, bad_key).turn()
    assert workspace._connection is None


def test_a_spent_budget_passes_through(open_walled: Open) -> None:
    def spent(_: Sequence[Message]) -> str:
        raise BudgetSpent("no more")

    with pytest.raises(BudgetSpent):
        Played(open_walled(), spent).turn()


def test_without_a_model_it_cannot_be_made() -> None:
    with pytest.raises(UserError, match=r"^agent 'recode' needs a model: give one with --recode-model"):
        KIND.make(a_context(None))


# What it tells the model


def test_the_prompt_holds_the_brief_the_state_and_the_budget(open_walled: Open) -> None:
    played = Played(open_walled(), write("x = 1"), SUBMIT)
    played.turn()
    first, second = ("\n\n".join(message.content for message in asked) for asked in played.model.asked)
    for words in (
        "The paper says: solve(x) is 2 x.",
        "Write solve(x).",
        "# Targets (the files you must write)\n\nsolver.py",
        "solver.solve",
        "README.md\nlib/helpers.py\nsolver.py",
        "### Action: write",
        "None yet: this is the first turn.",
    ):
        assert words in first
        assert words in second
    assert "raise NotImplementedError" in first
    assert "## solver.py\n\n```\nx = 1\n```" in second
    assert "Step 1 of 3 in turn 1 of 10. After step 3 the targets are handed in as they are; `submit` does it" in first
    assert "Step 2 of 3 in turn 1 of 10." in second
    assert "Result of write:\nWrote solver.py (1 lines)." in second


def test_the_last_step_is_told(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT, steps=1)
    played.turn()
    assert played.last().endswith(
        "Step 1 of 1 in turn 1 of 10. "
        "This is the last step of the turn: after it the targets are handed in as they are."
    )


def test_without_a_paper_there_is_none(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.brief = a_brief(paper=None)
    played.turn()
    assert "# Paper" not in played.model.asked[0][1].content


def test_feedback_of_each_turn_arrives_and_is_remembered(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT, SUBMIT, SUBMIT)
    played.turn()
    played.turn(feedback("The factor is wrong.", 1))
    assert "# Feedback on turn 1\n\nThe factor is wrong." in played.last()
    assert "Turn 1 is over: the work was handed in, and did not pass all hidden tests." in played.last()
    assert "in turn 2 of 10" in played.last()
    played.turn(feedback("The sign is wrong.", 2))
    assert "# Feedback on turn 2\n\nThe sign is wrong." in played.last()
    assert "The feedback worked on in it was:\n\nThe factor is wrong." in played.last()


def test_a_target_that_is_none_is_told(open_walled: Open) -> None:
    run = Action(kind="run", arguments={"command": "rm solver.py; ln -s README.md solver.py"})
    played = Played(open_walled(), render(Step(actions=(run,))), SUBMIT)
    played.turn()
    assert (
        "## solver.py\n\n(absent: it does not exist, or is no regular file, or is larger than 1 MiB)" in played.last()
    )


def test_messages_of_the_user_never_follow_each_other(open_walled: Open) -> None:
    played = Played(open_walled(), write("a"), "garbage", SUBMIT, SUBMIT)
    played.turn()
    played.turn(feedback("No."))
    for asked in played.model.asked:
        roles = [message.role for message in asked]
        assert roles[0] == "system"
        assert all(one != other for one, other in pairwise(roles)), roles


# Answers that cannot be used


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "Your answer was empty."),
        ("I'm sorry, but I can't assist with that.", "Your answer holds no action"),
        ("\x00\udcff garbage \ud800", "Your answer holds no action"),
        ("x" * 10_000_000, "Your answer has 10000000 characters; at most 1000000 are read."),
        (Reply(text="### Action: write\npath: a\ntext <<E\nx", finish="length"), "has no last line `E`"),
        ("### Action: read\npath: ../../etc/passwd", "Refused: ../../etc/passwd is refused"),
    ],
    ids=["empty", "refusal", "garbage", "huge", "cut-off", "escape"],
)
def test_a_bad_answer_costs_a_step_and_is_answered(open_walled: Open, answer: str | Reply, words: str) -> None:
    played = Played(open_walled(), answer, SUBMIT)
    steps, submitted, _ = played.turn()
    assert (steps, submitted) == (2, True)
    assert words in played.last()
    assert sum(len(message.content) for message in played.model.asked[1]) < 60_000
    for message in played.model.asked[1]:
        message.content.encode()
        assert message.content


def test_an_answer_cut_off_by_the_provider_says_so(open_walled: Open) -> None:
    played = Played(open_walled(), Reply(text="### Action", finish="length", usage=USAGE), SUBMIT)
    played.turn()
    assert "This answer could not be used, and cost a step." in played.last()
    assert "(It was cut off at the model's limit of output.)" in played.last()


def test_only_bad_answers_leave_the_targets_as_they_are(open_walled: Open) -> None:
    played = Played(open_walled(), "no", "no", "no")
    assert played.turn()[:2] == (3, False)
    assert played.workspace.targets() == {"solver.py": a_brief().repo["solver.py"]}
    assert played.workspace._connection is None


def test_large_results_are_cut_with_a_note(open_walled: Open) -> None:
    run = Action(kind="run", arguments={"command": "head -c 50000 /dev/zero | tr '\\0' y"})
    played = Played(open_walled(), render(Step(actions=(run,))), SUBMIT)
    played.turn()
    assert "of 50015 characters left out ...]" in played.last()
    assert len(played.results()[0]) < 17_000


# Native tools


def arguments(**given: str) -> str:
    return json.dumps(given)


def test_tool_calls_and_their_results_go_back_as_such(open_walled: Open) -> None:
    both = calls(("write", arguments(path="solver.py", text=RIGHT, reflection="Easy.")), ("list", ""), text="Now.")
    played = Played(open_walled(), both, calls(("submit", "{}")), native=True)
    assert played.turn()[:2] == (2, True)
    assert played.model.tools[0] == TOOLS
    roles = [message.role for message in played.model.asked[1]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    answer, wrote, listed = played.model.asked[1][2:5]
    assert [call.name for call in answer.tool_calls] == ["write", "list"]
    assert (wrote.tool_call_id, wrote.content) == ("turn1step1call0", "Wrote solver.py (2 lines).")
    assert (listed.tool_call_id, listed.content) == ("turn1step1call1", "README.md\nlib/helpers.py\nsolver.py")
    assert played.log.of("step")[0]["reflection"] == "Now."
    assert "<<END_OF_TEXT" not in played.model.asked[0][0].content


def test_each_tool_call_gets_a_result_also_where_none_can_be_used(open_walled: Open) -> None:
    bad = calls(("read", "{oops"), ("list", "{}"))
    played = Played(open_walled(), bad, "plain words", calls(("submit", "")), native=True)
    assert played.turn()[:2] == (3, True)
    answer, first, second = played.model.asked[1][2:5]
    assert [call.arguments for call in answer.tool_calls] == ["{}", "{}"]
    assert "The arguments of `read` are no JSON" in first.content
    assert second.content == "Not done: see the first result."
    assert "Your answer calls no tool." in played.last()


def test_huge_tool_calls_are_cut_and_stay_json(open_walled: Open) -> None:
    huge = calls(("write", arguments(path="solver.py", text="x = 1\n" * 100_000)))
    played = Played(open_walled(), huge, calls(("submit", "")), native=True)
    played.turn()
    sent = played.model.asked[1][2].tool_calls[0].arguments
    assert len(sent) < 60_000
    assert json.loads(sent)["path"] == "solver.py"
    assert played.workspace.targets() == {"solver.py": b"x = 1\n" * 100_000}


# Memory


def script(summaries: list[str]) -> Answer:
    """Garbage to a step, and the next summary to whoever asks for one."""

    def answer(messages: Sequence[Message]) -> str:
        if "You keep the notes" not in messages[0].content:
            return "garbage"
        summaries.append(messages[1].content)
        return f"SUMMARY {len(summaries)}"

    return answer


@pytest.mark.parametrize("native", [False, True])
def test_the_summary_takes_the_place_of_what_it_sums_up(open_walled: Open, native: bool) -> None:
    asked_for: list[str] = []
    played = Played(open_walled(), *[script(asked_for)] * 40, steps=10, native=native)
    steps, submitted, usage = played.turn()
    assert (steps, submitted) == (10, False)
    assert len(played.log.of("memory")) == len(asked_for) == 1
    assert usage == sum([USAGE] * 10, USAGE)  # ten steps and one summary
    memory = played.log.of("memory")[0]
    assert memory["messages"] == THRESHOLD + 1 - KEEP
    assert memory["summary"] == "SUMMARY 1"
    assert memory["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5}
    final = played.model.asked[-1]
    assert "The paper says: solve(x) is 2 x." in final[1].content
    assert "# Summary of your earlier work\n\nSUMMARY 1" in final[1].content
    assert not any("Summary of your earlier work" in message.content for message in played.model.asked[0])
    played.turn(feedback("Half right."))
    assert "# The summary so far\n\nSUMMARY 1" in asked_for[1]
    assert "# Feedback on turn 1\n\nHalf right." in played.last()


def test_large_messages_are_summarised_before_there_are_many(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        return (
            "SUMMARY"
            if "You keep the notes" in messages[0].content
            else "### Action: run\ncommand: cat big " + "x" * 20_000
        )

    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, *[answer] * 20, steps=8)
    played.turn()
    assert played.log.of("memory")
    assert max(sum(len(message.content) for message in asked) for asked in played.model.asked) < 200_000
    assert "SUMMARY" in played.model.asked[-1][1].content


def test_results_of_one_answer_share_the_room(open_walled: Open) -> None:
    read = Action(kind="read", arguments={"path": "big"})
    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, render(Step(actions=(read,) * 8)), steps=1)
    played.turn()
    assert len(played.results()) == 8
    assert sum(map(len, played.results())) < 42_000


def test_a_summary_does_not_part_a_tool_call_from_its_result(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str | Reply:
        return "S" if "You keep the notes" in messages[0].content else calls(("list", ""), ("list", ""), ("list", ""))

    played = Played(open_walled(), *[answer] * 20, steps=12, native=True)
    played.turn()
    assert played.log.of("memory")
    for asked in played.model.asked:
        ids = [call.id for message in asked for call in message.tool_calls]
        assert len(ids) == len(set(ids))
        open_calls: list[str] = []
        for message in asked:
            if message.role == "tool":
                assert message.tool_call_id == open_calls.pop(0)
            else:
                assert not open_calls
                open_calls = [call.id for call in message.tool_calls]


def test_an_empty_summary_is_replaced_by_what_was_done(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "  " if "You keep the notes" in messages[0].content else "### Action: list lib"

    played = Played(open_walled(), *[answer] * 20, steps=10)
    played.turn()
    assert "Result of list:" in played.log.of("memory")[0]["summary"]


def test_how_much_is_remembered_is_for_the_run_to_say(open_walled: Open) -> None:
    model, log = Scripted([script([])] * 40), Logged()
    context = AgentContext(model=model, steps=6, turns=10, log=log, memory_threshold=4, memory_keep=3)
    KIND.make(context).act(a_brief(), None, open_walled())
    # two messages a step: six of them before the fourth, five before each later one but one
    assert [line["messages"] for line in log.of("memory")] == [3, 2, 2]


def test_what_a_summary_drops_is_still_in_the_transcript(open_walled: Open) -> None:
    """Read back as a person would: the messages that were sent once and then replaced."""

    def answer(messages: Sequence[Message]) -> str:
        if "You keep the notes" in messages[0].content:
            return "S"
        step = re.findall(r"Step (\d+) of", messages[-1].content)[-1]
        return f"### Action: read file-{step}.py"

    model, log = Scripted([answer] * 40), Logged()
    context = AgentContext(model=model, steps=9, turns=10, log=log, memory_threshold=6, memory_keep=2)
    agent = KIND.make(context)
    agent.act(a_brief(), None, open_walled())
    assert "file-1.py" not in "".join(message.content for message in model.asked[-1])
    kept = [line["content"] for line in log.of("message") if line["step"] == 1]
    assert "### Action: read file-1.py" in kept
    assert any(content.startswith("Result of read:\nRefused: ") and "file-1.py" in content for content in kept)
    assert isinstance(agent, ReCode)
    assert sum(line["messages"] for line in log.of("memory")) + len(agent.memory.messages) == 2 * 9


# The transcript


PARTS = ("observation", "reflection", "planning")


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("### Observation\nO\n### Reflection\nR\n### Planning\nP\n### Action: list", ("O", "R", "P")),
        ("### Planning\nP\n### Action: list", ("", "", "P")),
        ("### Action: list", ("", "", "")),
        ("Prose.\n### Action: list", ("Prose.", "", "")),
        ("### Observation\nO\n### Planning\nP", ("O", "", "P")),
        ("### Reflection\nR\n### Action: read", ("", "R", "")),
        ("I cannot.", ("", "I cannot.", "")),
        ("", ("", "", "")),
        (calls(("list", '{"observation": "O", "reflection": "R", "planning": "P"}')), ("O", "R", "P")),
        (calls(("list", '{"planning": "P"}')), ("", "", "P")),
        (calls(("list", "{}"), text="### Observation\nO\n### Reflection\nR"), ("O", "R", "")),
        (calls(("list", "{}"), text="Prose."), ("", "Prose.", "")),
        (calls(("list", "{}")), ("", "", "")),
        (calls(("list", "{oops"), text="### Planning\nP"), ("", "", "P")),
    ],
)
def test_the_four_stages_of_every_step_are_recorded(
    open_walled: Open, answer: str | Reply, parts: tuple[str, str, str]
) -> None:
    native = isinstance(answer, Reply)
    played = Played(open_walled(), answer, steps=1, native=native)
    played.turn()
    [step] = played.log.of("step")
    assert tuple(step[name] for name in PARTS) == parts
    assert step["actions"] == ([] if step["error"] else ["list"])
    assert set(step) == {"turn", "step", *PARTS, "actions", "note", "error", "usage", "finish"}


def test_the_transcript_tells_everything(open_walled: Open) -> None:
    answer = "### Observation\nO\n### Reflection\nR\n### Planning\nP\n### Action: read\npath: README.md"
    played = Played(open_walled(), answer, "no", SUBMIT)
    played.turn()
    read, bad, submit = played.log.of("step")
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5}
    assert read == {
        "turn": 1,
        "step": 1,
        "observation": "O",
        "reflection": "R",
        "planning": "P",
        "actions": ["read"],
        "note": "",
        "error": "",
        "usage": usage,
        "finish": "",
    }
    assert bad["error"].startswith("Your answer holds no action")
    assert submit["actions"] == ["submit"]
    assert played.log.of("action") == [
        {"turn": 1, "step": 1, "number": 1, "kind": "read", "arguments": {"path": "README.md"}}
    ]
    assert [(line["step"], line["kind"], line["ok"]) for line in played.log.of("result")] == [
        (1, "read", True),
        (3, "submit", True),
    ]
    said = "\n\n".join(line["content"] for line in played.log.of("message"))
    for asked in played.model.asked:
        for message in asked:
            for piece in message.content.split("\n\n"):
                assert piece in said
