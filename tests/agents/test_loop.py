"""Agents in the loop of an episode, with real workspaces; judge and researcher are functions, as the loop has it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_recode.agents import Agent, noop, one_shot, person, recode, recode_h, reference
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Episode, Feedback, Move, Stop, Turn, loop
from pytest_recode.task import Files
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, USAGE, Scripted, a_brief, a_context


def judged(targets: Files) -> Verdict:
    right = b"return 2 * x" in targets.get("solver.py", b"")
    outcome = Outcome.PASSED if right else Outcome.FAILED
    return Verdict(cases=(Case(id="t", interface="solver.solve", outcome=outcome),), seed=0)


def asked(turns: Sequence[Turn], level: int) -> Feedback:
    return Feedback(level=level, text="Return 2 * x.", turn=turns[-1].number)


def play(agent: Agent, workspace: SandboxWorkspace, turns: int = 3) -> Episode:
    return loop.run(
        brief=a_brief(),
        agent=agent,
        workspace=workspace,
        judge=judged,
        researcher=asked,
        policy=lambda _: 4,
        turns=turns,
        seconds=600,
        on_turn=lambda _: None,
    )


def test_noop_changes_nothing_and_starts_nothing(open_walled: Open) -> None:
    workspace = open_walled()
    played = play(noop.KIND.make(a_context(None)), workspace)
    assert played.stop is Stop.TURNS
    assert [turn.targets for turn in played.turns] == [{"solver.py": REPO["solver.py"]}] * 3
    assert played.turns[0].move == Move()
    assert workspace._connection is None


def test_reference_solves_in_the_first_turn(open_workspace: Open) -> None:
    solution = {"solver.py": b"# \xe9\ndef solve(x):\n    return 2 * x\n"}
    context = a_context(None)
    agent = reference.KIND.make(
        type(context)(model=None, steps=3, turns=10, log=context.log, solution=lambda: solution)
    )
    played = play(agent, open_workspace())
    assert played.solved_turn == 1
    assert played.turns[0].targets == solution


def test_reference_needs_its_solution() -> None:
    with pytest.raises(ValueError, match="needs_reference"):
        reference.KIND.make(a_context(None))


def test_who_needs_what() -> None:
    flags = {
        kind: (kind.needs_model, kind.needs_reference, kind.offline)
        for kind in (recode.KIND, recode_h.KIND, one_shot.KIND, reference.KIND, noop.KIND, person.KIND)
    }
    assert flags[recode.KIND] == flags[recode_h.KIND] == flags[one_shot.KIND] == (True, False, False)
    assert flags[reference.KIND] == (False, True, True)
    assert flags[noop.KIND] == (False, False, True)
    assert flags[person.KIND] == (False, False, False)
    assert [kind for kind in flags if kind.needs_person] == [person.KIND]


def test_recode_solves_once_feedback_says_how(open_workspace: Open) -> None:
    mend = "```python solver.py\ndef solve(x):\n    return 2 * x\n```\n"
    model = Scripted(["```bash\ncat solver.py\n```", *["SUBMIT"] * 2, mend + "SUBMIT"])
    played = play(recode.KIND.make(a_context(model)), open_workspace())
    assert played.solved_turn == 2
    assert [turn.move.steps for turn in played.turns] == [2, 1]
    assert played.turns[0].move.asked_again == 1, "a hand-in of an untouched target"
    assert played.turns[1].usage == USAGE
    assert "Return 2 * x." in model.asked[3][-1].content


def test_one_shot_solves_once_feedback_says_how(open_workspace: Open) -> None:
    model = Scripted(["No idea.", "```python\ndef solve(x):\n    return 2 * x\n```"])
    played = play(one_shot.KIND.make(a_context(model)), open_workspace())
    assert played.solved_turn == 2


def test_recode_h_solves_once_feedback_says_how(open_workspace: Open) -> None:
    answers = ["reflect: -\naction:\nREAD solver.py", "reflect: -\naction:\nSUBMIT"]
    mend = "reflect: As told.\naction:\nREPLACE\n```python\ndef solve(x):\n    return 2 * x\n```"
    model = Scripted([*answers, mend, "reflect: -\naction: SUBMIT"])
    played = play(recode_h.KIND.make(a_context(model)), open_workspace())
    assert played.solved_turn == 2
    assert [turn.move.steps for turn in played.turns] == [2, 2]
    assert "Return 2 * x." in model.asked[2][-1].content
