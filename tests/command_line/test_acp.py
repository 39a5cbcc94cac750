"""Agents play by the Agent Client Protocol, one process an episode: real ones, and programs that do what real ones rarely do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from tests.chat_server import Answer, ChatServer, Request, call, say

from .conftest import ACP_COMMANDS
from .scripted import DONE, RIGHT, SHELLS, WRONG, by_shell, solved_in, turn_of, wrote

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]

MODEL = "--recode-model=openai/local"
IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")


def programs(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What the transcript has of the program in each turn."""
    lines = Path("out", record["transcript"]).read_text("utf-8").splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == "program"]


def sessions(record: dict[str, Any]) -> list[bool]:
    """Whether the client opened a session in each turn."""
    return ['"session": ' in line["output"] for line in programs(record)]


@pytest.mark.mostly_slow
@pytest.mark.parametrize("command", ACP_COMMANDS)
def test_an_agent_is_solved_in_its_third_turn(
    command: str, installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    version = installed(command.split()[0]).version
    make_task("a")
    with ChatServer(solved_in(3)) as server:
        agent = (f"--recode-agent=acp:{command}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode("-v", *agent, sandbox="bubblewrap")
    result.assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert (record["agent"], record["agent_version"]) == (f"acp:{command}", version)
    assert server.requests[-1].prompt.count(DONE) == 2
    assert sessions(record) == [True, False, False]


def endless(request: Request) -> Answer:
    """A model that ends its first turn never, and solves the second."""
    shell = by_shell(lambda turn: wrote(RIGHT if turn == 2 else WRONG))
    offers = [tool["function"]["name"] for tool in request.body.get("tools", ())]
    if turn_of(request) > 1 or not offers:
        return shell(request)
    name = next(name for name in offers if name in SHELLS)
    return call(name, SHELLS[name](f"{wrote(WRONG)}\necho {request.number}"))


@pytest.mark.slow
@pytest.mark.parametrize("command", ACP_COMMANDS)
def test_a_turn_that_is_out_of_steps_is_cancelled_in_the_next_one(
    command: str, installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    installed(command.split()[0])
    make_task("a")
    with ChatServer(endless) as server:
        agent = (f"--recode-agent=acp:{command}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*agent, "--recode-steps=8", sandbox="bubblewrap")
    (record,) = results()
    if command.startswith("gemini-cli"):  # it forgets what was cancelled
        assert record["error"]["kind"] == "agent:session-lost"
        return
    result.assert_outcomes(passed=1)
    assert [(turn["passed"], turn.get("stopped", "")) for turn in record["turns"]] == [(1, "steps"), (2, "")]
    assert sessions(record) == [True, False]


AGENT = f"""#!/usr/bin/env python3
import json, os, sys, urllib.request

messages, capabilities = [], {{}}


def ask(text, messages=messages):
    messages.append({{"role": "user", "content": text}})
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({{"model": os.environ["RECODE_MODEL"], "messages": messages}}).encode(),
        {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}},
    )
    messages.append(json.load(urllib.request.urlopen(request))["choices"][0]["message"])


def write(text):
    open("answer.py", "w").write(text)


def play(turn, text):
    ask(text)
    write({RIGHT!r} if turn == 3 else {WRONG!r})


BODY
turn = 0
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        turn += 1
        play(turn, asked["params"]["prompt"][0]["text"])
    result = {{"protocolVersion": 1, "agentCapabilities": capabilities, "sessionId": "one", "stopReason": "end_turn"}}
    print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
"""
"""An agent that keeps its conversation in memory, and can load no session. Solved in its third turn."""


@pytest.fixture
def options(make_task: MakeTask, pytester: pytest.Pytester) -> Callable[..., list[str]]:
    """The options of a run in which AGENT plays one task. `body`: code before it begins."""

    def played(server: ChatServer, *more: str, body: str = "") -> list[str]:
        make_task("a")
        script = pytester.path / "agent.py"
        script.write_text(AGENT.replace("BODY", body))
        script.chmod(0o755)
        return ["--recode-agent=acp:./agent.py", MODEL, f"--recode-api-base={server.url}", "--recode-out=out", *more]

    return played


def answered(request: Request) -> Answer:
    return say(f"An answer of some length, number {request.number}.")


@pytest.mark.parametrize("sandbox", ["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)])
def test_an_agent_that_can_load_no_session_plays_all_turns(
    sandbox: str, options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    with ChatServer(answered) as server:
        if sandbox == "docker" and not IMAGE:
            pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
        image = [f"--recode-image={IMAGE}"] if sandbox == "docker" else []
        recode(*options(server, *image), sandbox=sandbox).assert_outcomes(passed=1)
    (record,) = results()
    assert [(turn["passed"], turn["steps"], turn.get("stopped", "")) for turn in record["turns"]] == [
        (1, 1, ""),
        (1, 1, ""),
        (2, 1, ""),
    ]
    assert sessions(record) == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize("way", [["-n2"], ["--recode-in-flight=4"]], ids=["workers", "in flight"])
def test_several_play_at_the_same_time(
    way: list[str], options: Callable[..., list[str]], make_task: MakeTask, recode: Run, results: Results
) -> None:
    for name in "bcd":
        make_task(name)
    with ChatServer(answered) as server:
        recode(*options(server, *way), sandbox="bubblewrap").assert_outcomes(passed=4)
    assert [sessions(record) for record in results()] == [[True, False, False]] * 4
    assert len(server.requests) == 4 * 3


def test_it_shares_no_first_turn(options: Callable[..., list[str]], recode: Run, results: Results) -> None:
    """Its process is with the episode that played it."""
    policies = ("--recode-feedback=L0", "--recode-feedback=L2")
    with ChatServer(answered) as server:
        recode(*options(server, *policies), sandbox="bubblewrap").assert_outcomes(passed=2)
    assert len(server.requests) == 3 + 3
    assert [record["turns"][0]["shared"] for record in results()] == [None, None]


@pytest.mark.slow
def test_a_run_that_was_killed_in_its_second_turn_has_lost_the_session(
    options: Callable[..., list[str]], recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    asked, answer = threading.Event(), threading.Event()

    def script(request: Request) -> Answer:
        if request.number != 1:
            return answered(request)
        asked.set()
        return Answer(text="An answer that is too late.", wait=answer)

    with ChatServer(script) as server:
        own = options(server, "--recode-sandbox=bubblewrap")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *own]
        with subprocess.Popen(command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
            assert asked.wait(120)
            run.send_signal(signal.SIGKILL)
            answer.set()
        recode(*own, "--recode-resume").assert_outcomes(errors=1)
    (record,) = results()
    assert record["error"]["kind"] == "agent:session-lost"
    assert (
        "turn 2: session-lost: its process has ended since the turn before, and it cannot load a session"
        in record["error"]["message"]
    )
    assert [turn["passed"] for turn in record["turns"]] == [1]


LOADS = """
import pathlib

capabilities["loadSession"] = True
session = pathlib.Path(os.environ["HOME"], "session.json")


def play(turn, text):
    if session.exists():
        messages[:] = json.loads(session.read_text())
    ask(text)
    session.write_text(json.dumps(messages))
    write(RIGHT if os.environ["RECODE_TURN"] == "3" else WRONG)


"""


@pytest.mark.slow
def test_without_process_namespaces_each_turn_is_a_process(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    body = f"RIGHT, WRONG = {RIGHT!r}, {WRONG!r}\n{LOADS}"
    with ChatServer(answered) as server:
        recode(*options(server, body=body), sandbox="process").assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert sessions(record) == [True, True, True]


HANGS = """
import time


def play(turn, text):
    ask(text)
    write({2: WRONG, 3: RIGHT}.get(turn, WRONG))
    if turn == 1:  # until its prompt is cancelled
        cancelled = json.loads(sys.stdin.readline())
        assert cancelled["method"] == "session/cancel", cancelled
        write("too late")
"""


def test_a_turn_whose_time_is_up_is_judged_as_it_is_and_cancelled_in_the_next_one(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    body = f"RIGHT, WRONG = {RIGHT!r}, {WRONG!r}\n{HANGS}"
    with ChatServer(answered) as server:
        own = options(server, "--recode-agent-seconds=5", body=body)
        recode(*own, sandbox="bubblewrap").assert_outcomes(passed=1)
    (record,) = results()
    assert [(turn["passed"], turn.get("stopped", "")) for turn in record["turns"]] == [(1, "time"), (1, ""), (2, "")]
    assert "Your last turn was ended because its time was up." in server.requests[1].prompt
    assert [line["output"].count("stopped") for line in programs(record)] == [0, 2, 1]


ASKS_ON = """
import threading


def play(turn, text):
    ask(text)
    write(RIGHT if turn == 3 else WRONG)
    if turn == 1:
        threading.Thread(target=ask_on, daemon=True).start()


def ask_on():
    while True:
        try:
            ask("more", [])
        except OSError:  # the door is closed
            pass
"""


def test_what_it_asks_when_its_turn_is_over_reaches_no_model(
    options: Callable[..., list[str]], recode: Run, results: Results
) -> None:
    """A thread of it asks for ever, and each of its questions belongs to a turn."""
    body = f"RIGHT, WRONG = {RIGHT!r}, {WRONG!r}\n{ASKS_ON}"
    with ChatServer(answered) as server:
        recode(*options(server, body=body), sandbox="bubblewrap").assert_outcomes(passed=1)
        number = len(server.requests)
    (record,) = results()
    steps = sum(turn["steps"] for turn in record["turns"])
    assert 3 <= steps <= number <= steps + sum(line.get("cut_off", 0) for line in programs(record))


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
