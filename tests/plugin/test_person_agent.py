"""A person as the agent: in a terminal, with files in a directory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.messages import assert_line, assert_message

from .conftest import FILES
from .terminals import Terminal, terminal

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

PLAY = ("--recode-agent=person", "--recode-sandbox=process")
KEPT = (*PLAY, "--recode-out=out")
RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
HALF = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"
PROMPT = "submit or give up: "


@pytest.fixture(autouse=True)
def temporary(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the directories of persons are."""
    place = pytester.path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def directory(person: Terminal) -> Path:
    """What the terminal says is the directory to work in. Reads to the prompt."""
    shown = person.until(PROMPT)
    [found] = re.findall(r"^  (/\S+)$", shown, re.MULTILINE)
    return Path(found)


@pytest.mark.slow
def test_a_wrong_answer_gets_feedback_and_a_right_one_solves(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L1") as person:
        place = directory(person)
        assert "Twice x is x + x." in person.seen
        assert "Write answer.py with twice(x) and half(x)." in person.seen
        assert "answer.twice\nanswer.half" in person.seen
        assert {path.name for path in place.iterdir()} == {"answer.py", "constants.py", "paper.md", "instruction.md"}
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        shown = person.until(PROMPT)
        assert "turn 2 of 10" in shown
        assert "hidden tests: 1 of 2 fail" in shown
        assert "answer.half" in shown
        (place / "answer.py").write_text(RIGHT)
        (place / "notes.txt").write_text("mine")
        person.type("Submit \n")
        assert person.end() == pytest.ExitCode.OK
        assert "Turn 2: 2 of 2 hidden tests pass: solved." in person.seen
    [record] = results()
    assert (record["agent"], record["model"], record["outcome"], record["solved_turn"]) == ("person", None, "solved", 2)
    assert record["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}
    assert [turn["steps"] for turn in record["turns"]] == [1, 1]
    assert (place / "notes.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_person_plays_beside_another_agent(make_task: MakeTask, pytester: pytest.Pytester, results: Results) -> None:
    make_task()
    with terminal(pytester.path, "--recode-agent=reference", *KEPT, "--recode-feedback=L0") as person:
        place = directory(person)
        (place / "answer.py").write_text(RIGHT)
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.OK
    assert {(record["agent"], record["outcome"]) for record in results()} == {
        ("reference", "solved"),
        ("person", "solved"),
    }


@pytest.mark.slow
def test_with_records_files_remain_without_them_they_go(
    make_task: MakeTask, pytester: pytest.Pytester, temporary: Path
) -> None:
    make_task()
    with terminal(pytester.path, *PLAY, "--recode-feedback=L0") as person:
        place = directory(person)
        assert "removed when the episode has ended" in person.seen
        (place / "answer.py").write_text(RIGHT)
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.OK
    assert list(place.parent.iterdir()) == []
    assert list(pytester.path.glob("recode-out/*/workspaces/*")) == []


@pytest.mark.slow
def test_giving_up_grades_and_ends(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results, command: Command
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L0") as person:
        place = directory(person)
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        person.until(PROMPT)
        person.type("give up\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
        assert "Turn 2: 1 of 2 hidden tests pass: given up." in person.seen
        assert "given up in turn 2 by agent person" in person.seen
    [record] = results()
    assert (record["outcome"], record["stop"], len(record["turns"])) == ("unsolved", "given-up", 2)
    shown = command(pytester.path, "show", "out", "-k", "tiny").stdout
    assert "unsolved: given up" in shown
    assert "step 1  submit" in shown
    assert "step 1  give up" in shown
    assert "person" in command(pytester.path, "report", "out").stdout
    command(pytester.path, "html", "out", "-o", "out.html")
    page = (pytester.path / "out.html").read_text()
    assert "Unsolved: given up." in page
    command(pytester.path, "export", "out", "--to", "atif", "-o", "trajectories")
    [file] = (pytester.path / "trajectories").iterdir()
    trajectory = json.loads(file.read_text())
    assert trajectory["agent"]["name"] == "person"
    assert [step["source"] for step in trajectory["steps"]] == ["user", "agent"] * 2
    with terminal(pytester.path, *KEPT, "--recode-feedback=L0", "--recode-resume") as person:
        assert person.end() == pytest.ExitCode.TESTS_FAILED  # nothing is asked again
        assert PROMPT not in person.seen


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_graded_and_resume_goes_on(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L1") as person:
        place = directory(person)
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        person.until(PROMPT)
        (place / "answer.py").write_text(RIGHT)
        person.ctrl_c()
        assert person.end() == pytest.ExitCode.INTERRUPTED
        assert "INTERNALERROR" not in person.seen
        assert "KeyboardInterrupt" not in person.seen
        assert "stopped by Ctrl-C" in person.seen
        assert "interrupted: 1 of 1 episode," in person.seen
        assert_line(person.seen, "to resume", "--recode-resume")
    assert results() == []
    with terminal(pytester.path, *KEPT, "--recode-feedback=L1", "--recode-resume") as person:
        assert directory(person) == place
        assert "turn 2 of 10" in person.seen
        assert "hidden tests: 1 of 2 fail" in person.seen
        assert (place / "answer.py").read_text() == RIGHT
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.OK
    [record] = results()
    assert (record["solved_turn"], [turn["passed"] for turn in record["turns"]]) == (2, [1, 2])


@pytest.mark.slow
def test_an_input_that_ends_is_an_interruption(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT) as person:
        place = directory(person)
        person.type("\x04")
        assert person.end() == pytest.ExitCode.INTERRUPTED
        assert "stopped by the end of the input (Ctrl-D)" in person.seen
        assert "KeyboardInterrupt" not in person.seen
        assert "interrupted: 1 of 1 episode," in person.seen
        assert_line(person.seen, "to resume", "--recode-resume")
        assert "(user)" not in person.seen
    assert results() == []
    with terminal(pytester.path, *KEPT, "--recode-resume") as person:
        assert directory(person) == place
        (place / "answer.py").write_text(RIGHT)
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_piped_output_is_named(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, piped=True) as person:
        assert person.end() == pytest.ExitCode.USAGE_ERROR
        assert_line(person.seen, "--recode-agent=person", "the output of this run is piped", "another --recode-agent")


@pytest.mark.slow
def test_nothing_hidden_is_shown_below_l4(make_task: MakeTask, pytester: pytest.Pytester, temporary: Path) -> None:
    """Not in the directory, nor anywhere beside it, nor in the terminal, also when the episode is over."""
    tests = FILES["tests/test_answer.py"].replace("== 3.0", "== 3.0, 'the hidden words'")
    reference = FILES["reference/answer.py"].replace("return x * TWO", "return x * TWO  # the authors' words")
    make_task(files={"tests/test_answer.py": tests, "reference/answer.py": reference})
    hidden = ("the hidden words", "the authors' words", "TWO\n", "test_twice", "test_half", "candidate.answer")
    with terminal(pytester.path, *KEPT, "--recode-feedback=L3", "--recode-turns=2") as person:
        place = directory(person)
        (place / "answer.py").write_text("def twice(x):\n    return x\n\n\ndef half(x):\n    return x\n")
        person.type("submit\n")
        person.until(PROMPT)
        person.type("submit\n")
        shown = person.until(PROMPT)
        assert "answer.py is unchanged since the last verdict" in shown
        assert "type submit again to submit anyway" in shown
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
    beside = [path for path in temporary.rglob("*") if path.is_file()]
    assert {path.parent for path in beside} == {place}
    for text in (person.seen, *(path.read_text() for path in beside if path.name != "constants.py")):
        assert not [each for each in hidden if each in text]


@pytest.mark.slow
def test_at_l4_the_correction_is_shown(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L4") as person:
        place = directory(person)
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        assert "return x / TWO" in person.until(PROMPT)


@pytest.mark.slow
def test_policies_share_the_first_turn_and_not_the_directory(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L0", "--recode-feedback=L1") as person:
        first = directory(person)
        (first / "answer.py").write_text(HALF)
        person.type("submit\n")
        person.until(PROMPT)
        (first / "answer.py").write_text(RIGHT)
        person.type("submit\n")
        second = directory(person)
        assert second != first
        assert (second / "answer.py").read_text() == HALF
        person.type("give up\n")
        person.end()
    assert [(each["outcome"], bool(each["turns"][0]["shared"])) for each in results()] == [
        ("solved", False),
        ("unsolved", True),
    ]


@pytest.mark.slow
def test_the_episodes_time_limit_does_not_count_but_a_timeout_of_the_user_does(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task(manifest="limits: {episode_seconds: 0.001}\n")
    with terminal(pytester.path, *KEPT, "--recode-feedback=L0") as person:
        place = directory(person)
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        person.until(PROMPT)
        (place / "answer.py").write_text(RIGHT)
        person.type("submit\n")
        assert person.end() == pytest.ExitCode.OK
    assert len(results()[0]["turns"]) == 2
    with terminal(pytester.path, *PLAY, "--recode-out=limited", "--timeout=3") as person:
        person.until(PROMPT)
        person.end()
        assert "the limit of pytest-timeout (3 s) passed" in person.seen
    assert results("limited")[0]["error"]["kind"] == "time"


@pytest.mark.slow
def test_where_nobody_can_work_that_is_a_usage_error(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    for given, parts in {
        (): ("terminal", "another --recode-agent"),
        ("-n2",): ("terminal", "leave out -n", "another --recode-agent"),
        ("--recode-model=sim/novice",): ("calls no model", "leave out --recode-model"),
        ("--recode-feedback-from=person",): ("--recode-feedback-from=person", "--recode-feedback-from=files"),
        ("--recode-progress=live",): ("--recode-progress=live", "leave one of the two out"),
    }.items():
        result = recode(*KEPT, *given)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        [line] = [line for line in result.errlines if line.startswith("ERROR: ")]
        assert_message(line, "--recode-agent=person", *parts)
    assert not (pytester.path / "out").exists()


@pytest.mark.slow
def test_auto_never_runs_a_persons_code_without_isolation(
    make_task: MakeTask, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_task()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", "/nowhere")
    with terminal(pytester.path, "--recode-agent=person") as person:
        assert person.end() == pytest.ExitCode.USAGE_ERROR
        assert "--recode-sandbox=process" in person.seen


@pytest.mark.slow
def test_turns_of_a_person_are_not_replayed(make_task: MakeTask, pytester: pytest.Pytester, recode: Run) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L4") as person:
        (directory(person) / "answer.py").write_text(HALF)
        for answer in ("submit", "give up"):
            person.type(f"{answer}\n")
            if answer == "submit":
                person.until(PROMPT)
        person.end()
    result = recode("--recode-replay-feedback=out", "--recode-feedback=L0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(result.errlines[0], "--recode-replay-feedback", "no model", "--recode-model")
