"""A task whose own feedback gives the answer away: validation says so, and a run cuts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recode.researchers.prompts import VERSION
from tests.chat_server import ChatServer, say

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

LEAKING = "answer.half:\n  suggestion: 'They say def twice ( x ) colon def half ( x ) : return x / TWO in the end.'\n"


@pytest.mark.slow
def test_validation_warns_and_a_run_cuts(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, agents: None
) -> None:
    make_task(files={"feedback.yaml": LEAKING})
    result = recode("--recode-validate", "-k", "reference")
    result.assert_outcomes(passed=1)
    assert (
        "tiny (reference): feedback.yaml: answer.half.suggestion repeats code of the reference, which will be cut: "
        "'def half ( x ) : return x / TWO'" in words(result)
    )
    recode("--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-feedback=L3", "--recode-out=out")
    [path] = pytester.path.glob("out/episodes/*.jsonl")
    [given] = [entry for line in path.read_text().splitlines() if (entry := json.loads(line))["event"] == "feedback"]
    assert "Suggestion: They say def twice ( x ) colon def [left out] in the end.\n" in given["text"]
    [record] = [json.loads(line) for line in (pytester.path / "out/results.jsonl").read_text().splitlines()]
    found = record["turns"][1]["feedback"]["audit"]
    assert (found["reference_run"], found["cut"]) == (9, 1)


@pytest.mark.slow
def test_model_and_prompt_are_in_record_and_transcript(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, agents: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    item = {"interface": "answer.half", "category": "T3", "description": "d", "analysis": "a", "suggestion": "s"}
    with ChatServer([say(json.dumps({"feedbacks": [{**item, "caused_by": ""}]}))]) as server:
        recode(
            *("--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-feedback=L1", "--recode-out=out"),
            *("--recode-feedback-model=gpt-5-mini", f"--recode-api-base={server.url}"),
        )
    [record] = [json.loads(line) for line in (pytester.path / "out/results.jsonl").read_text().splitlines()]
    [path] = pytester.path.glob("out/episodes/*.jsonl")
    [given] = [entry for line in path.read_text().splitlines() if (entry := json.loads(line))["event"] == "feedback"]
    first, second = record["turns"]
    assert first["feedback"] is None
    assert second["feedback"] == {
        "source": "model",
        "model": "gpt-5-mini",
        "prompt": VERSION,
        "characters": len(given["text"]),
        "audit": {
            "reference_run": 0,
            "reference_share": 0.0,
            "tests_run": 0,
            "tests_share": 0.0,
            "cut": 0,
            "encoded": 0,
        },
        "items": [
            {
                "interface": "answer.half",
                "category": "T3",
                "caused_by": None,
                "possible_causes": [],
                "authors": {
                    **dict.fromkeys(("category", "description", "analysis", "suggestion"), "model"),
                    "correction": "derived",
                },
            }
        ],
    }
    assert (given["model"], given["prompt"], given["source"]) == ("gpt-5-mini", VERSION, "model")
