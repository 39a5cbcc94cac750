"""With pytest-rerunfailures each episode is asked once and recorded once; ordinary tests are rerun as ever."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, fault, say

from .conftest import words
from .test_models import RIGHT, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("pytest_rerunfailures") is None, reason="pytest-rerunfailures is not installed"
)

ORDINARY = """\
from pathlib import Path


def test_passes_the_third_time():
    with Path(__file__).with_name("times").open("a") as file:
        file.write("x")
    assert Path(__file__).with_name("times").read_text() == "xxx"
"""

MARKS = """\
import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=2))
"""

SEEN = """\
import pytest
from pathlib import Path


def note(name, item):
    with Path(__file__).with_name(name).open("a") as file:
        file.write(f"{item.nodeid}\\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    note("seen", item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    note("calls", item)
    return (yield)
"""

REFUSED = "not to recode items: each episode is played once, and --recode-attempts=N plays more"


def once(request: Request) -> Any:
    """A second try would be solved."""
    return say(WRONG if request.number < 2 else RIGHT)


def play(recode: Run, server: ChatServer, *args: str) -> pytest.RunResult:
    return recode(
        *args, "--recode-agent=one-shot", "--recode-turns=1", "--recode-out=out", "--recode-model=local",
        f"--recode-api-base={server.url}", "bench", "test_ordinary.py",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("by", ["--reruns=2", "--force-reruns=2", "reruns", "flaky"])
def test_an_episode_is_never_rerun(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str, by: str
) -> None:
    make_task("a")
    make_task("b")
    pytester.makepyfile(test_ordinary=ORDINARY)
    if by == "flaky":
        pytester.makeconftest(MARKS)
    if by == "reruns":
        pytester.makeini("[pytest]\nreruns = 2\n")
    with ChatServer(once) as server:
        result = play(recode, server, workers, *([by] if by.startswith("--") else []))
        assert len(server.requests) == 2
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"], outcomes["rerun"]) == (1, 2, 2)
    assert sorted((record["task"], record["outcome"]) for record in results()) == [("a", "unsolved"), ("b", "unsolved")]
    assert "0/2" in words(result)
    named = "the flaky marker" if by == "flaky" else by.partition("=")[0]
    assert words(result).count(f"recode: {named} applies to ordinary tests, {REFUSED}") == 1


@pytest.mark.slow
def test_an_error_is_not_rerun_either(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    make_task()
    pytester.makepyfile(test_ordinary=ORDINARY)
    with ChatServer(lambda _: fault(401, "no such key")) as server:
        result = play(recode, server, workers, "--reruns=2")
        assert len(server.requests) == 1
    assert result.parseoutcomes()["errors"] == 1
    assert [record["outcome"] for record in results()] == ["error"]


@pytest.mark.slow
@pytest.mark.parametrize("given", [(), ("--reruns=2",)], ids=["without", "with"])
def test_hooks_of_others_see_an_episode_once(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, given: tuple[str, ...]
) -> None:
    make_task()
    pytester.makeconftest(SEEN)
    recode("--recode-agent=noop", "--recode-turns=1", "--recode-out=out", *given)
    for name in ("seen", "calls"):
        assert len((pytester.path / name).read_text().splitlines()) == 1


@pytest.mark.slow
def test_without_reruns_nothing_is_said_of_them(make_task: MakeTask, recode: Run) -> None:
    make_task()
    assert "applies to ordinary tests" not in words(
        recode("--recode-agent=noop", "--recode-turns=1", "--reruns=0", "--recode-out=out")
    )
