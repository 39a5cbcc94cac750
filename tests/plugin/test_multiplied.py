"""pytest-flakefinder and pytest-repeat run each ordinary test several times, and each episode once."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, say

from .conftest import words
from .test_models import RIGHT, WRONG
from .test_reruns import REFUSED

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

ORDINARY = """\
import unittest


def test_function():
    pass


class Case(unittest.TestCase):
    def test_method(self):
        pass
"""

flakefinder = pytest.mark.skipif(
    importlib.util.find_spec("pytest_flakefinder") is None, reason="pytest-flakefinder is not installed"
)
repeat = pytest.mark.skipif(importlib.util.find_spec("pytest_repeat") is None, reason="pytest-repeat is not installed")


def better(request: Request) -> Any:
    """A second episode would be solved."""
    return say(WRONG if request.number == 0 else RIGHT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "ordinary"),
    [
        pytest.param(("--flake-finder", "--flake-runs=3"), 6, marks=flakefinder),
        pytest.param(("--count=3",), 4, marks=repeat),  # which repeats no unittest class
    ],
)
def test_an_episode_is_not_multiplied(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    workers: str,
    args: Any,
    ordinary: int,
) -> None:
    make_task()
    pytester.makepyfile(test_ordinary=ORDINARY)
    with ChatServer(better) as server:
        result = recode(
            *args, workers, "--recode-agent=one-shot", "--recode-turns=1", "--recode-out=out", "--recode-model=local",
            f"--recode-api-base={server.url}", "bench", "test_ordinary.py",
        )  # fmt: skip
        assert len(server.requests) == 1
    result.assert_outcomes(passed=ordinary, failed=1)
    assert [record["outcome"] for record in results()] == ["unsolved"]
    option = args[0].partition("=")[0]
    assert words(result).count(f"recode: {option} applies to ordinary tests, {REFUSED}") == 1


@pytest.mark.slow
@pytest.mark.parametrize("given", [(), pytest.param(("--count=1",), marks=repeat)], ids=["without", "once"])
def test_nothing_is_said_where_nothing_is_multiplied(make_task: MakeTask, recode: Run, given: tuple[str, ...]) -> None:
    make_task()
    assert "applies to ordinary tests" not in words(
        recode("--recode-agent=noop", "--recode-turns=1", "--recode-out=out", *given)
    )


@pytest.mark.slow
@flakefinder
def test_items_have_no_function_afterwards(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    """Plugins take an item that has one for a function."""
    make_task()
    pytester.makeconftest(
        "def pytest_collection_finish(session):\n    assert not any(hasattr(item, 'function') for item in session.items)\n"
    )
    recode("--recode-agent=reference", "--recode-out=out", "--flake-finder").assert_outcomes(passed=1)
