"""The recode-h agent: the original's commands, prompt and memory, and none of its faults."""

from __future__ import annotations

import pytest

from pytest_recode.agents import AgentContext
from pytest_recode.agents.actions import ProtocolError
from pytest_recode.agents.recode_h import DEFAULTS, KIND
from pytest_recode.agents.recode_h_protocol import Command, parse
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import TESTS_SAID, Feedback
from pytest_recode.faults import SandboxError, UserError
from pytest_recode.models import Message, Reply, Usage
from pytest_recode.task import Files
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, USAGE, Answer, Logged, Scripted, a_brief, a_context
from tests.models.sim_example import PARTS, TASK, sim

ONE = ("solver.py",)
TWO = ("solver.py", "lib/extra.py")
RIGHT = "def solve(x):\n    return 2 * x"


def said(command: str, reflection: str = "Look.") -> str:
    return f"reflect: {reflection}\naction:\n{command}"


class Played:
    def __init__(
        self, workspace: SandboxWorkspace, *answers: Answer, repo: Files = REPO, targets: tuple[str, ...] = ONE
    ) -> None:
        self.model = Scripted(answers)
        self.log = Logged()
        context = a_context(self.model, log=self.log)
        made = {name: getattr(context, name) for name in ("model", "turns", "log")}
        more = {name: DEFAULTS[name] for name in ("steps", "memory_threshold", "memory_keep")}
        self.agent = KIND.make(type(context)(**made, **more))
        self.workspace = workspace
        self.brief = a_brief(repo=repo, targets=targets)

    def turn(self, feedback: Feedback | None = None) -> tuple[int, bool, Usage]:
        move = self.agent.act(self.brief, feedback, self.workspace)
        return move.steps, move.submitted, move.usage

    def prompt(self, call: int = -1) -> str:
        system, user = self.model.asked[call]
        assert (system.role, user.role) == ("system", "user")
        return user.content

    def section(self, number: int, call: int = -1) -> str:
        return self.prompt(call).split(f"\n## {number}. ")[1].split(f"\n\n## {number + 1}. ")[0]

    def results(self) -> list[str]:
        return [fields["text"] for fields in self.log.of("result")]


# Its commands


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        (said("READ lib/helpers.py"), Command(verb="READ", argument="lib/helpers.py", reflection="Look.")),
        (said("READ\nlib/helpers.py"), Command(verb="READ", argument="lib/helpers.py", reflection="Look.")),
        (said("RETRIEVE double a number"), Command(verb="RETRIEVE", argument="double a number", reflection="Look.")),
        (said("RETRIEVE\ndouble\na number"), Command(verb="RETRIEVE", argument="double\na number", reflection="Look.")),
        (said("BROWSE"), Command(verb="BROWSE", reflection="Look.")),
        (said("SUBMIT"), Command(verb="SUBMIT", reflection="Look.")),
        ("action: SUBMIT", Command(verb="SUBMIT")),
        ("Reflect:\nA\nB\n\nAction:\n\n[SUBMIT]", Command(verb="SUBMIT", reflection="A\nB")),
        ("**reflect:** A\n**action:** READ a.py", Command(verb="READ", argument="a.py", reflection="A")),
        ("<think>action: SUBMIT</think>\nreflect: A\naction: BROWSE", Command(verb="BROWSE", reflection="A")),
        (said("```\nREAD a.py\n```"), Command(verb="READ", argument="a.py", reflection="Look.")),
    ],
)
def test_commands_are_read(answer: str, command: Command) -> None:
    assert parse(answer, ONE) == command


CODE = [
    "import math\ntry:\n    import numpy\nexcept ImportError:\n    numpy = None\nelse:\n    pass",
    "x = 1\naction: int = 2\naction:\nSUBMIT\nreflect: 3",
    "def interaction():\n    '''\n    action: none\n    '''",
    "import numpy as np\n\n\ndef solve(x):\n    return np.exp(x)  # ``` not a fence",
]


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("fence", ["", "```", "````", "~~~"])
def test_code_arrives_whole_whatever_it_holds(code: str, fence: str) -> None:
    opened, closed = (f"{fence}python\n", f"\n{fence}") if fence else ("", "")
    read = parse(said(f"REPLACE\n{opened}{code}{closed}"), ONE)
    assert read == Command(verb="REPLACE", argument="solver.py", code=code, reflection="Look.")


