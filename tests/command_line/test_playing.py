"""Real command-line agents play whole episodes: three turns in one session, with feedback that rises, without a network."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from pytest_recode.export.exported_episodes import read
from pytest_recode.export.otel import spans
from pytest_recode.records.row_filter import RowFilter
from pytest_recode.records.transcript_turns import read_episode
from pytest_recode.render.episode_text import ShownParts, painted, shown
from pytest_recode.render.html.withheld import Without
from tests.chat_server import ChatServer, Request, call

from .scripted import DONE, RIGHT, by_edit, by_shell, solved_in

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")
SANDBOXES = ["bubblewrap", pytest.param("docker", marks=pytest.mark.slow)]
MODEL = "--recode-model=openai/local"


def image_of(sandbox: str) -> list[str]:
    """The options for the sandbox's image."""
    if sandbox == "docker" and not IMAGE:
        pytest.skip("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    return [f"--recode-image={IMAGE}"] if sandbox == "docker" else []


def texts(body: Mapping[str, Any]) -> str:
    return json.dumps(body["messages"])


@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize(
    "name", ["claude-code", "codex", "opencode", pytest.param("gemini-cli", marks=pytest.mark.slow)]
)
def test_an_agent_is_solved_in_its_third_turn(
    name: str,
    sandbox: str,
    installed: Installed,
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    version = installed(name).version
    make_task("a")
    with ChatServer(solved_in(3)) as server:
        agent = (f"--recode-agent={name}", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode("-v", *agent, *image_of(sandbox), sandbox=sandbox)
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
    pytester.run(sys.executable, "-m", "pytest_recode.cli", "export", "out", "--to=atif", "--output=exported")
    (exported,) = (pytester.path / "exported").iterdir()
    assert json.loads(exported.read_text())["agent"]["version"] == version
    _check_spans(pytester.path / "out", version)
    offered = {tool["function"]["name"] for request in server.requests for tool in request.body.get("tools", ())}
    assert not {"WebFetch", "WebSearch", "CronCreate", "ScheduleWakeup", "webfetch", "websearch"} & offered


def _check_spans(out: Path, version: str) -> None:
    """Each call of the agent is a span with its answer, and each of its tool calls one with its result."""
    (episode,) = read([out], RowFilter(), Without()).episodes
    root, *below = spans(episode)
    assert root.attributes is not None
    assert root.attributes["gen_ai.agent.version"] == version
    told = [dict(span.attributes or {}) for span in below]
    chats = [span for span in told if span["gen_ai.operation.name"] == "chat"]
    tools = [span for span in told if span["gen_ai.operation.name"] == "execute_tool"]
    parts = [json.loads(str(span["gen_ai.output.messages"]))[0]["parts"][-1] for span in chats]
    assert [part["type"] for part in parts] == ["tool_call", "text"] * 3
    assert [part["name"] for part in parts[::2]] == [span["gen_ai.tool.name"] for span in tools]
    assert all(span["gen_ai.usage.input_tokens"] == 11 for span in chats)
    assert all("gen_ai.tool.call.result" in span for span in tools)


@pytest.mark.slow  # pip takes minutes to install it
@pytest.mark.parametrize("sandbox", SANDBOXES)
def test_an_agent_without_tools_is_solved_in_its_third_turn(
    sandbox: str, installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    version = installed("aider").version
    make_task("a")
    with ChatServer(by_edit(3)) as server:
        agent = ("--recode-agent=aider", MODEL, f"--recode-api-base={server.url}", "--recode-out=out")
        result = recode(*agent, *image_of(sandbox), sandbox=sandbox)
    result.assert_outcomes(passed=1)
    (record,) = results()
    assert [turn["passed"] for turn in record["turns"]] == [1, 1, 2]
    assert [turn["steps"] for turn in record["turns"]] == [1, 1, 1]
    assert (record["agent"], record["agent_version"], len(server.requests)) == ("aider", version, 3)
    last = texts(server.requests[-1].body)
    assert [last.count(f"{DONE} ({turn})") for turn in (1, 2)] == [1, 1]
    assert last.count("Feedback on turn 1, level L0") == last.count("Feedback on turn 2, level L1") == 1


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


def test_an_answer_that_comes_after_the_time_is_up_is_not_missed(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """The program cannot repeat in its second turn what it did not receive in its first."""
    make_task("a")
    script = pytester.path / "remembering.py"
    script.write_text(REMEMBERING)
    script.chmod(0o755)

    def answer(request: Request) -> str:
        if request.number == 1:
            time.sleep(LIMIT + 1)  # longer than the turn may last
        return DONE

    with ChatServer(answer) as server:
        agent = ("--recode-agent=claude-code", f"--recode-agent-path=claude-code={script}", MODEL)
        limits = (f"--recode-agent-seconds={LIMIT}", "--recode-turns=2")
        result = recode(*agent, *limits, f"--recode-api-base={server.url}", "--recode-out=out", sandbox="bubblewrap")
    result.assert_outcomes(failed=1)
    (record,) = results()
    assert [turn.get("stopped") for turn in record["turns"]] == ["time", None]
    first, _, second = (request.body["messages"] for request in server.requests)
    assert f"Turns: 2 at most. A turn ends at the latest after 100 of your answers or {LIMIT} s" in first[0]["content"]
    assert next(message["content"] for message in second) == first[0]["content"]
    assert "its time was up" in second[-1]["content"]
    assert "turn 2 of 2" in second[-1]["content"]
    episode = read_episode(pytester.path / "out" / record["transcript"])
    assert episode.brief == first[0]["content"]
    text = painted(shown(episode, ShownParts()), colour=False)
    assert "ended before it ended its turn: its time was up (--recode-agent-seconds)" in text


def test_a_tool_call_has_its_result_although_a_subagent_asked_in_between(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    make_task("a")
    script = pytester.path / "delegating.py"
    script.write_text(DELEGATING)
    script.chmod(0o755)
    with ChatServer([call("Agent", {"prompt": "look"}), call("Read", {"path": "a"}), DONE, DONE]) as server:
        agent = ("--recode-agent=claude-code", f"--recode-agent-path=claude-code={script}", MODEL)
        options = ("--recode-turns=1", f"--recode-api-base={server.url}", "--recode-out=out")
        recode(*agent, *options, sandbox="bubblewrap")
    (record,) = results()
    (turn,) = read_episode(pytester.path / "out" / record["transcript"]).turns
    assert [step.number for step in turn.steps] == [1, 2, 3, 4]
    done = [[(action.kind, action.ok, action.text) for action in step.actions] for step in turn.steps]
    assert done == [[("Agent", True, "it has one file")], [("Read", True, "text of the file")], [], []]
    said = [(message.role, message.step) for message in turn.messages if message.role == "tool"]
    assert said == [("tool", 2), ("tool", 1)]


DELEGATING = """#!/usr/bin/python3
import json, os, sys, urllib.request

def ask(messages):
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps({"model": "any", "max_tokens": 99, "messages": messages}).encode(),
        {"x-api-key": os.environ["ANTHROPIC_AUTH_TOKEN"], "content-type": "application/json"},
    )
    content = json.loads(urllib.request.urlopen(request).read())["content"]
    messages.append({"role": "assistant", "content": content})
    return next((part["id"] for part in content if part["type"] == "tool_use"), None)

def tell(messages, number, text):
    result = {"type": "tool_result", "tool_use_id": number, "content": text}
    messages.append({"role": "user", "content": [result]})
    ask(messages)

own, other = ([{"role": "user", "content": text}] for text in (sys.stdin.read(), "look"))
delegated = ask(own)
tell(other, ask(other), "text of the file")
tell(own, delegated, "it has one file")
"""
LIMIT = 2  # seconds
REMEMBERING = """#!/usr/bin/python3
import json, os, pathlib, sys, urllib.request

session = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "session.json")
session.parent.mkdir(exist_ok=True)
messages = json.loads(session.read_text()) if session.exists() else []
first = not messages


def ask(prompt):
    messages.append({"role": "user", "content": prompt})
    session.write_text(json.dumps(messages))
    request = urllib.request.Request(
        os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
        json.dumps({"model": "any", "max_tokens": 99, "messages": messages}).encode(),
        {"x-api-key": os.environ["ANTHROPIC_AUTH_TOKEN"], "content-type": "application/json"},
    )
    messages.append({"role": "assistant", "content": json.load(urllib.request.urlopen(request))["content"]})


ask(sys.stdin.read())
if first:
    ask("Go on.")
"""


def test_the_patches_of_codex_are_a_program_for_its_commands(
    installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    """Its system prompt is about `apply_patch`, also in the middle of a command."""
    installed("codex")
    make_task("a")
    patch = "".join(f"+{line}\n" for line in RIGHT.splitlines())
    command = (
        f"rm answer.py && apply_patch <<'END'\n*** Begin Patch\n*** Add File: answer.py\n{patch}*** End Patch\nEND"
    )
    with ChatServer(by_shell(lambda _: f"{command}\nenv")) as server:
        agent = ("--recode-agent=codex", MODEL, "--recode-turns=1", "--recode-out=out")
        result = recode(*agent, f"--recode-api-base={server.url}", sandbox="bubblewrap")
    result.assert_outcomes(passed=1)
    said = server.requests[-1].body["messages"][-1]["content"]
    assert "PATH=" in said
    assert "GATEWAY_KEY" not in said
    assert results()[0]["solved_turn"] == 1


def test_the_searches_of_opencode_need_no_download(
    installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    installed("opencode")
    make_task("a")
    searches = [call("grep", {"pattern": "def"}), call("glob", {"pattern": "**/*.py"}), DONE]
    with ChatServer(searches) as server:
        agent = ("--recode-agent=opencode", MODEL, "--recode-turns=1", "--recode-out=out")
        recode(*agent, f"--recode-api-base={server.url}", sandbox="bubblewrap")
    found = [request.body["messages"][-1]["content"] for request in server.requests[1:]]
    assert len(found) == 2
    assert all("answer.py" in text for text in found), found


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
