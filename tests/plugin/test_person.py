"""A person as the researcher: in a terminal of its own, and by files, alone and with workers."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.feedback.model_answers import MEANINGS
from tests.messages import assert_message

from .conftest import words
from .terminals import terminal

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

ASKED = ("--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-out=out", "--recode-sandbox=process")
PERSON = ("--recode-feedback-from=person", *ASKED)
FILES = ("--recode-feedback-from=files", *ASKED)


def feedback(root: Path) -> dict[str, Any]:
    """The only one in the run's transcripts."""
    lines = [line for path in root.glob("out/episodes/*.jsonl") for line in path.read_text().splitlines()]
    [found] = [entry for line in lines if (entry := json.loads(line))["event"] == "feedback"]
    return dict(found)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("-s",)], ids=["captured", "not captured"])
@pytest.mark.usefixtures("agents")
def test_a_person_is_asked_in_the_terminal_what_the_level_shows(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results, more: tuple[str, ...]
) -> None:
    make_task()
    with terminal(pytester.path, *PERSON, "--recode-feedback=L3", *more) as person:
        shown = person.until("category [T2]: ")
        assert "turn 1, level L3: hidden tests: 1 of 2 fail" in shown
        assert "answer.half: 1 of 1 hidden tests fail: " in shown
        assert "-    raise NotImplementedError\n" in shown
        assert "+    return x\n" in shown
        assert "Interface: answer.half (1 of 1)" in shown
        person.type("T7\n")
        person.until("choose one of T0, T1, T2, T3, T4")
        person.type("T3\n")
        person.until("\ndescription: ")
        person.type("Half is whole.\n\n")
        person.until("\nanalysis: ")
        person.type("\n")
        person.until("\nsuggestion: ")
        person.type("```\nreturn x / TWO\n```\n\n")
        person.until("only code")
        person.until("correction, at level L4")
        person.type("Divide by two,\nand mind the sign.\n\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
        assert "correction: " not in person.seen
    given = feedback(pytester.path)
    [item] = given["items"]
    assert (given["source"], given["level"], item["category"]) == ("person", "L3", "T3")
    assert (item["description"], item["suggestion"]) == ("Half is whole.", "Divide by two,\nand mind the sign.")
    assert item["analysis"]  # as it would have been without a person
    assert "Suggestion: Divide by two,\n  and mind the sign.\n" in given["text"]
    [record] = results()
    assert record["settings"]["feedback_from"] == "person"
    assert record["turns"][1]["feedback"]["source"] == "person"


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_at_l4_code_is_asked_for(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    make_task()
    with terminal(pytester.path, *PERSON, "--recode-feedback=L4") as person:
        for prompt in ("category [T2]: ", "\ndescription: ", "\nanalysis: ", "\nsuggestion: "):
            person.until(prompt)
            person.type("\n")
        person.until("\ncorrection: ")
        person.type("def half(x:\n.\n")
        person.until("the code does not parse")
        person.type("def half(x):\n\n    return x / 2\n.\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
    assert feedback(pytester.path)["items"][0]["correction"] == "def half(x):\n\n    return x / 2"


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_at_l0_nobody_is_asked(make_task: MakeTask, pytester: pytest.Pytester) -> None:
    make_task()
    with terminal(pytester.path, *PERSON[:-2], "--recode-out=none", PERSON[-1], "--recode-feedback=L0") as person:
        assert person.end() == pytest.ExitCode.TESTS_FAILED
        assert "You are the researcher" not in person.seen


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_a_persons_words_that_repeat_the_reference_are_cut_and_marked(
    make_task: MakeTask, pytester: pytest.Pytester
) -> None:
    make_task()
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1") as person:
        person.until("category [")
        person.type("\n")
        person.until("\ndescription: ")
        person.type("They say from constants import TWO def twice ( x ) : return x * TWO there.\n\n")
        person.until("repeats code of the reference, which will be cut")
        person.type("\n")
        person.end()
    given = feedback(pytester.path)
    assert given["items"][0]["description"] == "They say [left out] there."
    assert given["audit"]["cut"] == 1
    assert given["audit"]["reference_run"] >= 8


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_ctrl_c_ends_the_run_and_resume_asks_again(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1") as person:
        person.until("category [")
        person.ctrl_c()
        assert person.end() == pytest.ExitCode.INTERRUPTED
        assert "INTERNALERROR" not in person.seen
    assert results() == []
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1", "--recode-resume") as person:
        person.until("category [")
        person.type("\n")
        person.until("\ndescription: ")
        person.type("Half is whole.\n\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
    assert [record["outcome"] for record in results()] == ["unsolved"]


NOTHING = ("--recode-feedback-from=person", "--recode-agent=noop", *ASKED[1:])


@pytest.mark.slow
def test_ctrl_c_in_the_middle_keeps_what_was_said_of_other_interfaces(
    make_task: MakeTask, pytester: pytest.Pytester
) -> None:
    make_task()
    with terminal(pytester.path, *NOTHING, "--recode-feedback=L1") as person:
        person.until("Interface: answer.twice (1 of 2)")
        person.until("category [")
        person.type("T3\n")
        person.until("\ndescription: ")
        person.type("Twice is nothing.\n\n")
        person.until("Interface: answer.half (2 of 2)\n")
        person.until("category [")
        person.type("T4\n")
        person.until("\ndescription: ")
        person.type("Half of this is los")
        person.ctrl_c()
        assert person.end() == pytest.ExitCode.INTERRUPTED
    [kept] = (pytester.path / "out/feedback").iterdir()
    with terminal(pytester.path, *NOTHING, "--recode-feedback=L1", "--recode-resume") as person:
        person.until("Interface: answer.twice (1 of 2): answered before")
        person.until("Interface: answer.half (2 of 2)\n")
        person.until("category [")
        person.type("\n")
        person.until("\ndescription: ")
        person.type("Half is nothing.\n\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
    stored = {item["interface"]: (item["category"], item["description"]) for item in feedback(pytester.path)["items"]}
    assert stored["answer.twice"] == ("T3", "Twice is nothing.")
    assert stored["answer.half"][1] == "Half is nothing."
    assert not kept.exists()


@pytest.mark.slow
def test_what_was_said_so_far_and_was_damaged_is_an_error_that_names_it(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *NOTHING, "--recode-feedback=L1") as person:
        person.until("category [")
        person.type("\n")
        person.until("\ndescription: ")
        person.type("Gone.\n\n")
        person.until("Interface: answer.half (2 of 2)\n")
        person.until("category [")
        person.ctrl_c()
        person.end()
    [kept] = (pytester.path / "out/feedback").iterdir()
    kept.write_text("[]")
    with terminal(pytester.path, *NOTHING, "--recode-feedback=L1", "--recode-resume") as person:
        person.end()
    [record] = results()
    assert record["error"]["kind"] == "user"
    assert_message(record["error"]["message"], str(kept), "damaged", "TypeError", "remove it")


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_the_categories_are_explained_once_and_taken_in_lower_case(
    make_task: MakeTask, pytester: pytest.Pytester
) -> None:
    make_task("one")
    make_task("two")
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1", width=200) as person:
        for place in ("one", "two"):
            shown = person.until("category [T2]: ")
            assert f"bench/{place}/task.yaml" in shown
            for category, meaning in MEANINGS.items():
                assert (f"  {category}  {meaning}\n" in shown) == (place == "one")
            person.type("t3\n")
            person.until("\ndescription: ")
            person.type("Half is whole.\n\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
        assert "choose one of" not in person.seen
    lines = [line for path in pytester.path.glob("out/episodes/*.jsonl") for line in path.read_text().splitlines()]
    given = [entry for line in lines if (entry := json.loads(line))["event"] == "feedback"]
    assert [entry["items"][0]["category"] for entry in given] == ["T3", "T3"]


@pytest.mark.usefixtures("agents")
@pytest.mark.slow
def test_an_answer_arrives_as_it_was_typed_however_narrow_the_terminal(
    make_task: MakeTask, pytester: pytest.Pytester
) -> None:
    make_task()
    long = " ".join(f"word{number}" for number in range(800))
    assert len(long) > 4096  # which is all that a terminal's own line takes
    header = f"Note: rescale\nfor each row:\n  halve it\n{long}"
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1", width=40) as person:
        person.until("category [T2]: ")
        person.type("\n")
        person.until("\ndescription: ")
        person.type(f"{header}\n`return x / 2`\n\n")
        person.until("contains code")
        person.until("\ndescription: ")
        person.type(f"{header}\n\n")
        assert person.end() == pytest.ExitCode.TESTS_FAILED
    assert feedback(pytester.path)["items"][0]["description"] == header


@pytest.mark.usefixtures("agents")
@pytest.mark.slow
def test_an_input_that_ends_is_an_error_and_no_feedback(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *PERSON, "--recode-feedback=L1") as person:
        person.until("category [")
        person.type("\x04")
        person.end()
    [record] = results()
    assert (record["outcome"], record["error"]["kind"], len(record["turns"])) == ("error", "user", 1)
    assert_message(record["error"]["message"], "input ended", "--recode-resume", "--recode-feedback-from=files")


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_where_nobody_can_be_asked_that_is_a_usage_error(make_task: MakeTask, recode: Run) -> None:
    make_task()
    result = recode(*PERSON, "--recode-feedback=L1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(words(result), "--recode-feedback-from=person", "terminal", "--recode-feedback-from=files")
    result = recode(*PERSON, "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_message(words(result), "--recode-feedback-from=person", "leave out -n", "--recode-feedback-from=files")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("nobody",), "--recode-feedback-from=nobody is not auto, person or files"),
        (
            ("files", "--recode-feedback=none"),
            "--recode-feedback-from=files has nothing to ask with --recode-feedback=none: leave one of the two out",
        ),
        (
            ("files", "--recode-feedback-model=o4-mini"),
            "--recode-feedback-from=files and --recode-feedback-model=o4-mini both write the feedback:"
            " leave one of the two out",
        ),
    ],
)
def test_what_does_not_go_together(make_task: MakeTask, recode: Run, given: tuple[str, ...], message: str) -> None:
    make_task()
    result = recode(f"--recode-feedback-from={given[0]}", *given[1:])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in words(result)


# -- by files ------------------------------------------------------------------------------------------------------


class Background:
    """A session that waits for files, read as it tells of them."""

    def __init__(self, cwd: Path, *args: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--color=no", *args],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(cwd), "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.seen: list[str] = []

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen.append(line)
            yield line

    def until(self, pattern: str) -> re.Match[str]:
        for line in self.lines():
            if match := re.search(pattern, line):
                return match
        raise AssertionError("".join(self.seen))


@contextmanager
def background(cwd: Path, *args: str) -> Iterator[Background]:
    started = Background(cwd, *args)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.wait()
        assert started.process.stdout is not None
        started.process.stdout.close()


WAITING = r"recode: waiting for feedback in (\S+\.yaml): see (\S+\.request\.md) for what to write"
ANSWER = "answer.half:\n  category: T3\n  description: Half is whole.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_a_run_waits_for_files_and_goes_on(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results, workers: str
) -> None:
    names = ("a", "b", "c")
    for name in names:
        make_task(name)
    with background(pytester.path, *FILES, "--recode-feedback=L2", workers) as run:
        for _ in names:
            match = run.until(WAITING)
            answer = Path(match[1])
            request = (answer.parent / match[2]).read_text()
            assert "turn 1, level L2: hidden tests: 1 of 2 fail" in request
            assert "answer.half: 1 of 1 hidden tests fail" in request
            assert "+    return x\n" in request
            assert "suggestion:" not in request
            answer.write_text(ANSWER)
        assert run.process.wait(120) == pytest.ExitCode.TESTS_FAILED if not list(run.lines()) else True
    assert {record["outcome"] for record in results()} == {"unsolved"}
    assert len(results()) == 3
    for record in results():
        [feedback] = [turn["feedback"] for turn in record["turns"] if turn["feedback"]]
        [item] = feedback["items"]
        assert (feedback["source"], item["interface"], item["category"]) == ("person", "answer.half", "T3")
        assert item["authors"]["description"] == "person"
        assert item["authors"]["analysis"] == "derived"


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_the_form_in_the_request_is_an_answer(make_task: MakeTask, pytester: pytest.Pytester, results: Results) -> None:
    make_task()
    with background(pytester.path, *FILES, "--recode-feedback=L4") as run:
        match = run.until(WAITING)
        answer = Path(match[1])
        request = (answer.parent / match[2]).read_text()
        [form] = re.findall(r"^```yaml\n(.*?)^```$", request, re.MULTILINE | re.DOTALL)
        answer.write_text(form)
        list(run.lines())
    given = feedback(pytester.path)
    assert given["source"] == "person"
    assert given["items"][0]["correction"].strip() in FILES_REFERENCE
    assert len(results()) == 1


FILES_REFERENCE = "from constants import TWO\n\n\ndef half(x):\n    return x / TWO"


@pytest.mark.usefixtures("agents")
@pytest.mark.slow
def test_a_malformed_answer_is_said_once_and_waited_for(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    bad = {
        "answer.half: {descr": r"\.yaml",
        "answer.third: {description: x}": r"answer\.third",
        "answer.half: {category: T9}": r"must be one of T0, T1, T2, T3, T4",
        "answer.half: {correction: 'def half(x:'}": r"answer\.half\.correction: the code does not parse",
        'answer.half: {description: "```\\nreturn x / TWO\\n```"}': r"answer\.half\.description: .*code fence",
    }
    with background(pytester.path, *FILES, "--recode-feedback=L1") as run:
        answer = Path(run.until(WAITING)[1])
        problem = answer.with_name(answer.name.removesuffix(".yaml") + ".problem.txt")
        for text, said in bad.items():
            answer.write_text(text)
            run.until(rf"recode: .*{said}.* \(the run waits until ")
            assert re.search(said, problem.read_text())
        answer.write_text(ANSWER)
        list(run.lines())
    text = "".join(run.seen)
    assert text.count("recode: ") - text.count("recode: waiting") <= len(bad) + 1
    assert not problem.exists()
    assert feedback(pytester.path)["items"][0]["description"] == "Half is whole."
    assert len(results()) == 1


@pytest.mark.usefixtures("agents")
@pytest.mark.slow
def test_waiting_is_no_time_of_the_episode(make_task: MakeTask, pytester: pytest.Pytester, results: Results) -> None:
    """The record counts it, its turns do not: between the two lies at least what the file system's clock says."""
    make_task()
    with background(pytester.path, *FILES, "--recode-feedback=L1") as run:
        answer = Path(run.until(WAITING)[1])
        asked = answer.with_name(answer.name.removesuffix(".yaml") + ".request.md").stat().st_mtime
        clock = pytester.path / "clock"
        waited = 0.0
        while waited < 2:
            select.select([], [], [], 0.1)
            clock.write_text("now")
            waited = clock.stat().st_mtime - asked
        answer.write_text(ANSWER)
        list(run.lines())
    [record] = results()
    assert (record["stop"], len(record["turns"])) == ("turns", 2)
    assert record["seconds"] - sum(turn["seconds"] for turn in record["turns"]) > 1.9