def test_a_fence_may_be_opened_before_the_word() -> None:
    assert parse(said(f"```python\nREPLACE\n{CODE[0]}\n```"), ONE) == Command(
        verb="REPLACE", argument="solver.py", code=CODE[0], reflection="Look."
    )


@pytest.mark.parametrize(
    "reflection",
    [
        "My next action is to read the interaction terms.",
        "The interaction: two terms.\nAction: I shall look for it.\naction: none yet",
        "transaction: READ nothing",
    ],
)
def test_the_word_action_within_a_reflection_is_no_label(reflection: str) -> None:
    assert parse(said("READ a.py", reflection), ONE) == Command(verb="READ", argument="a.py", reflection=reflection)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "Your answer has no action. Nothing was done. The actions are READ, RETRIEVE, REPLACE, BROWSE, SUBMIT."),
        ("I cannot help with that.", "Your answer has no action."),
        ("reflect: A\naction:", "Your answer has no action."),
        (said("EDIT 1 2\nx"), "There is no action EDIT. Your answer has no action."),
        (said("EDIT"), "There is no action EDIT."),
        (
            said("submit"),
            "Write SUBMIT in capitals. Your answer has no action. Nothing was done. The actions are READ,",
        ),
        (said("REFLECT"), "There is no action REFLECT."),
        (said("SUBMIT\nREPLACE\nx = 1"), "More text (`REPLACE`) follows SUBMIT and would be lost"),
        (said("SUBMIT\n\n```python\nx = 1\n```"), "More text (`x = 1`) follows SUBMIT and would be lost"),
        (said("READ a.py\nREAD b.py"), "More text (`READ b.py`) follows READ and would be lost"),
        (said("READ\na.py\nREAD b.py"), "More text (`READ b.py`) follows READ and would be lost"),
        (said("BROWSE\n\naction:\nSUBMIT"), "More text (`action:`) follows BROWSE and would be lost"),
        (
            said("RETRIEVE double\naction: SUBMIT"),
            "More text (`action: SUBMIT`) follows RETRIEVE and would be lost",
        ),
        (said("REPLACE\n```python\nx = 1\n```\naction: SUBMIT"), "Another action (SUBMIT) follows the code of REPLACE"),
        (said("REPLACE\n```python\nx = '''\n```\nThat is all."), "The code fences in your answer do not tell"),
        ("<think>\naction: SUBMIT", "Your answer begins with <think> and has no </think>"),
        (said("READ"), "READ needs the path of a file"),
        (said("RETRIEVE\n```\n```"), "RETRIEVE needs what to look for"),
        (said("REPLACE\n   1 x = 1\n   2 y = 2"), "The code of REPLACE has the numbers of its lines"),
        (said("REPLACE"), "REPLACE needs the whole new text"),
        (said("REPLACE\n```python\n```"), "REPLACE needs the whole new text"),
        (said("REPLACE other.py\nx = 1"), "REPLACE writes a target (solver.py), not 'other.py'"),
        (said("REPLACE import math\nx = 1"), "REPLACE writes a target (solver.py), not 'import math'"),
        (
            said("REPLACE\n```python\nx = 1\n"),
            "The code fence that line 4 opens is not closed: the answer was cut off, or the closing line is missing,",
        ),
        (said("REPLACE\n```python\nx\n```\nor\n```python\ny\n```"), "The code fences in your answer do not tell"),
        (said("REPLACE\nx = 1\n```\nThat is all."), "The code fences in your answer do not tell"),
        ("x" * 2_000_000, "Your answer has 2000000 characters"),
    ],
)
def test_what_cannot_be_used_is_told(answer: str, words: str) -> None:
    read = parse(answer, ONE)
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)


def test_code_ends_with_the_answer() -> None:
    assert parse(said("REPLACE\n\nx = 1\r\ny = 2\n"), ONE) == Command(
        verb="REPLACE", argument="solver.py", code="\nx = 1\r\ny = 2", reflection="Look."
    )
    assert parse(said("SUBMIT\n\nThat is all."), ONE) == Command(verb="SUBMIT", reflection="Look.")


def test_of_several_targets_it_names_one() -> None:
    read = parse(said("REPLACE ./lib/extra.py\nx = 1"), TWO)
    assert read == Command(verb="REPLACE", argument="lib/extra.py", code="x = 1", reflection="Look.")
    unnamed = parse(said("REPLACE\nx = 1"), TWO)
    assert isinstance(unnamed, ProtocolError)
    assert unnamed.text.startswith(
        "There are 2 targets: write REPLACE and the path of one of them (solver.py, lib/extra.py)"
    )


