"""Options that reach an agent, a sandbox or a server; alone and with workers. (The others are in the files beside.)"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, say

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

# Solves only where it was made and asked as the option says.
PICKY = """\
from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


def picky(wanted):
    class Picky:
        def __init__(self, context):
            self.context = context

        def act(self, brief, feedback, workspace):
            if wanted(self.context, brief):
                workspace.write("answer.py", RIGHT)
            return Move()

    return AgentKind(make=Picky, needs_model=False)


STEPS = picky(lambda context, brief: context.steps == 7)
TURNS = picky(lambda context, brief: context.turns == 4)
PAPER = picky(lambda context, brief: brief.paper == "Twice x is x + x.\\n")
NO_PAPER = picky(lambda context, brief: brief.paper is None)
"""


@pytest.fixture(autouse=True)
def _picky(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(picky=PICKY)
    pytester.syspathinsert()


@pytest.mark.parametrize(
    ("agent", "options", "solved"),
    [
        ("STEPS", ["--recode-steps=7"], True),
        ("STEPS", [], False),
        ("TURNS", ["--recode-turns=4"], True),
        ("PAPER", [], True),
        ("PAPER", ["--recode-no-paper"], False),
        ("NO_PAPER", ["--recode-no-paper"], True),
    ],
)
def test_what_an_agent_is_made_with(
    make_task: MakeTask, recode: Run, results: Results, agent: str, options: list[str], solved: bool, workers: str
) -> None:
    make_task()
    recode(workers, f"--recode-agent=picky:{agent}", "--recode-feedback=none", "--recode-out=out", *options)
    [record] = results()
    assert record["outcome"] == ("solved" if solved else "unsolved")
    assert record["paper"] is ("--recode-no-paper" not in options)


def test_the_interpreter_of_local_sandboxes(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    """An interpreter of its own, which alone has the module that the task needs."""
    environment = pytester.path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    [packages] = environment.glob("lib/python*/site-packages")
    here = Path(pytest.__file__).parents[1]
    packages.joinpath("others.pth").write_text(f"{here}\n")
    packages.joinpath("only_there.py").write_text("TWO = 2\n")
    make_task(files={"reference/answer.py": "from only_there import TWO\n\n\ndef twice(x):\n    return x * TWO\n\n\ndef half(x):\n    return x / TWO\n"})  # fmt: skip
    recode(workers, "--recode-agent=reference", f"--recode-python={environment}/bin/python", "--recode-out=out")
    assert [record["outcome"] for record in results()] == ["solved"]
    recode(workers, "--recode-agent=reference", "--recode-turns=1", "--recode-out=without")
    # a reference that cannot be imported judges nobody
    assert [(record["outcome"], record["error"]["kind"]) for record in results("without")] == [("error", "grader")]


def test_an_interpreter_that_is_none(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task()
    result = recode(workers, "--recode-agent=reference", "--recode-python=/bin/false")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (
        "interpreter /bin/false: not a working Python (exit status 1); give another with --recode-python=PATH"
        in words(result)
    )
    assert "Traceback" not in words(result)


@pytest.mark.parametrize("kind", ["process", "bubblewrap", "docker"])
def test_the_sandbox_is_the_one_that_was_named(
    make_task: MakeTask, recode: Run, results: Results, workers: str, kind: str
) -> None:
    image = os.environ.get("RECODE_TEST_IMAGE", "")
    if kind == "docker" and not image and "CI" not in os.environ:
        pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    make_task()
    options = [f"--recode-sandbox={kind}", *([f"--recode-image={image}"] if kind == "docker" else [])]
    result = recode(workers, "--recode-agent=reference", "--recode-out=out", *options)
    [record] = results()
    assert record["outcome"] == "solved", words(result)
    assert record["sandbox"] == kind
    assert record["isolation"] == ("process" if kind == "process" else "separate")
    assert f"sandbox: {kind}{' (limits only, no walls)' if kind == 'process' else ''} records: " in words(result)


def test_temperature_reaches_the_server(make_task: MakeTask, recode: Run) -> None:
    make_task()
    with ChatServer(lambda _: say("no")) as server:
        recode(
            "--recode-agent=one-shot", "--recode-model=local", f"--recode-api-base={server.url}", "--recode-turns=1",
            "--recode-temperature=0.25",
        )  # fmt: skip
    assert [request.body["temperature"] for request in server.requests] == [0.25]
