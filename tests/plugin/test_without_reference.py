"""`--recode-feedback-writer=without-reference` in whole sessions: who sees what, and what records say."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.researchers.prompts import VERSION
from tests.chat_server import Answer, ChatServer, Request, say

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]
MakeTask = Callable[..., Path]

FAULT = {"interface": "answer.half", "category": "T2", "file": "answer.py", "first_line": 1, "last_line": 1}
FAULTS = {"faults": [{**FAULT, "passages": [1], "caused_by": ""}]}
WORDS = {"feedbacks": [{"fault": 1, "description": "It is whole.", "analysis": "a", "suggestion": "s"}]}


def script(request: Request) -> Answer:
    return say(json.dumps(FAULTS if "BEGIN REFERENCE" in request.prompt else WORDS))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_writer_is_asked_without_the_reference_and_recorded(
    make_task: MakeTask, recode: Run, results: Results, agents: None, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    with ChatServer(script) as server:
        recode(
            *(
                workers,
                "--recode-agent=tiny_agents:NEVER",
                "--recode-turns=2",
                "--recode-feedback=L1",
                "--recode-out=out",
            ),
            *("--recode-feedback-model=gpt-5-mini", "--recode-feedback-writer=without-reference"),
            f"--recode-api-base={server.url}",
        )
    assert ["x / TWO" in request.prompt for request in server.requests] == [True, False]
    [record] = results()
    given = record["turns"][1]["feedback"]
    assert (given["source"], given["prompt"]) == ("model", f"{VERSION} (without-reference)")
    assert record["settings"]["feedback_writer"] == "without-reference"
    assert record["usage"]["prompt_tokens"] == 22  # of both calls; the agent calls no model


@pytest.mark.slow
def test_the_cassette_shows_that_the_writer_had_no_reference(
    make_task: MakeTask, recode: Run, agents: None, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    """By the command of docs/how-to/feedback-that-cannot-leak.md."""
    page = (Path(__file__).parents[2] / "docs/how-to/feedback-that-cannot-leak.md").read_text("utf-8")
    [check] = re.findall(r"^\$ (cat cassette/.*)$", page, re.MULTILINE)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_task()
    pytester.makeini("[pytest]\nrecode_feedback_writer = without-reference\n")
    with ChatServer(script) as server:
        recode(
            *("--recode-agent=tiny_agents:NEVER", "--recode-turns=2", "--recode-feedback=L3", "--recode-out=checked"),
            *("--recode-feedback-model=gpt-5-mini", "--recode-cassette=cassette"),
            f"--recode-api-base={server.url}",
        )

    def counted(command: str) -> int:
        done = subprocess.run(command, shell=True, cwd=pytester.path, capture_output=True, text=True, check=False)
        return int(done.stdout)

    assert counted(check) == 0
    assert counted('cat cassette/*.jsonl | grep -c "BEGIN FAULTS"') == 1
    assert counted('cat cassette/*.jsonl | grep -c "BEGIN REFERENCE"') == 1
