"""Episodes of a script that is given as the program of a command-line agent, in a real sandbox, behind the real gateway."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer, say
from tests.plugin.conftest import words

from .scripted import RIGHT, WRONG

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

BEGIN = '''#!/usr/bin/python3
"""Asks its model over a session that it keeps; what follows is the misbehaviour."""
import http.client, json, os, pathlib, re, socket, subprocess, sys, time, urllib.error, urllib.request

state = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"], "projects")
state.mkdir(parents=True, exist_ok=True)
url, key = os.environ["ANTHROPIC_BASE_URL"], os.environ["ANTHROPIC_AUTH_TOKEN"]
port = int(url.rpartition(":")[2])
prompt = sys.stdin.read()
turn = 1 + max([0, *map(int, re.findall("Feedback on turn ([0-9]+)", prompt))])
session = state / "session.json"
messages = json.loads(session.read_text()) if session.exists() else []


def ask(text=prompt, key=key, path="/v1/messages", **more):
    messages.append({"role": "user", "content": text})
    body = json.dumps({"model": "m", "max_tokens": 99, "messages": messages, **more}).encode()
    headers = {"x-api-key": key, "content-type": "application/json"}
    answer = json.load(urllib.request.urlopen(urllib.request.Request(url + path, body, headers)))
    messages.append({"role": "assistant", "content": answer["content"]})
    session.write_text(json.dumps(messages))
    return answer["content"][0]["text"]


def write(text, path="answer.py"):
    pathlib.Path(path).write_text(text)


'''
Play = Callable[..., dict[str, Any]]


@pytest.fixture
def play(make_task: MakeTask, recode: Run, results: Results, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Play one episode of two turns with a program, and return its record; `said` is what the session printed."""

    def played(body: str, *options: str, answer: str = "I have done what was asked for.") -> dict[str, Any]:
        program = tmp_path_factory.mktemp("program") / "agent.py"
        program.write_text(f"{BEGIN}RIGHT, WRONG = {RIGHT!r}, {WRONG!r}\n{textwrap.dedent(body)}")
        program.chmod(0o755)
        make_task("a")
        with ChatServer(lambda request: say(f"{answer} ({request.number})")) as server:
            given = (f"--recode-agent-path=claude-code={program}", f"--recode-api-base={server.url}", *options)
            turns = () if any("--recode-turns" in option for option in options) else ("--recode-turns=2",)
            result = recode(
                "--recode-agent=claude-code",
                "--recode-model=openai/local",
                "--recode-out=out",
                *given,
                *turns,
                sandbox="bubblewrap",
            )
        (record,) = results()
        return {**record, "said": words(result), "asked": len(server.requests)}

    return played
