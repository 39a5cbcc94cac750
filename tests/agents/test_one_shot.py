"""The one-shot agent: the code out of an answer, and what it is told next time."""

from __future__ import annotations

import pytest

from pytest_recode.agents.fences import files
from pytest_recode.agents.one_shot import KIND, repository_text
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import UserError
from pytest_recode.models import Reply
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, USAGE, Logged, Scripted, a_brief, a_context

ONE = ("solver.py",)
TWO = ("solver.py", "lib/loss.py")


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```",
        "```python solver.py\nx = 1\n```",
        "```py path=solver.py\nx = 1\n```",
        '```python title="solver.py"\nx = 1\n```',
        "```python:solver.py\nx = 1\n```",
        "```solver.py\nx = 1\n```",
        "```\nx = 1\n```",
        "~~~python\nx = 1\n~~~\nDone.",
        "````python\nx = 1\n````",
        "First try:\n```python\nx = 0\n```\nBetter:\n```python\nx = 1\n```",
        "```python\nx = 1\n```\nRun it:\n```bash\npython solver.py\n```\nIt prints:\n```\n1\n```",
        "```python example.py\nx = 0\n```\n```python\nx = 1\n```",
        "```python repo/solver.py\nx = 1\n```\n```python\nsolve(3)  # an example\n```",
        "```Python linenums\r\nx = 1\n```\r\n",
    ],
)
def test_the_last_python_block_is_the_only_target(text: str) -> None:
    found = files(text, ONE)
    assert found.files == {"solver.py": "x = 1"}
    assert found.problems == ()


def test_each_target_has_its_own_block() -> None:
    text = "```python solver.py\na = 1\n```\n```python\n# lib/loss.py\nb = 2\n```\n```python\nan_example()\n```"
    assert files(text, TWO).files == {"solver.py": "a = 1", "lib/loss.py": "# lib/loss.py\nb = 2"}
    named = "```python\n# path: ./solver.py\na = 1\n```\n```python loss.py\nb = 2\n```"
    assert files(named, TWO).files == {"solver.py": "# path: ./solver.py\na = 1", "lib/loss.py": "b = 2"}


def test_code_may_hold_fences() -> None:
    code = '"""Use it:\n\n```python\nsolve(1)\n```\n"""\nx = 1'
    assert files(f"```python\n{code}\n```", ONE).files == {"solver.py": code}
    assert files(f"````python\n```\n{code}\n````", ONE).files == {"solver.py": f"```\n{code}"}


@pytest.mark.parametrize(
    ("text", "targets", "problems"),
    [
        (
            "I cannot do that.",
            ONE,
            (
                "Your answer holds no fenced code for solver.py: unchanged. "
                "Begin the fence with a line such as ```python solver.py",
            ),
        ),
        ("", ONE, None),
        ("```python other.py\nx\n```", ONE, None),
        ("```bash\nls\n```", ONE, None),
        ("```python\nx\n```", TWO, None),
        (
            "```python\nx = 1\n",
            ONE,
            ("The code for solver.py is cut off: its fence is not closed. It was not written.",),
        ),
    ],
)
def test_no_usable_block(text: str, targets: tuple[str, ...], problems: tuple[str, ...] | None) -> None:
    found = files(text, targets)
    assert found.files == {}
    assert found.problems == problems if problems is not None else len(found.problems) == 1


def test_a_turn_is_one_call_and_writes_the_target(open_workspace: Open) -> None:
    model, workspace, log = Scripted(["Here:\n```python\nx = 1\n```"]), open_workspace(), Logged()
    agent = KIND.make(a_context(model, log=log))
    assert agent.act(a_brief(), None, workspace) == Move(steps=1, submitted=True, usage=USAGE)
    assert workspace.targets() == {"solver.py": b"x = 1\n"}
    prompt = model.asked[0][1].content
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


@pytest.mark.parametrize("answer", ["", "I refuse.", "\x00\ud800", "y" * 10_000_000])
def test_an_answer_without_code_leaves_the_target_and_is_told(open_walled: Open, answer: str) -> None:
    model, workspace = Scripted([answer, Reply(text="")]), open_walled()
    agent = KIND.make(a_context(model))
    move = agent.act(a_brief(), None, workspace)
    assert (move.steps, move.submitted) == (1, False)
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}
    assert workspace._connection is None
    agent.act(a_brief(), Feedback(level=0, text="No.", turn=1), workspace)
    told = model.asked[1][-1].content
    assert "Your answer holds no fenced code for solver.py" in told or "at most 1000000 are read" in told
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