# What it does


def test_every_command_does_what_it_says(open_workspace: Open) -> None:
    workspace = open_workspace()
    workspace.write("__pycache__/a.pyc", "x")
    played = Played(
        workspace,
        said("BROWSE"),
        said("READ lib/helpers.py"),
        said("RETRIEVE double a number"),
        said("REPLACE\n" + RIGHT),
        said("SUBMIT"),
    )
    assert played.turn() == (3, False, USAGE + USAGE + USAGE)
    assert played.turn(Feedback(level=1, text="No.", turn=1)) == (2, True, USAGE + USAGE)
    assert played.results() == [
        "README.md\nlib/helpers.py\nsolver.py",
        "def double(x):\n    return 2 * x\n",
        "# lib/helpers.py, lines 1 to 2: double\ndef double(x):\n    return 2 * x",
        "solver.py was written.",
        "The targets are handed in.",
    ]
    assert workspace.targets() == {"solver.py": RIGHT.encode() + b"\n"}


@pytest.mark.parametrize("path", ["../canonical.py", "../test.py", "/etc/hostname", "lib/../../test.py", "missing.py"])
def test_nothing_outside_the_repository_is_read(open_walled: Open, path: str) -> None:
    played = Played(open_walled(), said(f"READ {path}"), said("SUBMIT"))
    assert played.turn()[:2] == (2, True)
    assert played.results()[0].startswith("Refused: ")
    assert played.log.of("result")[0]["ok"] is False
    assert "Refused: " in played.section(6)


def test_an_answer_that_cannot_be_used_costs_a_step_and_no_more(open_walled: Open) -> None:
    played = Played(open_walled(), "garbage \ud800", said("EDIT 1 2"), Reply(text=""))
    assert played.turn()[:2] == (3, False)
    assert "cost a step. Your answer has no action" in played.section(6, 1)
    told = [line["error"].partition(". ")[0] for line in played.log.of("step")]
    assert told == ["Your answer has no action", "There is no action EDIT", "Your answer has no action"]
    assert played.log.of("step")[0]["reflection"] == "garbage ?"


