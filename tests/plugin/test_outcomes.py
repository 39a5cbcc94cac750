"""What a session says of its episodes: status words, failure text, summary, exit status, JUnit, records."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_recode.records

from .conftest import FILES, words

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
SCHEMA = json.loads((Path(pytest_recode.records.__file__).parent / "records.schema.json").read_text())

pytestmark = pytest.mark.usefixtures("agents")


@pytest.mark.slow
def test_solved_in_turn_three(make_task: Callable[..., Path], recode: Run, results: Results, workers: str) -> None:
    make_task()
    result = recode(workers, "-v", "--recode-agent=tiny_agents:THIRD_TIME", "--recode-out=out")
    result.assert_outcomes(passed=1)
    assert "SOLVED@3" in words(result)
    [record] = results()
    jsonschema.validate(record, SCHEMA)
    assert record["outcome"] == record["stop"] == "solved"
    assert record["solved_turn"] == 3
    assert [turn["level"] for turn in record["turns"]] == [None, "L0", "L1"]
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert [case["interface"] for case in record["turns"][0]["cases"]] == ["answer.twice", "answer.half"]


@pytest.mark.slow
def test_unsolved_fails_with_a_text_for_people(
    make_task: Callable[..., Path], recode: Run, results: Results, workers: str, pytester: pytest.Pytester
) -> None:
    make_task()
    result = recode(workers, "-v", "--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-out=out")
    result.assert_outcomes(failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    [record] = results()
    jsonschema.validate(record, SCHEMA)
    assert (record["outcome"], record["stop"], record["solved_turn"]) == ("unsolved", "turns", None)
    text = words(result)
    assert "UNSOLVED" in text
    assert " not solved in 2 turns by agent tiny_agents:NEVER" in text
    assert "turn 1 feedback - 1 of 2 cases pass turn 2 feedback L0 1 of 2 cases pass" in text
    assert "still failing: answer.half: 1 of 1 cases" in text
    assert text.count(str(pytester.path / "out" / record["transcript"])) == 1
    assert f"more: pytest-recode show {pytester.path / 'out' / record['transcript']}" in text
    assert "scaled %" not in text  # such a task has no lines


@pytest.mark.invariant("errors-are-not-unsolved")
def test_a_fault_is_an_error_and_in_no_share(
    make_task: Callable[..., Path], recode: Run, results: Results, workers: str
) -> None:
    make_task()
    result = recode(workers, "-v", "--recode-agent=tiny_agents:BROKEN", "--recode-out=out", "--junitxml=junit.xml")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    [record] = results()
    jsonschema.validate(record, SCHEMA)
    assert (record["outcome"], record["stop"], record["error"]["kind"]) == ("error", "error", "internal")
    text = words(result)
    assert "could not be played to its end by agent tiny_agents:BROKEN (not counted as unsolved)" in text
    assert "ZeroDivisionError: an agent with a fault of its own" in text
    assert "0/0 - -" in text


@pytest.mark.slow
def test_junit_properties(make_task: Callable[..., Path], recode: Run, workers: str, pytester: pytest.Pytester) -> None:
    make_task()
    recode(workers, "--recode-agent=tiny_agents:THIRD_TIME", "--junitxml=junit.xml")
    found = {node.get("name"): node.get("value") for node in ET.parse(pytester.path / "junit.xml").iter("property")}
    assert found["recode_outcome"] == "solved"
    assert found["recode_turns"] == found["recode_solved_turn"] == "3"
    assert found["recode_level"] == "L1"
    assert found["recode_cost_usd"] == "0.0"
    identity = [found[f"recode_{name}"] for name in ("task", "model", "policy", "attempt")]
    assert identity == ["tiny", "tiny_agents:THIRD_TIME", "escalate", "1"]
    assert Path(found["recode_transcript"] or "").is_file()


@pytest.mark.slow
def test_the_first_failures_are_whole_and_the_others_a_line(
    make_task: Callable[..., Path],
    recode: Run,
    results: Results,
    workers: str,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")  # pytest's short summary shows whole texts there
    make_task()
    never = ("--recode-agent=tiny_agents:NEVER", "--recode-turns=1", "--recode-attempts=5", "--recode-out=out")
    result = recode(workers, *never, "--junitxml=junit.xml")
    result.assert_outcomes(failed=5)
    text = words(result)
    blocks, _, others = text.partition("2 more, a line each (-vv: all in full)")
    assert blocks.count("not solved in 1 turn by") == blocks.count("still failing:") == 3
    lines, _, short = others.partition("short test summary")
    assert lines.count("]: 1 of 2 cases pass after 1 turn; pytest-recode show out/episodes/") == 2
    assert short.count("] - 1 of 2 cases pass after 1 turn") == short.count("UNSOLVED bench/tiny") == 5
    assert "still failing" not in short
    shown = re.findall(r"pytest-recode show (?:\S+/)?(episodes/\S+)", blocks + lines)
    assert sorted(shown) == sorted(record["transcript"] for record in results())
    failures = [node.text or "" for node in ET.parse(pytester.path / "junit.xml").iter("failure")]
    assert ["still failing:" in failure for failure in failures] == [True] * 5
    again = words(recode(workers, *never, "--recode-resume", "-vv"))
    assert again.count("still failing:") == 5
    assert "a line each" not in again


def test_errors_of_a_kind_are_a_line_after_the_first_three(
    make_task: Callable[..., Path], recode: Run, workers: str
) -> None:
    make_task()
    result = recode(workers, "--recode-agent=tiny_agents:OTHERWISE_BROKEN", "--recode-attempts=4", "--recode-out=out")
    result.assert_outcomes(errors=4)
    blocks, _, others = words(result).partition("1 more, a line each")
    assert blocks.count("ERROR at call of") == 3
    assert re.match(r"[ (_)\w:-]+ tiny .*?\]: ZeroDivisionError: fault \S+; pytest-recode show out/episodes/", others)


@pytest.mark.slow
def test_summary_has_a_row_per_policy_and_the_count_per_turn(
    make_task: Callable[..., Path], recode: Run, workers: str
) -> None:
    make_task("a")
    make_task("b")
    result = recode(workers, "--recode-agent=tiny_agents:THIRD_TIME", "--recode-feedback=L4", "--recode-feedback=none")
    result.assert_outcomes(passed=2, failed=2)
    text = words(result)
    assert "tiny_agents:THIRD_TIME L4 2/2 100.0 34.2 to 100.0 3.0 100.0 0 0.00 0" in text
    assert "tiny_agents:THIRD_TIME none 0/2 0.0 0.0 to 65.8 - 50.0 0 0.00 0" in text
    assert "solved within turn 1 2 3" in text
    assert "tiny_agents:THIRD_TIME L4 0 0 2" in text
    assert "tiny_agents:THIRD_TIME none 0 0 0" in text


@pytest.mark.slow
def test_attempts_are_played_each(make_task: Callable[..., Path], recode: Run, results: Results, workers: str) -> None:
    make_task()
    recode(workers, "--recode-agent=reference", "--recode-attempts=3", "--recode-out=out").assert_outcomes(passed=3)
    assert sorted(record["attempt"] for record in results()) == [1, 2, 3]


@pytest.mark.slow
def test_validation_reports_the_checks_with_seconds_and_writes_nothing(
    make_task: Callable[..., Path], recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    make_task()
    result = recode(workers, "-v", "--recode-validate")
    result.assert_outcomes(passed=7)
    assert not (pytester.path / "recode-out").exists()
    text = words(result)
    for check in ("reference", "untouched repository", "empty target", "constant answers"):
        assert re.search(rf"tiny {check} ok \d+\.\d\d ", text)


@pytest.mark.parametrize("workers", ["-n0"])
@pytest.mark.slow
def test_validation_finds_a_wrong_reference(make_task: Callable[..., Path], recode: Run, workers: str) -> None:
    make_task(files={"reference/answer.py": "def twice(x):\n    return x\n\n\ndef half(x):\n    return x\n"})
    result = recode(workers, "--recode-validate")
    result.assert_outcomes(passed=4, failed=3)
    assert "tiny: the reference fails 1 of 2 cases with seed " in words(result)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0"])
def test_validation_finds_tests_that_say_nothing(
    make_task: Callable[..., Path], recode: Run, workers: str, pytester: pytest.Pytester
) -> None:
    tests = (
        "import contextlib\n\nimport pytest\n\n\n@pytest.mark.interface('answer.half')\n"
        "def test_nothing(candidate):\n    with contextlib.suppress(Exception):\n        candidate.answer.half(1.0)\n"
    )
    make_task(files={"tests/test_answer.py": tests})
    result = recode(workers, "--recode-validate")
    result.assert_outcomes(passed=4, failed=3)
    text = words(result)
    assert "tiny: the untouched target solves the task: its tests prove nothing." in text
    assert "tiny: a target that answers an empty array to everything solves the task: its tests prove nothing." in text
    assert "tiny (empty): the empty target passes test_answer.py::test_nothing" in text
    assert re.search(r"tiny reference ok \d+\.\d\d ", text)
    assert not (pytester.path / "recode-out").exists()


@pytest.mark.parametrize("workers", ["-n0"])
@pytest.mark.slow
def test_validation_finds_a_case_that_an_empty_array_passes(
    make_task: Callable[..., Path], recode: Run, workers: str
) -> None:
    """One weak case beside a good one: the task holds, and the case is named."""
    weak = (
        "\n\n@pytest.mark.interface('answer.half')\ndef test_weak(candidate):\n"
        "    assert candidate.answer.half(4.0) == pytest.approx(2.0)\n"
    )
    make_task(files={"tests/test_answer.py": FILES["tests/test_answer.py"] + weak})
    result = recode(workers, "--recode-validate")
    result.assert_outcomes(passed=7)
    assert result.ret == pytest.ExitCode.OK  # as docs/how-to/write-a-task.md says
    text = words(result)
    assert "tiny constant answers weak" in text
    warning = "tiny (constant): case test_answer.py::test_weak passes for 1 of 9 constant answers: an empty array"
    assert text.count(warning) == 1


@pytest.mark.slow
def test_a_seed_repeats_a_verdict(make_task: Callable[..., Path], recode: Run, results: Results, workers: str) -> None:
    make_task()
    recode(workers, "--recode-agent=reference", "--recode-seed=7", "--recode-out=out")
    assert results()[0]["turns"][0]["seed"] == 7


@pytest.mark.slow
def test_seeds_are_secret_and_differ(make_task: Callable[..., Path], recode: Run, results: Results) -> None:
    make_task()
    recode("--recode-agent=tiny_agents:THIRD_TIME", "--recode-out=out")
    assert len({turn["seed"] for turn in results()[0]["turns"]}) == 3


@pytest.mark.slow
def test_the_default_directory_is_ignored_by_git(
    make_task: Callable[..., Path], recode: Run, pytester: pytest.Pytester
) -> None:
    make_task()
    recode("--recode-agent=reference")
    assert (pytester.path / "recode-out/.gitignore").read_text() == "*\n"
    assert len(list(pytester.path.glob("recode-out/*/results.jsonl"))) == 1


@pytest.mark.slow
def test_ini_twins_work_and_the_command_line_wins(
    make_task: Callable[..., Path], recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    pytester.makeini(
        "[pytest]\nrecode_agent = tiny_agents:NEVER\nrecode_turns = 2\nrecode_feedback =\n    L1\n    L2\nrecode_out = from-ini\n"
    )
    recode(workers).assert_outcomes(failed=2)
    assert sorted(record["feedback"] for record in results("from-ini")) == ["L1", "L2"]
    assert {len(record["turns"]) for record in results("from-ini")} == {2}
    recode(workers, "--recode-turns=1", "--recode-feedback=L3", "--recode-out=out").assert_outcomes(failed=1)
    assert [(record["feedback"], len(record["turns"])) for record in results()] == [("L3", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["sim/graduate", None])
def test_a_record_has_the_turns_and_steps_that_there_can_be(
    make_task: Callable[..., Path], recode: Run, results: Results, pytester: pytest.Pytester, model: str | None
) -> None:
    make_task()
    pytester.makeini("[pytest]\nrecode_steps = 5\n")
    given = (f"--recode-model={model}",) if model else ("--recode-agent=noop",)
    both = (*given, "--recode-feedback=none", "--recode-feedback=L1", "--recode-out=out")
    result = recode(*both)
    steps = 5 if model else 1
    asked = {record["feedback"]: record["settings"] for record in results()}
    assert {name: (each["turns"], each["steps"]) for name, each in asked.items()} == {
        "none": (1, steps),
        "L1": (10, steps),
    }
    how = f"directory tasks: agent recode; feedback none, L1; 10 turns of {steps} steps (1 turn with feedback none)"
    assert (how in words(result)) == (model is not None)
    # a run of an earlier version has the number of turns that was asked for: it can be gone on with
    path = pytester.path / "out/results.jsonl"
    earlier = [{**record, "settings": {**record["settings"], "turns": 10}} for record in results()]
    path.write_text("".join(json.dumps(record) + "\n" for record in earlier))
    assert "was played with" not in words(recode(*both, "--recode-resume"))
    other = (*given, "--recode-feedback=none", "--recode-feedback=L1", "--recode-turns=3", "--recode-out=out")
    assert "-L1] was played with turns 10, and this run asks for 3" in words(recode(*other, "--recode-resume"))


REPORTS = """\
import json

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(data):
    record = (data.get("recode") or {}).get("record")
    if record is not None:
        with open("received.jsonl", "a") as file:
            file.write(json.dumps(record) + "\\n")
"""


@pytest.mark.invariant("results-on-reports")
def test_a_record_is_plain_json_on_its_report(
    make_task: Callable[..., Path], recode: Run, results: Results, pytester: pytest.Pytester, agents: None
) -> None:
    """The controller has it from pytest-xdist, and from nowhere else."""
    make_task("a")
    make_task("b")
    pytester.makeconftest(REPORTS)
    recode("-n2", "--recode-agent=tiny_agents:THIRD_TIME", "--recode-out=out")
    lines = (pytester.path / "received.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == results()
    assert {record["task"] for record in results()} == {"a", "b"}
