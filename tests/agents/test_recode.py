"""The recode agent: its steps, what it tells the model, answers that cannot be used, and the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest

from pytest_recode.agents.recode import KIND
from pytest_recode.agents.text_form import form
from pytest_recode.agents.unusable_answers import cost_text
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, UserError
from pytest_recode.models import Message, Reply
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment, Limits
from tests.agents.conftest import Open
from tests.agents.played import RIGHT, SUBMIT, Played, block, feedback, shell
from tests.agents.scripted import USAGE, Scripted, a_brief, a_context, acts, answer, calls

LOOK = shell("ls lib")


@pytest.mark.parametrize("native", [False, True])
def test_it_writes_and_submits(open_workspace: Open, native: bool) -> None:
    write = ("write", {"path": "solver.py", "text": RIGHT})
    played = Played(open_workspace(), answer(write, native=native), answer("submit", native=native), steps=3)
    assert played.turn() == (2, True)
    assert played.move.usage == USAGE + USAGE
    assert (played.move.unparsed, played.move.asked_again) == (0, 0)
    assert played.workspace.targets() == {"solver.py": RIGHT.encode()}


@pytest.mark.parametrize("native", [False, True])
def test_one_answer_may_do_all(open_walled: Open, native: bool) -> None:
    all_of_it = answer(
        ("write", {"path": "solver.py", "text": RIGHT}),
        ("run", {"command": "python -c 'import solver; print(solver.solve(4))'"}),
        "submit",
        native=native,
    )
    played = Played(open_walled(), all_of_it, steps=3)
    assert played.turn() == (1, True)
    assert played.results() == ["Wrote solver.py (2 lines).", "Exit status 0.\n8\n", "The targets are handed in."]


@pytest.mark.parametrize("native", [False, True])
def test_steps_that_run_out_hand_in_what_is_there(open_walled: Open, native: bool) -> None:
    answers = [answer(("write", {"path": "solver.py", "text": f"{n}\n"}), native=native) for n in range(4)]
    played = Played(open_walled(), *answers, steps=3)
    assert played.turn() == (3, False)
    assert len(played.model.asked) == 3
    assert played.workspace.targets() == {"solver.py": b"2\n"}


def test_the_model_is_asked_before_any_sandbox_starts(open_workspace: Open) -> None:
    workspace = open_workspace()

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
    played = Played(open_walled(), block("x = 1\n"), SUBMIT, SUBMIT, steps=3)
    played.turn()
    first, second = played.prompt(0), played.prompt(1)
    for words in (
        "The paper says: solve(x) is 2 x.",
        "Write solve(x).",
        "# Targets (the files you must write)\n\nsolver.py",
        "solver.solve",
        "README.md\nlib/helpers.py\nsolver.py",
        form("solver.py"),
        "None yet: this is the first turn.",
    ):
        assert words in first
        assert words in second
    assert "raise NotImplementedError" in first
    assert "## solver.py\n\n```\nx = 1\n```" in second
    budget = "Step 1 of 3 in turn 1 of 10. After step 3 the targets are handed in as they are; SUBMIT hands them"
    assert budget in first
    assert "Step 2 of 3 in turn 1 of 10." in second
    assert "Result of write solver.py:\nWrote solver.py (1 line)." in second


def test_a_model_with_native_tools_is_told_no_form_of_text(open_walled: Open) -> None:
    played = Played(open_walled(), acts("submit"))
    played.turn()
    assert form("solver.py") not in played.prompt(0)
    assert "```bash" not in played.prompt(0)


def test_a_model_is_told_that_inputs_change_and_what_a_level_is(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.turn()
    system = played.model.asked[0][0].content
    assert "may draw new inputs each time, so the number of failing cases can change" in system
    assert "from L0, that tests fail, to L4" in system


def test_the_last_step_is_told(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT, steps=1)
    played.turn()
    last = "This is the last step of the turn: after it the targets are handed in as they are."
    assert played.last().endswith(f"Step 1 of 1 in turn 1 of 10. {last}")


def test_the_prompt_says_that_paper_and_instruction_are_files(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.turn()
    first = played.model.asked[0][1].content
    assert "# Paper (paper.md)\n\nThe paper says: solve(x) is 2 x." in first
    assert "# Instruction (instruction.md)\n\nWrite solve(x)." in first
    beside = "Beside these files, paper.md and instruction.md of the workspace hold the text above, word for word."
    assert f"# Files of the repository\n\nREADME.md\nlib/helpers.py\nsolver.py\n\n{beside}" in first


def test_without_the_paper_the_prompt_does_not_send_anybody_to_it(walls: Sandbox) -> None:
    brief = a_brief(paper=None, instruction="The method is that of `paper.md`.")
    model = Scripted([SUBMIT])
    with SandboxWorkspace(walls, brief, Environment(), Limits()) as workspace:
        KIND.make(a_context(model, steps=1)).act(brief, None, workspace)
    first = model.asked[0][1].content
    assert "# Paper\n\nThe instruction refers to paper.md, which is not part of this run.\n\n# Instruction (" in first
    assert "Beside these files, instruction.md of the workspace holds the text above" in first


def test_without_a_paper_there_is_none(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.brief = a_brief(paper=None)
    played.turn()
    assert "# Paper" not in played.model.asked[0][1].content


@pytest.mark.parametrize("native", [False, True])
def test_feedback_of_each_turn_arrives_and_is_remembered(open_walled: Open, native: bool) -> None:
    played = Played(open_walled(), *[answer("submit", native=native)] * 3, steps=1)
    played.turn()
    played.turn(feedback("The factor is wrong.", 1))
    assert "# Feedback on turn 1\n\nThe factor is wrong." in played.last()
    assert "Turn 1 is over: the work was handed in, and did not pass all hidden tests." in played.last()
    assert "in turn 2 of 10" in played.last()
    played.turn(feedback("The sign is wrong.", 2))
    assert "# Feedback on turn 2\n\nThe sign is wrong." in played.last()
    earlier = played.prompt()
    assert earlier.count("# Feedback on turn 1\n\nThe factor is wrong.") == 1
    assert earlier.index("The factor is wrong.") < earlier.index("Turn 2 is over") < earlier.index("The sign is wrong.")


def test_how_the_turn_before_ended_is_told(open_walled: Open) -> None:
    played = Played(open_walled(), LOOK, LOOK, steps=1)
    played.turn()
    played.turn(feedback("No."))
    assert "Turn 1 is over: the work was handed in as it was, after all 1 steps, and did not pass" in played.last()


def test_a_target_that_is_none_is_told(open_walled: Open) -> None:
    played = Played(open_walled(), shell("rm solver.py; ln -s README.md solver.py"), SUBMIT)
    played.turn()
    absent = "## solver.py\n\n(absent: it does not exist, or is no regular file, or is larger than 1 MiB)"
    assert absent in played.last()


def test_messages_of_the_user_never_follow_each_other(open_walled: Open) -> None:
    played = Played(open_walled(), block("a = 1\n"), "garbage", *[SUBMIT] * 4, steps=3)
    played.turn()
    played.turn(feedback("No."))
    for asked in played.model.asked:
        roles = [message.role for message in asked]
        assert roles[0] == "system"
        assert all(one != other for one, other in pairwise(roles)), roles


# Answers that cannot be used


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("", "Your answer was empty."),
        ("I'm sorry, but I can't assist with that.", "Your answer has no action"),
        ("\udcff garbage \ud800", "Your answer has no action"),
        ("\x00", "holds a null character (U+0000)"),
        ("x" * 10_000_000, "Your answer has 10000000 characters; at most 1000000 are read."),
        (Reply(text=SUBMIT, finish="length"), "cut off at the model's limit of output. Nothing was done."),
        (Reply(text=SUBMIT, finish="content_filter"), "The provider's content filter ended your answer."),
        (
            f"Here it is:\n\n```python\n{RIGHT}```\n",
            "open it with the file's path and nothing behind it, such as ```python solver.py. Nothing was done.",
        ),
        ('{"tool": "read", "arguments": {"path": "solver.py"}}', "Your answer has no action"),
        (block(RIGHT, "/etc/passwd.py"), "/etc/passwd.py is outside the workspace"),
        (block(RIGHT, "src/../../x.py"), "may not go up by"),
    ],
    ids=["empty", "refusal", "garbage", "null", "huge", "cut-off", "filtered", "code", "json", "outside", "escape"],
)
def test_a_bad_answer_costs_no_step_and_is_answered(open_walled: Open, bad: str | Reply, words: str) -> None:
    played = Played(open_walled(), bad, SUBMIT, steps=1)
    assert played.turn() == (1, True)
    assert (played.move.unparsed, played.move.asked_again) == (1, 1)
    assert [(line["step"], line.get("asked_again", False)) for line in played.log.of("step")] == [(1, True), (1, False)]
    assert played.log.of("action") == []
    assert words in played.last()
    assert cost_text(1) in played.last()
    assert len(played.prompt(1)) < 60_000
    for message in played.model.asked[1]:
        message.content.encode()
        assert message.content


@pytest.mark.parametrize("native", [False, True])
def test_nothing_of_an_answer_is_done_if_one_of_its_actions_cannot_be(open_walled: Open, native: bool) -> None:
    first, bad = ("write", {"path": "solver.py", "text": RIGHT}), ("write", {"path": "/etc/passwd", "text": "x\n"})
    played = Played(open_walled(), answer(first, bad, native=native), answer("submit", native=native), steps=1)
    played.turn()
    assert played.workspace.targets() == {"solver.py": a_brief().repo["solver.py"]}
    assert "/etc/passwd is outside the workspace: give a path relative to it. Nothing was done." in played.prompt()


@pytest.mark.parametrize("bad", ["no", calls(("fly", "{}"))], ids=["text", "native"])
def test_a_fourth_bad_answer_in_a_row_costs_a_step(open_walled: Open, bad: str | Reply) -> None:
    """Each step is asked four times."""
    played = Played(open_walled(), *[bad] * 12, steps=3)
    assert played.turn() == (3, False)
    assert (played.move.unparsed, played.move.asked_again) == (12, 9)
    costs = [cost_text(number) for number in (1, 2, 3, 0)]
    told = [message.content for message in played.model.asked[4] if message.content.startswith("This answer")]
    assert [text.startswith(cost) for text, cost in zip(told, costs, strict=True)] == [True] * 4
    assert ["cost no step" in cost for cost in costs] == [True, True, True, False]
    assert "the next such answer costs one" in costs[2]


def test_an_answer_that_can_be_used_ends_the_row_of_bad_ones(open_walled: Open) -> None:
    played = Played(open_walled(), "no", "no", "no", LOOK, "no", "no", "no", SUBMIT, steps=2)
    assert played.turn() == (2, True)
    assert (played.move.unparsed, played.move.asked_again) == (6, 6)


def test_a_turn_begins_with_no_bad_answers(open_walled: Open) -> None:
    played = Played(open_walled(), *["no"] * 7, SUBMIT, steps=1)
    assert played.turn() == (1, False)
    assert played.turn(feedback("No.")) == (1, True)
    assert (played.move.unparsed, played.move.asked_again) == (3, 3)


def test_bad_answers_leave_the_targets_and_start_no_sandbox(open_walled: Open) -> None:
    played = Played(open_walled(), *["no"] * 12, steps=3)
    assert played.turn() == (3, False)
    assert played.workspace.targets() == {"solver.py": a_brief().repo["solver.py"]}
    assert played.workspace._connection is None


# The transcript


PARTS = ("observation", "reflection", "planning")


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        (f"### Observation\nO\n### Reflection\nR\n### Planning\nP\n### Action\n{LOOK}", ("O", "R", "P")),
        (f"### Planning\nP\n{LOOK}", ("", "", "P")),
        (LOOK, ("", "", "")),
        (f"Prose.\n{LOOK}", ("", "Prose.", "")),
        ("### Observation\nO\n### Planning\nP", ("O", "", "P")),
        (f"### Reflection\nR\n{LOOK}```python", ("", "R", "")),
        ("I cannot.", ("", "I cannot.", "")),
        ("", ("", "", "")),
        (acts(("list", {"observation": "O", "reflection": "R", "planning": "P"})), ("O", "R", "P")),
        (acts(("list", {"planning": "P"})), ("", "", "P")),
        (acts("list", text="### Observation\nO\n### Reflection\nR"), ("O", "R", "")),
        (acts("list", text="Prose."), ("", "Prose.", "")),
        (acts("list"), ("", "", "")),
        (calls(("list", "{oops"), text="### Planning\nP"), ("", "", "P")),
    ],
)
def test_the_four_stages_of_every_step_are_recorded(
    open_walled: Open, reply: str | Reply, parts: tuple[str, str, str]
) -> None:
    played = Played(open_walled(), *[reply] * 4, steps=1)
    played.turn()
    step = played.log.of("step")[-1]
    assert tuple(step[name] for name in PARTS) == parts
    acted = ["list"] if isinstance(reply, Reply) else ["run"]
    assert step["actions"] == ([] if step["error"] else acted)
    assert {"turn", "step", *PARTS, "actions", "error", "usage", "finish"} <= set(step)


def test_the_transcript_tells_everything(open_walled: Open) -> None:
    look = f"### Observation\nO\n### Reflection\nR\n### Planning\nP\n\n{shell('cat README.md')}"
    played = Played(open_walled(), look, "no", SUBMIT, steps=2)
    played.turn()
    ran, bad, submit = played.log.of("step")
    assert {name: ran[name] for name in ("turn", "step", *PARTS, "actions", "error", "usage", "finish")} == {
        "turn": 1,
        "step": 1,
        "observation": "O",
        "reflection": "R",
        "planning": "P",
        "actions": ["run"],
        "error": "",
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5},
        "finish": "",
    }
    assert (bad["step"], bad["asked_again"]) == (2, True)
    assert bad["error"].startswith("Your answer has no action")
    assert submit["actions"] == ["submit"]
    assert played.log.of("action") == [
        {"turn": 1, "step": 1, "number": 1, "kind": "run", "arguments": {"command": "cat README.md"}}
    ]
    assert [(line["step"], line["kind"], line["ok"]) for line in played.log.of("result")] == [
        (1, "run", True),
        (2, "submit", True),
    ]
    logged = "\n\n".join(line["content"] for line in played.log.of("message"))
    for asked in played.model.asked:
        for message in asked:
            for piece in message.content.split("\n\n"):
                assert piece in logged
