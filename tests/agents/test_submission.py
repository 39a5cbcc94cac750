"""Hand-ins of the recode agent that wait, for each reason once a turn: what they may not have been meant to hand in is told first."""

from __future__ import annotations

import pytest

from tests.agents.conftest import Open
from tests.agents.played import RIGHT, SUBMIT, Played, block, feedback, shell
from tests.agents.scripted import Act, acts, answer

WRITE = ("write", {"path": "solver.py", "text": RIGHT})
NEW = "def solve(x):\n    return x + x\n"
SHOWN = f"The new function:\n\n```python\n{NEW}```"


def held(played: Played) -> list[str]:
    """What was told of each `submit` that was held as one of several actions."""
    lines = played.log.of("result")
    return [line["text"] for line in lines if line["kind"] == "submit" and not line["ok"]]


@pytest.mark.parametrize("native", [False, True])
def test_a_hand_in_of_untouched_targets_is_asked_again_once_a_turn(open_walled: Open, native: bool) -> None:
    played = Played(open_walled(), *[answer("submit", native=native)] * 4, steps=3)
    for turn in (1, 2):
        assert played.turn(feedback("No.") if turn > 1 else None) == (1, True)
        assert (played.move.unparsed, played.move.asked_again) == (1, 1)
        assert "Not handed in yet. solver.py is still as the repository delivered it." in played.prompt()
        again = "`submit`" if native else "SUBMIT"
        assert f"or hand in again ({again}) to leave the targets as they are." in played.prompt()


