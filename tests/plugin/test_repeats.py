"""Whatever repeats an item, its episode is asked once and recorded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, fault, say

from .conftest import words
from .test_models import ONE_SHOT, RIGHT, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

REPEATS = """\
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=item, log={first})
    runtestprotocol(item, nextitem=nextitem, log=True)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""

MARKED = """\
import pytest

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.flaky(retries=2))

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    assert item.get_closest_marker("flaky") is None
    return (yield)
"""

STANDS = "is run again by pytest or a plugin: its first result counts, because each episode is played once"


def better(request: Request) -> Any:
    return say(WRONG if request.number == 0 else RIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False], ids=["both reported", "the last reported"])
def test_a_repeated_item_keeps_its_result(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str, first: bool
) -> None:
    """As `flaky` does it, which reports the last."""
    make_task()
    pytester.makeconftest(REPEATS.format(first=first))
    with ChatServer(better) as server:
        result = recode(
            workers, *ONE_SHOT, "--recode-turns=1", "--recode-model=local", f"--recode-api-base={server.url}",
            "--junitxml=junit.xml",
        )  # fmt: skip
        assert len(server.requests) == 1
    assert [record["outcome"] for record in results()] == ["unsolved"]
    assert "0/1" in words(result)
    assert result.ret == 1
    assert words(result).count(STANDS) == 1
    if not first:
        assert (pytester.path / "junit.xml").read_text().count('name="recode_outcome"') == 1


@pytest.mark.slow
def test_an_error_is_not_asked_again_either(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task()
    pytester.makeconftest(REPEATS.format(first=False))
    with ChatServer(lambda request: fault(400, "no") if request.number == 0 else say(RIGHT)) as server:
        recode(*ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}").assert_outcomes(errors=1)
        assert len(server.requests) == 1
    assert [record["outcome"] for record in results()] == ["error"]


@pytest.mark.slow
def test_a_task_that_is_given_twice_is_played_once(make_task: MakeTask, recode: Run, results: Results) -> None:
    make_task()
    with ChatServer(better) as server:
        recode(
            *ONE_SHOT, "--recode-turns=1", "--recode-model=local", f"--recode-api-base={server.url}",
            "--keep-duplicates", "bench", "bench",
        )  # fmt: skip
        assert len(server.requests) == 1
    assert [record["outcome"] for record in results()] == ["unsolved"]


@pytest.mark.slow
def test_a_check_that_is_repeated_is_told_once(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    pytester.makeconftest(REPEATS.format(first=True))
    text = words(recode("--recode-validate", "-k", "reference"))
    assert text.partition("recode: validation")[2].count("tiny") == 1


@pytest.mark.slow
def test_the_marker_of_plugins_that_repeat_tests_is_taken_off(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    pytester.makeconftest(MARKED)
    result = recode(workers, "--recode-agent=reference", "--recode-out=out", "-p", "no:rerunfailures")
    result.assert_outcomes(passed=1)
    line = "recode: the flaky marker applies to ordinary tests, not to recode items: each episode is played once"
    assert words(result).count(line) == 1


@pytest.mark.slow
def test_each_worker_for_itself_is_refused(make_task: MakeTask, recode: Run) -> None:
    make_task()
    result = recode("--recode-agent=reference", "--dist=each", "--tx=2*popen", "--recode-out=out")
    assert "--dist=each plays each episode in every worker" in words(result)
    assert result.ret != 0
