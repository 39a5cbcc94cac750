"""Each of our command-line agents keeps to what `check_command_line_agent` asks of all, and a program that does not is found out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_recode.agents import InstalledProgram
from pytest_recode.agents.command_line import CommandLineAgent, acp
from pytest_recode.agents.installed_programs import given_program
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap
from pytest_recode.testing import check_command_line_agent

from .conftest import ACP_COMMANDS, AGENTS

SCRIPT = """#!/usr/bin/python3
import json, os, sys, urllib.request

place = os.environ["HOME"] + "/agent/session.json"
messages = json.load(open(place)) if os.path.exists(place) and KEEPS else []
messages.append({"role": "user", "content": sys.stdin.read() if READS else "Hello."})
request = urllib.request.Request(
    os.environ["URL"] + "/v1/chat/completions",
    json.dumps({"model": "any", "messages": messages}).encode(),
    {"Authorization": "Bearer " + os.environ["KEY"]},
)
for _ in range(CALLS):
    answer = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    messages.append({"role": "assistant", "content": answer["content"]})
json.dump(messages, open(place, "w"))
"""


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = bubblewrap.make(SandboxContext(run="conformance", python=sys.executable))
    yield made
    made.close()


@pytest.mark.parametrize("command", ACP_COMMANDS)
@pytest.mark.slow
def test_agents_of_the_agent_client_protocol_keep_to_it(
    command: str, installed: Callable[[str], InstalledProgram], sandbox: Sandbox
) -> None:
    name, *arguments = command.split()
    check_command_line_agent(acp.agent(f"acp:{command}", acp.KNOWN[name], arguments), sandbox, installed(name))


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.slow
def test_our_agents_keep_to_it(name: str, installed: Callable[[str], InstalledProgram], sandbox: Sandbox) -> None:
    check_command_line_agent(AGENTS[name], sandbox, installed(name))


def agent(session: tuple[str, ...] = ("session.json",)) -> CommandLineAgent:
    return CommandLineAgent(
        name="script",
        source=None,
        first=lambda start: (start.executable,),
        later=lambda start: (start.executable,),
        env=lambda start: {"URL": start.url, "KEY": start.key},
        session=session,
    )


def script(place: Path, *, keeps: bool = True, reads: bool = True, calls: int = 1) -> InstalledProgram:
    path = place / "agent.py"
    text = SCRIPT.replace("KEEPS", str(keeps)).replace("READS", str(reads)).replace("CALLS", str(calls))
    path.write_text(text)
    path.chmod(0o755)
    return given_program("script", str(path))


def test_a_script_of_twenty_lines_keeps_to_it(sandbox: Sandbox, tmp_path: Path) -> None:
    check_command_line_agent(agent(), sandbox, script(tmp_path))


@pytest.mark.parametrize(
    ("program", "stored", "said"),
    [
        pytest.param({"keeps": False}, ("session.json",), "session-lost", id="forgets"),
        pytest.param({"reads": False}, ("session.json",), "none of its requests had the prompt", id="reads no prompt"),
        pytest.param({"calls": 0}, ("session.json",), "no-model-call", id="asks nothing"),
        pytest.param({}, ("elsewhere",), "nothing of its session was found in elsewhere", id="stores it elsewhere"),
    ],
)
def test_what_breaks_it_is_said(
    sandbox: Sandbox, tmp_path: Path, program: dict[str, int], stored: tuple[str, ...], said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        check_command_line_agent(agent(stored), sandbox, script(tmp_path, **program))