def test_each_call_beside_a_held_one_gets_a_result(open_walled: Open) -> None:
    played = Played(open_walled(), acts("list", "submit"), acts("submit"), steps=3)
    assert played.turn() == (2, True)
    roles = [message.role for message in played.model.asked[1]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    assert held(played)[0].startswith("Not handed in yet. solver.py is still")


@pytest.mark.parametrize("native", [False, True])
def test_in_the_last_step_untouched_targets_are_handed_in(open_walled: Open, native: bool) -> None:
    played = Played(open_walled(), answer("submit", native=native), steps=1)
    assert played.turn() == (1, True)
    assert played.move.asked_again == 0


@pytest.mark.parametrize("native", [False, True])
def test_what_was_written_and_is_right_is_handed_in_at_once(open_walled: Open, native: bool) -> None:
    write, alone = answer(WRITE, native=native), answer("submit", native=native)
    played = Played(open_walled(), write, alone, answer(WRITE, "submit", native=native), steps=3)
    assert played.turn() == (2, True)
    played = Played(open_walled(), answer(WRITE, "submit", native=native), steps=3)
    assert played.turn() == (1, True)


@pytest.mark.parametrize("native", [False, True])
def test_targets_of_the_last_verdict_are_not_handed_in_without_a_word(open_walled: Open, native: bool) -> None:
    both, alone = answer(WRITE, "submit", native=native), answer("submit", native=native)
    played = Played(open_walled(), both, both, alone, steps=3)
    assert played.turn() == (1, True)
    assert played.turn(feedback("No.")) == (2, True)
    [waits] = held(played)
    assert waits.startswith(
        "Not handed in yet. No target was changed since the last verdict. Write what is missing, or"
    )


def test_the_targets_that_were_changed_are_listed(open_walled: Open) -> None:
    played = Played(open_walled(), f"{block(RIGHT)}\n{shell('false')}\n{SUBMIT}", SUBMIT, steps=3)
    played.turn()
    assert "Changed in this turn: solver.py." in held(played)[0]


LOOK = ("run", {"command": "ls"})
OTHER = ("write", {"path": "lib/helpers.py", "text": "x = 1\n"})


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("others", [["submit"], [LOOK], [LOOK, "submit"], [OTHER, "submit"]], ids=str)
def test_code_that_is_no_action_is_asked_about_unless_a_target_is_written(
    open_walled: Open, others: list[Act], native: bool
) -> None:
    """Up to three times in a row, whatever else the answer says: with the hand-in, the turn would be lost."""
    lost = answer(*others, native=native, text=SHOWN)
    played = Played(open_walled(), lost, lost, lost, answer(WRITE, "submit", native=native), steps=1)
    assert played.turn() == (1, True)
    assert (played.move.unparsed, played.move.asked_again) == (3, 3)
    assert "The block that line 3 opens (```python) is no " in played.prompt()
    assert "Nothing was done. Leave out code that you only show." in played.prompt()
    assert [line["kind"] for line in played.log.of("action")] == ["write"]


@pytest.mark.parametrize("native", [False, True])
def test_the_fourth_time_that_code_is_lost_is_a_step(open_walled: Open, native: bool) -> None:
    lost = answer("submit", native=native, text=SHOWN)
    played = Played(open_walled(), *[lost] * 4, steps=1)
    assert played.turn() == (1, False)
    assert (played.move.unparsed, played.move.asked_again) == (4, 3)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("write", [WRITE, ("write", {"path": "./solver.py", "text": RIGHT})], ids=["path", "./path"])
def test_code_that_is_shown_above_a_written_target_holds_nothing(open_walled: Open, write: Act, native: bool) -> None:
    """It costs no step, and replaces no file by an excerpt: what to do is said for one case."""
    played = Played(open_walled(), answer(write, "submit", native=native, text=SHOWN), steps=3)
    assert played.turn() == (1, True)
    assert played.move.unparsed == 0
    note = played.results()[-1].removeprefix("The targets are handed in.\nNote: ")
    assert note.startswith("The block that line 3 opens (```python) is no ")
    assert "If it was meant " in note


@pytest.mark.parametrize(
    "lost",
    [
        "```diff solver.py\n-x\n+y\n```",
        "solver.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```",
        "solver.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```",
        f"```python solver.py (complete)\n{RIGHT}```",
    ],
    ids=["diff", "path above", "path above a bare fence", "word behind the path"],
)
def test_a_change_in_another_form_does_not_end_the_turn(open_walled: Open, lost: str) -> None:
    played = Played(open_walled(), f"{lost}\n\n{SUBMIT}", f"{block(RIGHT)}\n{SUBMIT}", steps=3)
    assert played.turn() == (1, True)
    assert (played.move.unparsed, played.move.asked_again) == (1, 1)
    assert "is no action: no file has its code." in played.prompt()
    assert played.workspace.targets() == {"solver.py": RIGHT.encode()}


BROKEN = ("write", {"path": "solver.py", "text": "def solve(x:\n"})
PART = ("write", {"path": "solver.py", "text": "# ... existing code ...\ndef twice(x):\n    return 2 * x\n"})
FAILS = ("run", {"command": "apply_patch <<'P'\n*** Begin Patch\nP"})
STOPPED = ("run", {"command": "sleep 100", "timeout": "0.1"})


@pytest.mark.parametrize(
    ("before", "doubt", "native"),
    [
        *((FAILS, "Action 2 (`run`) failed.", native) for native in (False, True)),
        (STOPPED, "Action 2 (`run`) failed.", True),
        *((BROKEN, "solver.py is not valid Python (line 1: ", native) for native in (False, True)),
        *((PART, "solver.py does not define `solve` any more.", native) for native in (False, True)),
    ],
)
def test_a_submit_waits_where_the_answer_did_not_do_what_it_was_for(
    open_walled: Open, before: Act, doubt: str, native: bool
) -> None:
    both, alone = answer(WRITE, before, "submit", native=native), answer("submit", native=native)
    played = Played(open_walled(), both, alone, steps=3)
    assert played.turn() == (2, True)
    [waits] = held(played)
    assert waits.startswith("Not handed in yet.")
    assert doubt in waits


@pytest.mark.parametrize("before", [FAILS, BROKEN, PART])
def test_a_submit_in_the_last_step_does_not_wait(open_walled: Open, before: Act) -> None:
    played = Played(open_walled(), answer(before, "submit", native=False), steps=1)
    assert played.turn() == (1, True)
    assert played.results()[-1].startswith("The targets are handed in. Note: ")


def test_a_submit_waits_once_for_each_reason(open_walled: Open) -> None:
    broken = answer(BROKEN, "submit", native=False)
    played = Played(open_walled(), SUBMIT, broken, broken, steps=4)
    assert played.turn() == (2, True)
    assert played.move.asked_again == 1


@pytest.mark.parametrize(
    "end", [f"{SUBMIT}\n{shell('ls')}", f"{shell('ls')}\nAction: SUBMIT", f"{shell('ls')}\nSUBMIT<|im_end|>"]
)
def test_the_word_for_handing_in_counts_as_the_last_line_alone(open_walled: Open, end: str) -> None:
    played = Played(open_walled(), end, f"{block(RIGHT)}\n{end}", steps=2)
    assert played.turn() == (2, False)
    first, *last = played.results()
    assert first.endswith(
        "\nNote: SUBMIT is not alone on the last line of your answer: the targets were not handed in."
    )
    assert not any("Note:" in text for text in last), "after the last step they are handed in"


@pytest.mark.parametrize("native", [False, True])
def test_a_file_beside_the_target_is_said_to_be_none(open_walled: Open, native: bool) -> None:
    wrong = ("write", {"path": "src/solver.py", "text": RIGHT})
    played = Played(open_walled(), answer(wrong, native=native), steps=1)
    played.turn()
    assert played.results()[0].endswith("It is no target: solver.py is handed in.")


def test_what_a_command_ran_or_failed_in_an_earlier_answer_holds_nothing(open_walled: Open) -> None:
    played = Played(open_walled(), answer(WRITE, FAILS, native=False), SUBMIT, steps=3)
    assert played.turn() == (2, True)
    assert played.move.asked_again == 0


@pytest.mark.parametrize("text", ["from math import sqrt as solve\n", "from lib.helpers import *\n"])
def test_a_submit_does_not_wait_for_a_name_that_is_no_definition_any_more(open_walled: Open, text: str) -> None:
    bound = ("write", {"path": "solver.py", "text": text})
    played = Played(open_walled(), answer(bound, "submit", native=False), steps=3)
    assert played.turn() == (1, True)


def test_a_command_that_succeeded_in_the_end_has_not_failed(open_walled: Open) -> None:
    tried = ("run", {"command": "false\ntrue"})
    played = Played(open_walled(), answer(WRITE, tried, "submit", native=False), steps=3)
    assert played.turn() == (1, True)


@pytest.mark.parametrize("native", [False, True])
def test_a_target_that_a_command_wrote_is_handed_in(open_walled: Open, native: bool) -> None:
    command = f"cat > solver.py <<'E'\n{NEW}E"
    played = Played(open_walled(), answer(("run", {"command": command}), "submit", native=native), steps=3)
    assert played.turn() == (1, True)
    assert played.workspace.targets() == {"solver.py": NEW.encode()}


@pytest.mark.parametrize("native", [False, True])
def test_nothing_is_handed_in_after_a_refused_action(open_walled: Open, native: bool) -> None:
    edit = ("edit", {"path": "solver.py", "old": "no such text\n", "new": "x\n"})
    played = Played(open_walled(), answer(WRITE, edit, "submit", native=native), steps=1)
    assert played.turn() == (1, False)
    assert played.results()[2] == "Not done, since action 2 (`edit`) was refused."


@pytest.mark.parametrize("native", [False, True])
def test_a_submit_before_other_actions_leaves_the_answer_undone(open_walled: Open, native: bool) -> None:
    # a block with the word alone is a submit, too
    text = f"```\nSUBMIT\n```\n\n{block(RIGHT)}"
    played = Played(open_walled(), acts("submit", WRITE) if native else text, answer("submit", native=native), steps=1)
    assert played.turn() == (1, True)
    assert played.move.asked_again == 1
    assert "`submit` ends the turn, but comes before `write` in your answer. Nothing was done." in played.prompt()
    assert b"NotImplementedError" in played.workspace.targets()["solver.py"]
