"""`--recode-fail-under`: terminal, exit status and JUnit say the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
HALF = ("--recode-agent=tiny_agents:THIRD_TIME", "--recode-feedback=L0", "--recode-feedback=none")
"""Two policies: with the first the task is solved, with the second it is not."""

pytestmark = pytest.mark.usefixtures("agents")


def junit(pytester: pytest.Pytester) -> tuple[dict[str, int], dict[str, str]]:
    """Its counts, and how each test case ended."""
    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    ends = {}
    for case in suite.iter("testcase"):
        assert case.attrib["name"] not in ends
        ends[case.attrib["name"]] = next(
            (each.tag for each in case if each.tag in ("failure", "error", "skipped")), "passed"
        )
    return counts, ends


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "status", "end"), [("50", 0, "passed"), ("51", 1, "failure")])
def test_terminal_exit_status_and_junit_agree(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str, limit: str, status: int, end: str
) -> None:
    make_task()
    result = recode(workers, *HALF, f"--recode-fail-under={limit}", "--junitxml=junit.xml")
    assert result.ret == status
    gate = {"passed": 1} if end == "passed" else {"failed": 1}
    assert result.parseoutcomes() == {"passed": 1 + gate.get("passed", 0), "unsolved": 1, **(gate if status else {})}
    counts, ends = junit(pytester)
    assert counts == {"tests": 3, "failures": status, "errors": 0, "skipped": 1}
    assert ends == {
        "episode[tiny_agents:THIRD_TIME-L0]": "passed",
        "episode[tiny_agents:THIRD_TIME-none]": "skipped",
        f"at least {limit} % solved": end,
    }
    message = f"50.0 % solved (2 judged), at least {limit} % wanted"
    text = (pytester.path / "junit.xml").read_text()
    assert f'<property name="recode_fail_under" value="recode: {message}"' in text
    assert 'type="pytest.xfail" message="not solved in 1 turn by agent tiny_agents:THIRD_TIME; more: ' in text
    assert message in words(result)
    assert (f"FAILED recode::at least {limit} % solved" in words(result)) == (status == 1)


@pytest.mark.slow
def test_a_share_is_never_shown_higher_than_it_is(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    result = recode(*HALF, "--recode-feedback=L1", "--recode-fail-under=66.69", "-v")
    assert result.ret == 1
    assert "66.6 % solved (3 judged), at least 66.69 % wanted" in words(result)
    assert "recode::at least 66.69 % solved FAILED" in words(result)
    assert "[100%]" in words(result)
    assert "133%" not in words(result)


@pytest.mark.slow
def test_an_error_and_another_test_fail_by_themselves(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    result = recode(workers, "--recode-agent=tiny_agents:BROKEN", "--recode-fail-under=0")
    assert (result.ret, result.parseoutcomes()) == (1, {"errors": 1, "failed": 1})
    assert "0.0 % solved (0 judged), at least 0 % wanted, and 1 of 1 have no verdict" in words(result)
    pytester.makepyfile(test_mine="def test_fails():\n    assert False\n")
    result = recode(workers, *HALF, "--recode-fail-under=1", "--junitxml=junit.xml")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 2, "unsolved": 1, "failed": 1})
    _, ends = junit(pytester)
    assert (ends["test_fails"], ends["at least 1 % solved"]) == ("failure", "passed")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2"])
def test_without_a_model_or_cut_short_it_is_no_success(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    for name in ("a", "b", "c"):
        make_task(name)
    skipped = recode(workers, "--recode-fail-under=50")
    assert (skipped.ret, skipped.parseoutcomes()) == (1, {"skipped": 3, "failed": 1})
    # one of two is enough for 30 per cent, but most were never played
    pytester.makepyfile(test_mine="def test_fails():\n    assert False\n")
    cut = recode("-n0", *HALF, "--recode-fail-under=30", "-x", "bench/a", "test_mine.py", "bench/b", "bench/c")
    assert cut.ret != 0
    assert cut.parseoutcomes()["unsolved"] == 1
    assert "50.0 % solved (2 judged), at least 30 % wanted, and 4 of 6 have no verdict" in words(cut)


@pytest.mark.slow
def test_an_unsolved_episode_does_not_end_the_run(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task("a")
    make_task("b")
    result = recode(workers, "--recode-agent=tiny_agents:NEVER", "--recode-turns=1", "--recode-fail-under=0", "-x")
    assert (result.ret, result.parseoutcomes()) == (0, {"unsolved": 2, "passed": 1})


@pytest.mark.slow
def test_last_failed_selects_what_is_unsolved(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    given: tuple[Any, ...] = (workers, *HALF, "--recode-fail-under=51", "-p", "cacheprovider")
    recode(*given)
    outcomes = recode(*given, "--lf").parseoutcomes()
    assert (outcomes["unsolved"], outcomes["failed"], "passed" in outcomes) == (1, 1, False)
    solved = recode(workers, *HALF[:1], "--recode-feedback=L0", "--recode-fail-under=51", "-p", "cacheprovider")
    assert solved.ret == 0
