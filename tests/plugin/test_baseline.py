"""`--recode-baseline`: terminal, exit status, JUnit, Markdown and `pytest-recode gate` say the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import pytest_recode.render.gate_lines  # noqa: F401  pytester forgets what is first imported in one of its tests, but not half of it
from pytest_recode.cli import main
from tests.messages import assert_line

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
GOOD = ("--recode-agent=tiny_agents:THIRD_TIME", "--recode-feedback=L0", "--recode-turns=3")

pytestmark = pytest.mark.usefixtures("agents")


@pytest.fixture
def baseline(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> Path:
    """The baseline of a run that solved both tasks, in turn 3."""
    make_task("a")
    make_task("b")
    recode("-n0", *GOOD, "--recode-out=before", "-q")
    assert main(["bless", str(pytester.path / "before"), "-o", str(pytester.path / "baseline.json")]) == 0
    return pytester.path / "baseline.json"


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    whole = json.loads(path.read_text())
    edit(whole["rows"][0])
    path.write_text(json.dumps(whole))


def never(row: dict[str, Any]) -> None:
    """Of an agent that solves nothing, as if it had: an agent's name is part of the row, and may stand for two versions of it."""
    row["agent"] = row["model"] = "tiny_agents:NEVER"


def junit(pytester: pytest.Pytester) -> dict[str, tuple[str, dict[str, str]]]:
    """How each test case ended, and its properties, by class and name."""
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    return {
        f"{case.attrib['classname']} {case.attrib['name']}".strip(): (
            next((each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed"),
            {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")},
        )
        for case in suite.iter("testcase")
    }


def told_by_the_command(pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(["gate", str(pytester.path / "now"), str(pytester.path / "baseline.json"), *args])
    return status, capsys.readouterr().out


@pytest.mark.slow
def test_the_same_outcomes_pass(
    baseline: Path, recode: Run, pytester: pytest.Pytester, workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--recode-baseline=baseline.json", "--recode-out=now", "--junitxml=junit.xml")
    result = recode(workers, *GOOD, *given, "--recode-fail-on=any-lost-task", "--recode-fail-on=worse,turns:+0")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 3})
    status, text = told_by_the_command(pytester, capsys, "--fail-on=any-lost-task,worse,turns:+0")
    assert status == 0
    for line in text.splitlines():
        assert " ".join(line.split()) in words(result)
    assert "too few tasks to tell whether it is within 10 points: 24 tasks like these would suffice" in text
    end, facts = junit(pytester)["recode baseline (any-lost-task, worse, turns:+0)"]
    assert end == "passed"
    assert facts["recode_baseline"] == text.splitlines()[0]
    assert facts["recode_verdict"] == text.splitlines()[1].strip()


@pytest.mark.slow
def test_lost_tasks_fail_where_they_are_asked_for(
    baseline: Path, recode: Run, pytester: pytest.Pytester, workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(baseline, never)
    never_solves = ("--recode-agent=tiny_agents:NEVER", *GOOD[1:])
    result = recode(
        workers, *never_solves, "--recode-baseline=baseline.json", "--recode-fail-on=any-lost-task", "--recode-out=now",
        "--junitxml=junit.xml",
    )  # fmt: skip
    assert (result.ret, result.parseoutcomes()) == (1, {"unsolved": 2, "failed": 1})
    status, text = told_by_the_command(pytester, capsys, "--fail-on=any-lost-task")
    assert status == 1
    assert "lost: a, b" in text
    for line in text.splitlines():
        assert " ".join(line.split()) in words(result)
    ends = {name: end for name, (end, _) in junit(pytester).items()}
    assert sorted(ends.values()) == ["failure", "skipped", "skipped"]
    assert ends["recode baseline (any-lost-task)"] == "failure"
    assert told_by_the_command(pytester, capsys)[0] == 0  # two tasks prove nothing
    if workers == "-n0":
        with_default = recode(workers, *never_solves, "--recode-baseline=baseline.json", "--recode-fail-under=0")
        assert (with_default.ret, with_default.parseoutcomes()) == (0, {"unsolved": 2, "passed": 2})


@pytest.mark.slow
def test_changed_new_and_missing_tasks_are_listed(
    baseline: Path, make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    (pytester.path / "bench/a/instruction.md").write_text("Write it.\n")
    make_task("c")
    result = recode("-n0", *GOOD, "--recode-baseline=baseline.json", "bench/a", "bench/c")
    assert result.ret == 0
    assert "too few tasks to tell: no task to compare" in words(result)
    assert "changed files, not compared: a" in words(result)
    assert "new, not compared: c" in words(result)
    assert "missing in this run, not compared: b" in words(result)


def test_an_episode_without_a_verdict_fails_the_comparison(
    baseline: Path, recode: Run, pytester: pytest.Pytester
) -> None:
    def broken(row: dict[str, Any]) -> None:
        row["agent"] = row["model"] = "tiny_agents:BROKEN"

    change(baseline, broken)
    result = recode("-n0", "--recode-agent=tiny_agents:BROKEN", *GOOD[1:], "--recode-baseline=baseline.json")
    assert (result.ret, result.parseoutcomes()) == (1, {"errors": 2, "failed": 1})
    assert "failed: 2 episodes have no verdict" in words(result)
    assert "errors, without a verdict: a, attempt 1, b, attempt 1" in words(result)


@pytest.mark.slow
def test_skipped_episodes_compare_nothing(baseline: Path, recode: Run) -> None:
    result = recode("-n0", "--recode-baseline=baseline.json")
    assert (result.ret, result.parseoutcomes()) == (1, {"skipped": 2, "failed": 1})
    assert "baseline: not compared, because no episode was recorded: name a model" in words(result)


def other_turns(row: dict[str, Any]) -> None:
    row["settings"]["turns"] = "9"


def other_model(row: dict[str, Any]) -> None:
    row["model"] = "gpt-5"


def no_price(row: dict[str, Any]) -> None:
    row["tasks"]["a"]["attempts"][0]["cost_usd"] = None


@pytest.mark.mostly_slow
@pytest.mark.parametrize(
    ("edit", "option", "named"),
    [
        (other_turns, "", ("turns 9 / 3", "bless")),
        (other_model, "", ("no row of this run", "tiny_agents:THIRD_TIME, L0", "gpt-5, L0", "another baseline")),
        (no_price, "--recode-fail-on=cost:+20%", ("cost is unknown", "leave the condition out")),
    ],
)
def test_a_baseline_that_does_not_fit_is_one_line_before_anything_is_played(
    baseline: Path, recode: Run, pytester: pytest.Pytester, workers: str, edit: Callable[[dict[str, Any]], object],
    option: str, named: tuple[str, ...],
) -> None:  # fmt: skip
    change(baseline, edit)
    given = ["--recode-baseline=baseline.json", "--recode-out=now", "--recode-markdown=refused.md"]
    result = recode(workers, *GOOD, *given, *filter(None, [option]))
    assert result.ret not in (0, 1)
    assert_line("\n".join([*result.errlines, *result.outlines]), "baseline.json", *named)
    assert not (pytester.path / "now").exists()
    page = re.sub(r"\\(.)", r"\1", (pytester.path / "refused.md").read_text())
    assert_line(page, "**failed**: nothing was played: ", "baseline.json", *named)


def test_a_baseline_is_nothing_for_a_validation(recode: Run, make_task: MakeTask) -> None:
    make_task()
    result = recode("-n0", "--recode-baseline=x.json", "--recode-validate")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_line("\n".join(result.errlines), "--recode-baseline", "no effect with --recode-validate", "leave one")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--recode-baseline=none.json",), ("none.json", "no such baseline", "pytest-recode bless")),
        (("--recode-baseline=tiny_agents.py",), ("tiny_agents.py", "is not a baseline", "pytest-recode bless")),
        (("--recode-baseline=.",), ("cannot be read", "pytest-recode bless")),
        (("--recode-fail-on=worse",), ("--recode-fail-on", "--recode-baseline=FILE")),
        (
            ("--recode-baseline=tiny_agents.py", "--recode-fail-on=slower"),
            ("--recode-fail-on=slower", "any-lost-task", "cost:+20%"),
        ),
    ],
)
def test_a_mistake_is_one_line(
    recode: Run, make_task: MakeTask, given: tuple[str, ...], named: tuple[str, ...]
) -> None:
    make_task()
    result = recode("-n0", "--recode-agent=tiny_agents:NEVER", *given)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert_line("\n".join(result.errlines), *named)
