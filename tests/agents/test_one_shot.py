"""The one-shot agent: the code out of an answer, and what it is told next time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from pytest_recode.agents.fences import ExtractedFiles, files
from pytest_recode.agents.one_shot import KIND, OneShot, repository_text
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import UserError
from pytest_recode.models import Message, Reply
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, USAGE, Logged, Scripted, a_brief, a_context
from tests.messages import assert_message

ONE = ("solver.py",)
TWO = ("solver.py", "lib/loss.py")


def read(text: str, targets: tuple[str, ...]) -> ExtractedFiles:
    """As the agent reads an answer."""
    agent = OneShot(context=a_context(None), model=Scripted([]))
    found, _ = agent._read(Reply(text=text), a_brief(repo={}, targets=targets))
    return ExtractedFiles(
        files={path: text.removesuffix("\n") for path, text in found.files.items()}, problems=found.problems
    )


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
        "**solver.py**\n```python\nx = 1\n```\nUse it:\n```python\nsolve(3)\n```",
        "The solution:\n```python\nx = 1\n```\n\n### tests/test_solver.py\n\n```python\nassert x == 1\n```",
        "<think>\n```python\nx = 0\n```\n</think>\n```python\nx = 1\n```",
        "```python\nx = 1\n```\nRun it:\n```bash\npython solver.py\n```\nIt prints:\n```\n1\n```",
        "```python example.py\nx = 0\n```\n```python\nx = 1\n```",
        "```python repo/solver.py\nx = 1\n```\n```python\nsolve(3)  # an example\n```",
        "```Python linenums\r\nx = 1\n```\r\n",
    ],
)
def test_the_last_python_block_is_the_only_target(text: str) -> None:
    found = read(text, ONE)
    assert found.files == {"solver.py": "x = 1"}
    assert found.problems == ()


def test_the_last_of_several_blocks_counts_and_the_others_are_told_of() -> None:
    text = "First try:\n```python solver.py\nx = 0\n```\nBetter:\n```python ./solver.py\nx = 1\n```"
    found = read(text, ONE)
    assert found.files == {"solver.py": "x = 1"}
    assert found.problems == ("Your answer had 2 blocks for solver.py; only the last one was used.",)


def test_each_target_has_its_own_block() -> None:
    text = "```python solver.py\na = 1\n```\n```python\n# lib/loss.py\nb = 2\n```\n```python\nan_example()\n```"
    assert files(text, TWO).files == {"solver.py": "a = 1", "lib/loss.py": "# lib/loss.py\nb = 2"}
    named = "```python\n# path: ./solver.py\na = 1\n```\n```python loss.py\nb = 2\n```"
    assert files(named, TWO).files == {"solver.py": "# path: ./solver.py\na = 1", "lib/loss.py": "b = 2"}


def test_the_correction_of_one_interface_is_not_taken_for_the_file() -> None:
    correction = "```python file=solver.py interface=solver.solve\ndef solve(x): ...\n```"
    found = read(correction, ONE)
    assert found.files == {}
    assert "the correction of one interface (`interface=solver.solve`)" in found.problems[0]
    assert "Write the whole content of solver.py: ```python solver.py" in found.problems[0]
    assert read(f"{correction}\n```python solver.py\nx = 1\n```", ONE).files == {"solver.py": "x = 1"}


@pytest.mark.parametrize(
    ("changes", "form"),
    [
        ("<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE", "a search and replace block"),
        ("------- SEARCH\nx = 1\n=======\nx = 2\n+++++++ REPLACE", "a search and replace block"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2", "a diff"),
        ("diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2", "a diff"),
        ("*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch", "a diff"),
    ],
)
def test_changes_of_a_file_are_not_taken_for_the_file(changes: str, form: str) -> None:
    found = files(f"I change one line.\n\n```python a.py\n{changes}\n```\n", ("a.py",))
    assert found.files == {}
    assert_message(
        found.problems[0],
        f"line 3 is {form}",
        "replaces the whole of a.py: unchanged",
        "Write the whole content of a.py",
    )


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("``` That is all.", 'one with words opens another fence, as here line 6 ("``` That is all.").'),
        ("``` That is all.\n```", 'one with words opens another fence, as here line 6 ("``` That is all.").'),
        ("``` a\n```python b.py\n```\n", 'as here line 6 ("``` a"), line 7 ("```python b.py").'),
        ("y = ", "the answer was cut off, or the closing line is missing. Nothing was written."),
    ],
)
@pytest.mark.parametrize("before", ["I write\nall of\nthe file:", "<think>\nSo:\n</think>"], ids=["", "thoughts"])
def test_why_a_fence_is_not_closed(before: str, end: str, told: str) -> None:
    """Lines are counted as the model wrote them."""
    [problem] = read(f"{before}\n```python\nx = 1\n{end}", ONE).problems
    assert problem.startswith("The code fence that line 4 opens is not closed: the answer was cut off, or")
    assert told in problem


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
                "Your answer has no fenced code for solver.py: unchanged. "
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
            (
                "The code fence that line 1 opens is not closed: the answer was cut off, or the closing line is missing. Nothing was"
                " written.",
            ),
        ),
        ("```python\nx = 0\n```\nBetter:\n```python\nx = 1\n```", ONE, None),
        ("```python solver.py\nx = 1\n```\n```python lib/loss.py\ny = (", TWO, None),
        ("```python solver.py\nx = '''\n```\n'''\ny = 2\n```\n", ONE, None),
        ("```python\nx = '''\n```\n```python\ny = 2\n```\n```\n'''\n```\n", ONE, None),
        ("<think>\n```python\nx = 0\n```\n", ONE, None),
    ],
)
def test_no_usable_block(text: str, targets: tuple[str, ...], problems: tuple[str, ...] | None) -> None:
    found = read(text, targets)
    assert found.files == {}
    assert found.problems == problems if problems is not None else len(found.problems) == 1


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
    told = "Your answer had 2 blocks for solver.py; only the last one was used."
    twice = "```python solver.py\nimport math\n```\n```python solver.py\nsolve = None\ndef solve(x): ...\n```"
    model, workspace, log = Scripted([twice, coded(1)]), open_workspace(), Logged()
    agent = KIND.make(a_context(model, log=log))
    move = agent.act(a_brief(), None, workspace)
    assert (move.submitted, move.unparsed) == (True, 0)
    agent.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace)
    assert told in model.asked[1][-1].content
    assert [line["problems"] for line in log.of("step")] == [[told], []]


DRAFT = "```python solver.py\ndef solve(x):\n    return 1  # a draft\n```\nThe whole file:\n"


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        (
            f"{DRAFT}```python\ndef solve(x):\n    return 2 * x\n```",
            [
                "solver.py is the block that begins in line 1",
                "Not used, because no target is named: the block of line 6",
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


@pytest.mark.parametrize("form", ["```diff solver.py", "```patch solver.py"])
def test_a_block_that_calls_itself_a_diff_is_not_the_file(form: str) -> None:
    found = read(f"{form}\n def solve(x):\n-    return x\n+    return 2 * x\n```", ONE)
    assert found.files == {}
    assert_message(found.problems[0], "is a diff", "```python solver.py", "unchanged")


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
    said = "\n".join(message.content for message in last)
    for turn in range(1, 5):
        assert said.count(coded(turn)) == said.count(f"Wrong for the reason {turn}.") == 1
    assert said.count("# attempt 4\n") == 20
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
    told = model.asked[1][-1].content
    assert "Your answer has no fenced code for solver.py" in told or "at most 1000000 are read" in told
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


MODULE = "import numpy as np\n\n\ndef solve(x):\n    return np.sum(x)"
EXAMPLE = "Usage:\n\n```python\nfrom crc.control import solve\n\nprint(solve([1, 2]))\n```\n"


LABELS = [
    "**File: crc/control.py**",
    "**File:** `crc/control.py`",
    "#### 1. crc/control.py",
    "## 1. `crc/control.py`",
    "### `crc/control.py` — the control",
    "### crc/control.py\n\nIt sums e.g. all of x.",
    "### The control\n\nHere is the complete `crc/control.py`:",
    "Next, the sum and its derivatives, in `crc/control.py`. The bracket\nin -g'(r) does not cancel.",
    "1. `control.py`",
]
OTHERS = ("crc/sets.py", "crc/tree.py")
CONTROL = {"crc/control.py": b"def solve(x):\n    raise NotImplementedError\n"}


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("others", [(), OTHERS], ids=["one", "several"])
@pytest.mark.parametrize("example_first", [False, True])
def test_the_text_directly_above_a_block_names_its_file(
    label: str, others: tuple[str, ...], example_first: bool
) -> None:
    parts = [f"{label}\n\n```python\n{MODULE}\n```\n", EXAMPLE]
    found = files("\n".join(parts[::-1] if example_first else parts), ["crc/control.py", *others], CONTROL)
    assert found.files == {"crc/control.py": MODULE}
    assert len(found.problems) == bool(others)


def test_the_first_line_of_a_block_names_its_file() -> None:
    text = f"```python\n# crc/control.py - the control\n{MODULE}\n```"
    assert list(files(text, ["crc/control.py", *OTHERS]).files) == ["crc/control.py"]


@pytest.mark.parametrize(
    ("above", "code"),
    [
        ("`crc/control.py` and `crc/sets.py`:", MODULE),
        ("This goes into the file of controls:", MODULE),
        ("In `crc/control.py`, only one line changes:", "    return np.sum(x)"),
        ("In `crc/control.py` I set the tolerance:", "TOLERANCE = 1e-6"),
        ("`crc/base.py`:", "def solve(x):\n    return x"),
        ("Use `crc/control.py` so:", "from crc.control import solve\n\nprint(solve([1, 2]))"),
    ],
)
def test_what_the_text_above_does_not_say_is_not_guessed(above: str, code: str) -> None:
    repo = {"crc/control.py": b"import numpy as np\n\ndef solve(x):\n    raise NotImplementedError\n"}
    found = files(f"{above}\n\n```python\n{code}\n```\n", ["crc/control.py", *OTHERS], repo)
    assert found.files == {}
    assert "crc/control.py" in found.problems[0]


FULL = "import numpy as np\n\ndef _half(x):\n    return x / 2\n\ndef solve(x):\n    return np.sum(_half(x))"
EXCERPTS = {
    "lines": "    x = np.sum(x)\n    # ...",
    "a function that uses another": "def solve(x):\n    return np.sum(_half(x))",
    "its use": "from crc.control import solve\n\ndef main():\n    print(solve(3))",
    "its use, in short": "solve(3)",
}


@pytest.mark.parametrize("excerpt", EXCERPTS.values(), ids=EXCERPTS)
@pytest.mark.parametrize("named", [" crc/control.py", ""], ids=["named", "unnamed"])
@pytest.mark.parametrize("excerpt_first", [False, True])
def test_an_excerpt_is_not_the_file(excerpt: str, named: str, excerpt_first: bool) -> None:
    parts = [f"```python{named}\n{FULL}\n```", f"```python{named}\n{excerpt}\n```"]
    found = files("\nand\n".join(parts[::-1] if excerpt_first else parts), ["crc/control.py"], CONTROL)
    assert found.files == {"crc/control.py": FULL}
    if named:
        assert "Your answer had 2 blocks for crc/control.py; " in found.problems[0]
        assert ("is an excerpt, without" in found.problems[0]) == (not excerpt_first)


def test_a_shorter_file_replaces_a_draft() -> None:
    better = "def solve(x):\n    return sum(x) / 2"
    text = f"```python crc/control.py\n{FULL}\n```\nSimpler:\n```python crc/control.py\n{better}\n```"
    assert files(text, ["crc/control.py"], CONTROL).files == {"crc/control.py": better}


def test_of_two_halves_of_a_file_none_is_written() -> None:
    repo = {"m.py": b"def f(): ...\n\ndef g(): ...\n"}
    found = files("```python m.py\ndef f(): return 1\n```\n```python m.py\ndef g(): return 2\n```", ["m.py"], repo)
    assert found.files == {}
    assert_message(
        found.problems[0], "line 4 is an excerpt, without f", "m.py: unchanged", "Write the whole content of m.py"
    )


def test_one_unnamed_file_of_two_is_not_guessed() -> None:
    found = files(f"```python\n{FULL}\n```\nor\n```python\n{MODULE}\n```", ["crc/control.py"], CONTROL)
    assert found.files == {}
    assert_message(found.problems[0], "2 blocks of code (lines 1, 11)", "unclear which one is crc/control.py")


def test_good_files_are_written_and_all_problems_are_told() -> None:
    repo = {"a.py": b"import numpy as np\n\ndef f(): ...\n\ndef g(): ...\n", "b.py": b"def h(): ...\n"}
    elided = "# ... existing code ...\n\ndef g():\n    return np.pi"
    text = (
        f"```python m.py\n{MODULE}\n```\n```python a.py\n{elided}\n```\n```diff b.py\n-  pass\n+  return 1\n```\nAnd this:\n"
        "```python\ndef k(): ...\n```"
    )
    found = files(text, ["a.py", "b.py", "c.py", "m.py"], repo)
    assert found.files == {"m.py": MODULE}
    facts = [
        ("line 8 is an excerpt, without f", "```python a.py"),
        ("line 14 is a diff", "```python b.py"),
        ("No block of your answer names c.py: unchanged", "```python c.py"),
        ("m.py is the block that begins in line 1", "Not used, because no target is named: the block of line 19"),
    ]
    for problem, told in zip(found.problems, facts, strict=True):
        assert_message(problem, *told)


def test_blocks_that_name_nothing_are_told_where_none_was_used() -> None:
    found = files("```python\ndef f(): ...\n```\n```python\ndef g(): ...\n```\n```python\nf()\n```", TWO)
    assert_message(
        " ".join(found.problems),
        "No block of your answer names solver.py, lib/loss.py: unchanged",
        "Not used, because no target is named: the blocks of lines 1, 4.",
    )


GOOD = "```python m.py\ndef f(x): return x\n```\n\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1. The file:\n\n   ```python m.py\n   def f(x): return x\n   ```\n", id="in a list"),
        pytest.param("  ```python m.py\ndef f(x): return x\n  ```\n", id="only the fence is indented"),
        pytest.param(f"{GOOD}```python examples/m.py\nfrom m import f\n```\n", id="same name elsewhere"),
        pytest.param(f"```python examples/m.py\nfrom m import f\n```\n\n{GOOD}", id="same name elsewhere, before"),
        pytest.param(f"{GOOD}### m.py\n\n```bash\npython m.py\n```\n", id="a command below its name"),
        pytest.param(f"{GOOD}```bash m.py\npython m.py\n```\n", id="a command"),
    ],
)
def test_the_file_is_not_lost_beside_another_block(text: str) -> None:
    assert files(text, ["m.py"]).files == {"m.py": "def f(x): return x"}


def test_a_longer_path_of_the_target_is_still_the_target() -> None:
    assert files("```python /workspace/m.py\ndef f(x): return x\n```", ["m.py"]).files == {"m.py": "def f(x): return x"}
