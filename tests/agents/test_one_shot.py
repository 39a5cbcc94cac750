"""The one-shot agent: the code out of an answer, and what it is told next time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_recode.agents.named_blocks import ExtractedFiles
from pytest_recode.agents.one_shot import KIND, OneShot, repository_text
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import UserError
from pytest_recode.models import Message, Reply
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, USAGE, Logged, Scripted, a_brief, a_context
from tests.messages import assert_message

ONE = ("solver.py",)
TWO = ("solver.py", "lib/loss.py")


def read(text: str, targets: tuple[str, ...] = ONE, interfaces: tuple[str, ...] = ("solver.x",)) -> ExtractedFiles:
    """As the agent reads an answer."""
    agent = OneShot(context=a_context(None), model=Scripted([]))
    brief = replace(a_brief(repo={}, targets=targets), interfaces=interfaces)
    found, _ = agent._read(Reply(text=text), brief)
    return found


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```",
        "```python solver.py\nx = 1\n```",
        "```python ./solver.py\nx = 1\n```",
        "```python:solver.py\nx = 1\n```",
        "```solver.py\nx = 1\n```",
        "```python repo/solver.py\nx = 1\n```",
        "```\nx = 1\n```",
        "~~~python\nx = 1\n~~~\nDone.",
        "````python\nx = 1\n````",
        "1. The file:\n\n   ```python solver.py\n   x = 1\n   ```\n",
        "**solver.py**\n```python\nx = 1\n```\nUse it:\n```python\nsolve(3)\n```",
        "```python solver.py\nx = 1\n```\nIn short:\n```python solver.py\ny = 1\n```",
        "<think>\n```python\nx = 0\n```\n</think>\n```python\nx = 1\n```",
        "I try\n```python solver.py\nx = 0\n```\nNo.\n</think>\n```python\nx = 1\n```",
        "```python\nx = 1\n```\nRun it:\n```bash\npython solver.py\n```\nIt prints:\n```\n1\n```",
        "```python example.py\nx = 0\n```\n```python\nx = 1\n```",
        "```Python linenums\r\nx = 1\n```\r\n",
        "```python\nx = 0\n```\nBetter:\n```python\nx = 1\n```",
    ],
)
def test_the_block_of_the_only_target(text: str) -> None:
    assert read(text).files == {"solver.py": "x = 1\n"}


def test_what_was_used_and_what_was_not_is_told() -> None:
    text = "First try:\n```python solver.py\nx = 0\n```\nBetter:\n```python ./solver.py\nx = 1\n```"
    found = read(text)
    assert found.files == {"solver.py": "x = 1\n"}
    [told] = found.problems
    assert_message(told, "solver.py is the block that line 6 opens", "Not used: the code of line 2")


def test_each_target_has_its_own_block() -> None:
    text = "```python solver.py\na = 1\n```\n```python loss.py\nb = 2\n```\n```python\nan_example()\n```"
    assert read(text, TWO, ()).files == {"solver.py": "a = 1\n", "lib/loss.py": "b = 2\n"}


def test_code_may_hold_fences() -> None:
    code = '"""Use it:\n\n```python\nsolve(1)\n```\n"""\nx = 1\n'
    assert read(f"````python\n{code}````").files == {"solver.py": code}
    found = read(f"```python\n{code}```")
    assert found.files == {}
    assert_message(found.problems[0], "line 1", "a line of backticks is in one of its strings", "four backticks")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("I cannot do that.", "no block for solver.py: unchanged. Begin its fence with ```python solver.py"),
        ("", "no block for solver.py"),
        ("```python other.py\nx = 1\n```", "no block for solver.py"),
        ("```bash\nls\n```", "no block for solver.py"),
        ("```python\nx = 1\n", "The code fence that line 1 opens is not closed"),
        (
            "<think>\nSo:\n</think>\n```python\nx = 1\n``` That is all.",
            "The code fence that line 4 opens is not closed",
        ),
        ("```python solver.py\nx = 1\n```\n```python lib/loss.py\ny = (", "line 4 opens is not closed"),
        ("```python solver.py\nx = '''\n```\n'''\ny = 2\n```\n", "a line of backticks is in one of its strings"),
        ("<think>\n```python\nx = 0\n```\n", "it holds nothing but thoughts"),
        ("```diff solver.py\n-x = 0\n+x = 1\n```", "no block for solver.py"),
        ("```python solver.py\n<<<<< SEARCH\nx = 0\n=====\nx = 1\n>>>>> REPLACE\n```", "no block for solver.py"),
        (
            "````markdown\nHere it is:\n```python solver.py\nx = 1\n```\n````",
            "the block for solver.py lies within the block that line 1 opens (```markdown): unchanged. Write it outside",
        ),
        ("````\n```python solver.py\nx = 1\n```\n````", "lies within the block that line 1 opens (```)"),
    ],
)
def test_an_answer_without_a_usable_block(text: str, problem: str) -> None:
    found = read(text)
    assert found.files == {}
    assert problem in found.problems[0]


def test_blank_lines_that_end_a_file_are_written(open_workspace: Open) -> None:
    model, workspace = Scripted(["```python solver.py\nx = 1\n\n```"]), open_workspace()
    KIND.make(a_context(model)).act(a_brief(), None, workspace)
    assert workspace.targets() == {"solver.py": b"x = 1\n\n"}


def test_a_turn_is_one_call_and_writes_the_target(open_workspace: Open) -> None:
    model, workspace, log = Scripted(["Here:\n```python\ndef solve(x): ...\n```"]), open_workspace(), Logged()
    agent = KIND.make(a_context(model, log=log))
    assert agent.act(a_brief(), None, workspace) == Move(steps=1, submitted=True, usage=USAGE)
    assert workspace.targets() == {"solver.py": b"def solve(x): ...\n"}
    prompt = model.asked[0][1].content
    assert "```python solver.py\n(the whole content of solver.py)\n```" in prompt
    for words in ("The paper says", "Write solve(x).", "return 2 * x", "raise NotImplementedError", "turn 1 of 10"):
        assert words in prompt
    assert model.tools == [()]
    assert log.of("step") == [
        {
            "turn": 1,
            "step": 1,
            "files": ["solver.py"],
            "problems": [],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5},
            "finish": "",
        }
    ]


def test_feedback_and_the_own_answer_are_in_the_next_prompt(open_walled: Open) -> None:
    first = "Thinking...\n```python\nx = 1\n```"
    model, workspace = Scripted([first, "```python\nx = 2\n```"]), open_walled()
    agent = KIND.make(a_context(model))
    agent.act(a_brief(), None, workspace)
    agent.act(a_brief(), Feedback(level=1, text="It must be two.", turn=1), workspace)
    system, task, own, now = model.asked[1]
    assert [message.role for message in (system, task, own, now)] == ["system", "user", "assistant", "user"]
    assert own.content == first
    assert "# Feedback on turn 1\n\nIt must be two." in now.content
    assert "## solver.py\n\n```\nx = 1\n```" in now.content
    assert "turn 2 of 10" in now.content
    assert workspace.targets() == {"solver.py": b"x = 2\n"}


def test_blocks_that_were_not_used_are_in_the_transcript_and_in_the_next_prompt(open_workspace: Open) -> None:
    problem = (
        "In your answer, solver.py is the block that line 4 opens. Not used: the code of line 1 (```python solver.py)."
    )
    twice = "```python solver.py\nimport math\n```\n```python solver.py\nsolve = None\ndef solve(x): ...\n```"
    model, workspace, log = Scripted([twice, coded(1)]), open_workspace(), Logged()
    agent = KIND.make(a_context(model, log=log))
    move = agent.act(a_brief(), None, workspace)
    assert (move.submitted, move.unparsed) == (True, 0)
    agent.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace)
    assert problem in model.asked[1][-1].content
    assert [line["problems"] for line in log.of("step")] == [[problem], []]


DRAFT = "```python solver.py\ndef solve(x):\n    return 1  # a draft\n```\nThe whole file:\n"


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (
            f"{DRAFT}```python\ndef solve(x):\n    return 2 * x\n```",
            [
                "solver.py is the block that line 1 opens",
                "Not used: the code of line 6",
            ],
        ),
        (
            "```python solver.py\n# ... existing code ...\nx = 1\n```",
            ["solver.py is now what", "does not define `solve` any more"],
        ),
        (
            "```python solver.py\ndef solve(x) return x\n```",
            ["solver.py is now what", "not valid Python (line 1: expected ':': `def solve(x) return x`)"],
        ),
    ],
    ids=["draft", "elision", "not Python"],
)
def test_what_a_written_answer_may_not_have_meant_is_recorded_and_told(
    open_walled: Open, answer: str, facts: list[str]
) -> None:
    model, log = Scripted([answer, coded(1)]), Logged()
    agent, workspace = KIND.make(a_context(model, log=log)), open_walled()
    assert agent.act(a_brief(), None, workspace).submitted
    agent.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace)
    [problem] = log.of("step")[0]["problems"]
    assert problem in model.asked[1][-1].content
    assert_message(problem, *facts)


def coded(number: int) -> str:
    return f"```python solver.py\ndef solve(x):\n{f'    # attempt {number}{chr(10)}' * 20}    return x\n```"


def test_every_prompt_has_all_earlier_answers_and_feedback_once(open_walled: Open) -> None:
    model, workspace, log = Scripted([coded(number) for number in range(1, 6)]), open_walled(), Logged()
    agent = KIND.make(a_context(model, log=log))
    for turn in range(5):
        given = Feedback(level=1, text=f"Wrong for the reason {turn}.", turn=turn) if turn else None
        agent.act(a_brief(), given, workspace)
    last = model.asked[-1]
    assert [message.role for message in last] == ["system", *["user", "assistant"] * 4, "user"]
    prompt = "\n".join(message.content for message in last)
    for turn in range(1, 5):
        assert prompt.count(coded(turn)) == prompt.count(f"Wrong for the reason {turn}.") == 1
    assert prompt.count("# attempt 4\n") == 20
    assert "## solver.py\n\n(not repeated here: it is exactly as in your answer in turn 4, above)" in last[-1].content
    assert "turn 5 of 10. Answer again in the form asked for above" in last[-1].content
    # each prompt begins with all of the one before, and is in the transcript
    for before, after in pairwise(model.asked):
        assert after[: len(before)] == before
    logged = {line["content"] for line in log.of("message")}
    assert all(message.content in logged for asked in model.asked for message in asked)


def test_a_target_that_was_not_answered_as_it_is_now_is_shown(open_walled: Open) -> None:
    model, workspace = Scripted([coded(1), "no code", coded(2)]), open_walled()
    agent = KIND.make(a_context(model))
    agent.act(a_brief(), None, workspace)
    agent.act(a_brief(), Feedback(level=0, text="No.", turn=1), workspace)
    workspace.write("solver.py", "y = 1\n" * 100)
    agent.act(a_brief(), Feedback(level=0, text="No.", turn=2), workspace)
    assert "your answer in turn 1, above" in model.asked[1][-1].content
    assert "## solver.py\n\n```\ny = 1\n" in model.asked[2][-1].content


def test_the_oldest_answers_are_left_out_first_where_they_do_not_fit(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        said = sum(len(message.content) for message in messages)
        assert said / 4.5 < 8_000
        return f"{coded(len(messages))}\n{'Because. ' * 600}"

    model, workspace = Scripted([answer] * 9, window=8_000), open_walled()
    agent = KIND.make(a_context(model))
    for turn in range(9):
        given = Feedback(level=1, text=f"Wrong for the reason {turn}.", turn=turn) if turn else None
        agent.act(a_brief(), given, workspace)
    last = model.asked[-1]
    assert [message.role for message in last[:3]] == ["system", "user", "assistant"]
    [dropped] = re.findall(
        r"^Your answers in turns 1 to (\d), and the feedback on them, are left out: there is no room\.$",
        last[-1].content,
        re.MULTILINE,
    )
    assert len(last) == 2 + 2 * (8 - int(dropped))
    assert "Wrong for the reason 8." in last[-1].content
    assert all(one.role != other.role for one, other in pairwise(last))


@pytest.mark.parametrize("answer", ["", "I refuse.", "\x00\ud800", "y" * 10_000_000])
def test_an_answer_without_code_leaves_the_target_and_is_told(open_walled: Open, answer: str) -> None:
    model, workspace = Scripted([answer, Reply(text="")]), open_walled()
    agent = KIND.make(a_context(model))
    move = agent.act(a_brief(), None, workspace)
    assert (move.steps, move.submitted) == (1, False)
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}
    assert workspace._connection is None
    agent.act(a_brief(), Feedback(level=0, text="No.", turn=1), workspace)
    prompt = model.asked[1][-1].content
    assert (
        "Your answer had no block for solver.py" in prompt
        or "null character" in prompt
        or "at most 1000000 are read" in prompt
    )
    assert sum(len(message.content) for message in model.asked[1]) < 60_000
    for message in model.asked[1]:
        assert message.content.encode()


def test_a_large_repository_is_shown_as_far_as_there_is_room() -> None:
    repo = {**REPO, "data.bin": b"\0", "big.py": b"x = 1\n" * 20_000, "big.txt": b"y"}
    text = repository_text(a_brief(repo=repo))
    assert text.index("## solver.py") < text.index("## lib/helpers.py") < text.index("## README.md")
    assert text.endswith("(2 files are not shown: binary, or too large)")


def test_without_a_model_it_cannot_be_made() -> None:
    with pytest.raises(UserError, match=r"^agent 'one-shot' needs a model: give one with --recode-model"):
        KIND.make(a_context(None))


def test_an_answer_that_was_cut_off_writes_nothing(open_walled: Open) -> None:
    model = Scripted([Reply(text="```python solver.py\nx = 1\n```\nOr", finish="length"), "```python\nx = 2\n```"])
    workspace = open_walled()
    agent = KIND.make(a_context(model))
    move = agent.act(a_brief(), None, workspace)
    assert (move.submitted, move.unparsed) == (False, 1)
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}
    assert agent.act(a_brief(), Feedback(level=0, text="No.", turn=1), workspace).unparsed == 0
    assert (
        "limit of output. Nothing was written. Answer with the whole content of every target again"
        in model.asked[1][-1].content
    )
