"""A run with recode-h: the original's setting as its default, the tests' output with feedback, and that this is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.vectors_server import embedded
from tests.chat_server import ChatServer, Request, say

from .conftest import words
from .test_shared import FILES, SHARED

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
MakeTask = Callable[..., Path]

READS = "reflect: Look.\naction:\nREAD constants.py"
SHOWN = "with their output in the feedback (--recode-test-output=full)"


@pytest.fixture
def asked(make_task: MakeTask, recode: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Request]]:
    """What a model that reads on was asked, in two turns."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*args: str, answer: str = READS) -> list[Request]:
        with ChatServer(lambda _: say(answer)) as server:
            where = ("--recode-model=openai/any", f"--recode-api-base={server.url}", "--recode-out=out")
            result = recode(*where, "--recode-turns=2", "--recode-feedback=L0", *args)
        result.assert_outcomes(failed=1)
        run.said = words(result)  # type: ignore[attr-defined]
        return server.requests

    return run


@pytest.mark.slow
def test_its_setting_is_the_originals(asked: Any, make_task: MakeTask, results: Results) -> None:
    make_task()
    requests = asked("--recode-agent=recode-h")
    assert len(requests) == 2 * 3
    [record] = results()
    setting = {name: record["settings"][name] for name in ("steps", "memory_threshold", "memory_keep", "test_output")}
    assert setting == {"steps": 3, "memory_threshold": 15, "memory_keep": 5, "test_output": "full"}
    ours = ("temperature", "feedback_scope", "feedback_code")
    assert [record["settings"][name] for name in ours] == [0.0, "all", "L1"]
    assert "candidate.answer.twice(1.5) == 3.0" in requests[3].prompt  # the hidden tests' own lines
    assert not any("candidate.answer" in request.prompt for request in requests[:3])
    assert f"hidden tests: 1 episode {SHOWN}" in asked.said


@pytest.mark.slow
def test_what_the_user_gives_wins(asked: Any, make_task: MakeTask, results: Results) -> None:
    make_task()
    requests = asked("--recode-agent=recode-h", "--recode-test-output=none", "--recode-memory-keep=7")
    [record] = results()
    assert record["settings"]["memory_keep"] == 7
    assert not any("candidate.answer" in request.prompt for request in requests)
    assert SHOWN not in asked.said


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["recode", "one-shot"])
def test_any_agent_is_shown_the_output_where_the_run_says_so(asked: Any, make_task: MakeTask, agent: str) -> None:
    make_task()
    requests = asked(f"--recode-agent={agent}", "--recode-test-output=full", answer="```python\nx = 1\n```")
    shown = " ".join(requests[-1].prompt.split())
    assert "The hidden tests said: 0 of 2 passed. FAILED test_answer.py::test_twice" in shown
    assert "candidate.answer.twice(1.5) == 3.0" in shown
    assert f"hidden tests: 1 episode {SHOWN}" in asked.said


@pytest.mark.slow
def test_and_none_where_it_does_not(asked: Any, make_task: MakeTask) -> None:
    make_task()
    requests = asked("--recode-agent=one-shot", answer="```python\nx = 1\n```")
    assert not any("The hidden tests said" in request.prompt for request in requests)
    assert SHOWN not in asked.said


@pytest.mark.slow
def test_with_shared_judging_too(asked: Any, make_task: MakeTask) -> None:
    make_task("together", files=dict(FILES), manifest=SHARED)
    requests = asked("--recode-agent=recode-h")
    assert "answer.twice(x) == double(x)" in requests[3].prompt


@pytest.mark.slow
def test_the_simulated_models_play_it(make_task: MakeTask, recode: Run, results: Results, workers: str) -> None:
    make_task()
    recode(workers, "--recode-agent=recode-h", "--recode-model=sim/expert", "--recode-out=out").assert_outcomes(
        passed=1
    )
    [record] = results()
    assert record["outcome"] == "solved"
    lines = [json.loads(line) for path in Path("out/episodes").iterdir() for line in path.read_text().splitlines()]
    assert {line["kind"] for line in lines if line["event"] == "action"} >= {"RETRIEVE", "REPLACE", "SUBMIT"}


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["recode", "recode-h"])
def test_summaries_and_searches_are_in_every_account(
    make_task: MakeTask, recode: Run, results: Results, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    """Of the turn, of the record, and of the run."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    found = "```search\ntwice\n```" if agent == "recode" else "reflect: -\naction: RETRIEVE twice"
    with ChatServer(
        lambda request: embedded(request) if request.path.endswith("/embeddings") else say(found)
    ) as server:
        where = ("--recode-model=openai/any", "--recode-search-model=openai/e", f"--recode-api-base={server.url}")
        more = ("--recode-memory-threshold=4", "--recode-memory-keep=3", "--recode-turns=2", "--recode-feedback=L0")
        recode(*where, *more, f"--recode-agent={agent}", "--recode-out=out").assert_outcomes(failed=1)
    searches = [request for request in server.requests if request.path.endswith("/embeddings")]
    answers = [request for request in server.requests if request not in searches]
    assert len(searches) == 6  # one a step: all that is defined is the target, whose vectors come with the query
    assert len(answers) > 6  # summaries beside the steps
    asked = 10 * len(searches) + 11 * len(answers)
    [record] = results()
    assert record["usage"]["prompt_tokens"] == asked
    assert sum(turn["usage"]["prompt_tokens"] for turn in record["turns"]) == asked
    spent = [json.loads(line) for line in Path("out/spending.jsonl").read_text().splitlines()]
    assert sum(line["prompt_tokens"] for line in spent) == asked