def test_a_dead_workspace_is_no_answer(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.read("README.md")
    workspace.close()
    with pytest.raises(SandboxError):
        Played(workspace, said("BROWSE")).turn()


def test_without_a_model_it_cannot_be_made() -> None:
    with pytest.raises(UserError, match=r"^agent 'recode-h' needs a model: give one with --recode-model"):
        KIND.make(a_context(None))


# Its prompt


def test_the_prompt_has_the_order_of_the_original_and_a_budget(open_walled: Open) -> None:
    played = Played(open_walled(), said("BROWSE"), said("SUBMIT"))
    played.turn()
    prompt = played.prompt(0)
    titles = [line[3:] for line in prompt.split("\n") if line.startswith("## ")]
    assert titles == [
        "1. Paper",
        "2. Instruction",
        "3. History",
        "4. Current code",
        "5. Feedback on the last submission",
        "6. Result of the last action",
        "7. Budget",
    ]
    assert "The paper says: solve(x) is 2 x." in prompt
    assert "solver.py (target):\n   1 def solve(x):\n   2     raise NotImplementedError" in played.section(4, 0)
    assert "No feedback yet" in played.section(5, 0)
    assert "Nothing was done yet." in played.section(6, 0)
    assert (
        "Step 1 of 3 in turn 1 of 10. After step 3 the targets are handed in as they are; SUBMIT hands them" in prompt
    )
    assert "Step 2 of 3 in turn 1 of 10." in played.prompt(1)
    assert "README.md" in played.section(6, 1)
    assert played.section(3, 1).startswith("History\n\n[you]\nreflect: Look.\naction:\nBROWSE")


def test_feedback_stays_for_its_turn_and_the_tests_output_opens_it(open_walled: Open) -> None:
    played = Played(open_walled(), *[said("BROWSE")] * 6)
    played.turn()
    text = f"Feedback on turn 1, level L0.\n\n{TESTS_SAID}\n1 of 2 passed.\nFAILED test_a\n    assert 3 == 4\n"
    played.turn(Feedback(level=0, text=text, turn=1))
    for call in (3, 4, 5):
        assert "level L0." in played.section(5, call)
        assert "assert 3 == 4" not in played.section(5, call)
    assert "The last submission did not pass all hidden tests." in played.section(6, 3)
    assert "FAILED test_a\n    assert 3 == 4" in played.section(6, 3)
    assert "assert 3 == 4" not in played.section(6, 4)
    assert "assert 3 == 4" in played.section(3, 4)  # it has become history
    assert "Handed in as it was, after all 3 steps." in played.section(3, 3)


def test_an_old_output_of_the_tests_is_cut_when_the_turn_that_it_opened_is_over(open_walled: Open) -> None:
    """A report may have 120,000 characters, and ten turns bring nine."""
    played = Played(open_walled(), *[said("SUBMIT"), said("BROWSE"), said("SUBMIT")], *[said("SUBMIT")] * 3)
    played.turn()
    for turn in range(1, 5):
        report = f"FAILED test_{turn}\n" + f"    {turn}: assert 3 == 4\n" * 2_000
        played.turn(Feedback(level=0, text=f"No.\n\n{TESTS_SAID}\n{report}END {turn}\n", turn=turn))
    whole, cut_short = "    1: assert 3 == 4\n" * 2_000, "characters left out ...]"
    assert whole in played.section(6, 1)
    assert whole in played.section(3, 2)  # the second step of its turn
    for call in (3, 4, 5):
        history = played.section(3, call)
        assert len(history) < (call - 2) * 7_000
        assert history.count(cut_short) == call - 2
        assert "FAILED test_1\n" in history
        assert "END 1\n" in history
    assert len(played.prompt()) < 70_000
    told = [line["content"] for line in played.log.of("message")]
    assert sum(cut_short in text for text in told) == 4  # the transcript has what the next prompts show


def test_without_the_tests_output_it_is_told_that_they_failed(open_walled: Open) -> None:
    played = Played(open_walled(), said("SUBMIT"), said("SUBMIT"))
    played.turn()
    played.turn(Feedback(level=0, text="Feedback on turn 1, level L0.\n", turn=1))
    assert played.section(6).endswith("The last submission did not pass all hidden tests.")


# Its memory


def test_it_sums_up_past_fifteen_messages_down_to_five(open_walled: Open) -> None:
    def answer(messages: list[Message]) -> str:
        return "SUMMED UP" if len(messages) == 2 and "You keep the notes" in messages[0].content else said("BROWSE")

    played = Played(open_walled(), *[answer] * 30)  # type: ignore[list-item]
    costs = [played.turn(), *(played.turn(Feedback(level=0, text="No.", turn=turn)) for turn in (1, 2))]
    [memory] = played.log.of("memory")
    assert memory["messages"] == 17 - 5  # before the first answer there is no result
    assert costs[2][2] == USAGE + USAGE + USAGE + USAGE  # a summary beside three steps
    assert "# Summary of your earlier work\n\nSUMMED UP" in played.section(3)
    assert "The paper says" in played.prompt()


def test_the_transcript_holds_every_piece_of_every_prompt(open_walled: Open) -> None:
    played = Played(open_walled(), said("READ README.md"), "no", said("SUBMIT"), said("SUBMIT"))
    played.turn()
    played.turn(Feedback(level=1, text="Mend it.", turn=1))
    logged = "\n\n".join(line["content"] for line in played.log.of("message"))
    for asked in played.model.asked:
        for message in asked:
            for piece in (
                message.content.replace("\n## 3. History\n", "").replace("\n(nothing yet)\n", "").split("\n\n")
            ):
                assert piece.strip().removeprefix("[result]\n").removeprefix("[you]\n") in logged, piece
    steps = played.log.of("step")
    assert [(line["reflection"], line["actions"]) for line in steps[:2]] == [("Look.", ["READ"]), ("no", [])]


# The simulated models


def test_a_simulation_writes_each_target_however_few_the_steps(open_walled: Open) -> None:
    workspace, model = open_walled(files=PARTS.repo), sim("s", kind="expert")
    brief = a_brief(repo=PARTS.repo, targets=TASK.targets)
    agent = KIND.make(AgentContext(model=model, steps=1, turns=10, log=Logged()))
    agent.act(brief, None, workspace)
    assert workspace.read("tools/clip.py") == ""
    agent.act(
        brief, Feedback(level=0, text="Feedback on turn 1, level L0.\nhidden tests: 1 of 4 fail.\n", turn=1), workspace
    )
    agent.act(
        brief, Feedback(level=0, text="Feedback on turn 2, level L0.\nhidden tests: 1 of 4 fail.\n", turn=2), workspace
    )
    assert "def clip" in workspace.read("tools/clip.py")
    assert "def mean" in workspace.read("stats.py")
