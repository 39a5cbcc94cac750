"""Real command-line agents play whole episodes: three turns in one session, with feedback that rises, without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from pytest_recode.records.transcript_turns import read_episode
from tests.chat_server import ChatServer

from .conftest import AGENTS
from .scripted import DONE, solved_in

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
MODEL = "--recode-model=openai/local"


def texts(body: Mapping[str, Any]) -> str:
    return json.dumps(body["messages"])


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_is_solved_in_its_third_turn(
    name: str,
    sandbox: str,
    installed: Installed,
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    if sandbox == "docker" and not IMAGE:
        pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    version = installed(name).version
    make_task("a")
    with ChatServer(solved_in(3)) as server:
        agent = (f"--recode-agent={name}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        image = [f"--recode-image={IMAGE}"] if sandbox == "docker" else []
        result = recode("-v", *agent, *image, sandbox=sandbox)
    result.assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert [turn["steps"] for turn in record["turns"]] == [2, 2, 2]
    assert record["usage"]["prompt_tokens"] == 11 * len(server.requests) == 66
    assert (record["agent"], record["agent_version"]) == (name, version)
    last = texts(server.requests[-1].body)
    assert last.count(DONE) == 2, "the last request has the answers of both turns before"
    assert last.count("Feedback on turn 1, level L0") == last.count("Feedback on turn 2, level L1") == 1
    episode = read_episode(pytester.path / "out" / record["transcript"])
    for turn in episode.turns:
        (action,) = turn.steps[0].actions
        assert "answer.py" in json.dumps(action.arguments)
        assert action.ok


def test_a_program_that_starts_a_new_session_is_an_error(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """Its second turn asks the model about the feedback alone."""
    make_task("a")
    script = pytester.path / "forgetful.py"
    script.write_text(FORGETFUL)
    script.chmod(0o755)
    with ChatServer(lambda _: DONE) as server:
        agent = ("--recode-agent=claude-code", f"--recode-agent-path=claude-code={script}", MODEL)
        result = recode(*agent, f"--recode-api-base={server.url}", "--recode-out=out", sandbox="bubblewrap")
    result.assert_outcomes(errors=1)
    (record,) = results()
    assert record["error"]["kind"] == "agent:session-lost"
    assert [turn["passed"] for turn in record["turns"]] == [0]


FORGETFUL = """#!/usr/bin/python3
import json, os, sys, urllib.request

body = {"model": "any", "max_tokens": 99, "messages": [{"role": "user", "content": sys.stdin.read()}]}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
    json.dumps(body).encode(),
    {"x-api-key": os.environ["ANTHROPIC_AUTH_TOKEN"], "content-type": "application/json"},
)
print(urllib.request.urlopen(request).read().decode())
"""
