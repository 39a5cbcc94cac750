"""Sessions with a server whose context window is small: who gets a verdict, what is an ERROR, and what a replay sends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, Request, windowed
from tests.messages import assert_line

from .conftest import words
from .test_cassette import lasting

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

RAMBLES = "I wonder what twice(x) may mean, and what it may not. " * 200
SESSION = ("--recode-model=local", "--recode-feedback=L1", "--recode-turns=2", "--recode-steps=3")


def rambling(request: Request) -> str:
    return "SUMMARY" if "You keep the notes" in request.prompt else f"{RAMBLES}\n```bash\nls\n```\n"


@pytest.mark.slow
def test_a_model_that_rambles_out_of_its_window_is_unsolved_also_in_a_replay(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task("a")
    with ChatServer(windowed(3_500, rambling)) as server:
        tape = (*SESSION, f"--recode-api-base={server.url}", "--recode-cassette=tape")
        recode(*tape, "--recode-out=out").assert_outcomes(failed=1)
        asked = len(server.requests)
    [played] = results()
    assert (played["outcome"], played["error"]) == ("unsolved", None)
    assert [turn["steps"] for turn in played["turns"]] == [3, 3]
    assert asked > 6
    assert '"refused"' in "".join(path.read_text() for path in (pytester.path / "tape").glob("*.jsonl"))
    recode(*tape, "--recode-cassette-mode=replay", "--recode-out=again").assert_outcomes(failed=1)
    assert lasting(results("again")) == lasting([played])


@pytest.mark.slow
def test_tasks_that_do_not_fit_are_one_error_with_the_next_step(
    make_task: MakeTask, recode: Run, results: Results
) -> None:
    make_task("a")
    make_task("b", files={"instruction.md": "Write answer.py, in which the functions have docstrings.\n"})
    with ChatServer(windowed(200, rambling)) as server:
        result = recode(*SESSION, f"--recode-api-base={server.url}", "--recode-out=out")
        assert len(server.requests) == 2
    result.assert_outcomes(errors=2)
    assert {record["error"]["kind"] for record in results()} == {"model:context"}
    text = result.stdout.str()
    assert_line(text, "model local: context", "200 tokens", "the prompt has some", "context:", "--recode-models-file")
    assert text.count("the prompt has some") == 1
    assert (
        "each cause shown once above: 2x the prompt does not fit into the model's context window (model:context)"
        in words(result)
    )
