"""Agents play by the Agent Client Protocol: OpenCode, and programs that cannot continue a session or end early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from tests.chat_server import ChatServer

from .scripted import DONE, solved_in

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]

MODEL = "--recode-model=openai/local"


def test_an_agent_is_solved_in_its_third_turn(
    installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    version = installed("opencode").version
    make_task("a")
    with ChatServer(solved_in(3)) as server:
        agent = ("--recode-agent=acp:opencode acp", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode("-v", *agent, sandbox="bubblewrap")
    result.assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert (record["agent"], record["agent_version"]) == ("acp:opencode acp", version)
    assert server.requests[-1].prompt.count(DONE) == 2


SCRIPT = """#!/usr/bin/env python3
import json, sys

print("a line that is no message")
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt" or not CAPABLE and message["method"] == "session/new":
        sys.exit(3)
    result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": CAPABLE}, "sessionId": "one"}
    print(json.dumps({"jsonrpc": "2.0", "method": "unknown/news", "params": {}}))
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize(
    ("capable", "turns", "says"),
    [
        (False, 3, "it cannot load a session (loadSession), and so takes no feedback: use --recode-turns=1"),
        (True, 3, "it ended during session/prompt, with status 3"),
        (False, 1, "it ended during session/new, with status 3"),
    ],
)
def test_an_agent_that_cannot_is_an_error_of_one_line(
    capable: bool, turns: int, says: str, make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task("a")
    script = pytester.path / "agent.py"
    script.write_text(SCRIPT.replace("CAPABLE", str(capable)))
    script.chmod(0o755)
    with ChatServer(()) as server:
        agent = (
            "--recode-agent=acp:./agent.py --acp",
            MODEL,
            f"--recode-api-base={server.url}",
            f"--recode-turns={turns}",
        )
        result = recode(*agent, "--recode-out=out", sandbox="bubblewrap")
    result.assert_outcomes(errors=1)
    (record,) = results()
    assert record["error"]["kind"] == "agent:no-model-call"
    assert says in record["error"]["message"]
    assert server.requests == []


@pytest.mark.parametrize("spec", ["acp:", "acp:'opencode", "acp:gone --acp"])
def test_a_command_that_is_none_is_one_line(spec: str, make_task: MakeTask, recode: Run) -> None:
    make_task("a")
    result = recode(f"--recode-agent={spec}", MODEL, "--recode-out=out", sandbox="bubblewrap")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{spec}*"])


def test_an_agent_that_loses_its_session_by_this_protocol_is_refused_before_a_run(
    make_task: MakeTask, recode: Run
) -> None:
    make_task("a")
    agent = ("--recode-agent=acp:gemini-cli --acp", MODEL, "--recode-out=out")
    refused = recode(*agent, sandbox="bubblewrap")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*acp:gemini-cli --acp cannot continue a session*--recode-feedback=none or --recode-turns=1"]
    )
    assert recode("--collect-only", "--recode-turns=1", *agent, sandbox="bubblewrap").ret == pytest.ExitCode.OK
