"""A benchmark in AlgoTune's layout, played: the commands of its page, a solver by a model, and the table of speed-ups."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, say
from tests.formats.algotune_benchmark import BY_LIBRARY, benchmark
from tests.oracle.test_speed import SLOWER

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
PAGE = Path(__file__).resolve().parents[2] / "docs/reference/algotune.md"


@pytest.fixture
def tasks(pytester: pytest.Pytester) -> Path:
    return benchmark(pytester.path / "AlgoTune")


def printed() -> list[str]:
    return re.findall(r"^ *(pytest AlgoTune/.*)$", PAGE.read_text(), re.MULTILINE)


def test_the_page_has_commands() -> None:
    assert len(printed()) == 3


@pytest.mark.parametrize("command", printed())
@pytest.mark.mostly_slow
def test_a_printed_command_is_taken(pytester: pytest.Pytester, tasks: Path, command: str) -> None:
    own = [
        word.replace("algotune-env/bin/python", sys.executable).replace("fft", "prefix")
        for word in shlex.split(command)[1:]
    ]
    result = pytester.runpytest(*own, "--collect-only", "-q", "-p", "no:cacheprovider")
    who = "reference" if "--recode-agent=reference" in own else "gpt-6-sol"
    assert f"AlgoTune/AlgoTuneTasks/prefix_sums/description.txt::episode[{who}-escalate]" in result.outlines


@pytest.mark.slow
def test_feedback_says_the_speed_up_and_what_a_known_solver_uses(
    tasks: Path, recode: Run, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    answers = [f"```python solver.py\n{code}```" for code in (SLOWER, SLOWER, BY_LIBRARY)]

    def answer(request: Request) -> Any:
        return say(answers[request.number])

    with ChatServer(answer) as server:
        recode(
            *("AlgoTune/AlgoTuneTasks/prefix_sums", "--recode-agent=one-shot", "--recode-model=openai/tiny-1"),
            *(
                f"--recode-api-base={server.url}",
                "--recode-feedback=escalate:start=3",
                "--recode-turns=3",
                "--recode-out=out",
            ),
        )
        said = [request.body["messages"][-1]["content"] for request in server.requests]
    [record] = results()
    assert (record["outcome"], record["solved_turn"], record["isolation"]) == ("solved", 3, "process")
    speeds = [turn["scores"]["speed-up"] for turn in record["turns"]]
    assert speeds[0] < 1 < 1.1 < speeds[2]
    assert re.search(
        r"^measured: valid instances 1, speed-up 0\.\d+, speed-up, lower bound 0\.\d+", said[1], re.MULTILINE
    )
    assert (
        "A known solver is 1.75 times as fast as the reference. It uses numpy.cumsum, itertools.accumulate." in said[1]
    )
    assert "accumulate(problem" not in said[1], "the code is for level L4"
    assert "accumulate(problem" in said[2]
