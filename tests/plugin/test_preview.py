"""`pytest-recode preview`: the prompt, the verdict and the feedback that it prints are those of a run, and of a validation."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.render.preview import WARNING
from tests.chat_server import ChatServer, say
from tests.messages import assert_message
from tests.projects import Command

from .conftest import FILES, words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]

RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
HALF = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"
LEAKING = (
    "answer.half:\n  description: Half is not half.\n"
    "  suggestion: 'They say def twice ( x ) colon def half ( x ) : return x / TWO in the end.'\n"
)
SLOW = pytest.mark.slow

pytestmark = pytest.mark.alone


def parts(text: str) -> dict[str, str]:
    """What is between the rules of the output, by their titles."""
    found = re.split(r"^──── (.*?) ─+\n", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


@pytest.mark.parametrize(
    ("agent", "protocol"),
    [
        ("recode", "tools"),
        pytest.param("recode", "text", marks=SLOW),
        pytest.param("recode-h", "text", marks=SLOW),
        ("one-shot", "text"),
    ],
)
def test_the_prompt_is_what_a_run_sends(
    agent: str,
    protocol: str,
    make_task: MakeTask,
    recode: Run,
    command: Command,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "-")
    task = make_task(
        files={"repo/deep/other.py": "# Paper\n\n```\nx = 1\n```\n", "instruction.md": "Write:\n\n# Targets\n\nx\n"}
    )
    with ChatServer(lambda _: say("no action")) as server:
        (pytester.path / "models.yaml").write_text(
            f"mine: {{model: openai/any, api_base: '{server.url}', tools: {json.dumps(protocol == 'tools')}}}\n"
        )
        given = ("--recode-model=mine", "--recode-models-file=models.yaml", f"--recode-agent={agent}")
        recode(*given, "--recode-feedback=none", "--recode-feedback=L0", "--recode-out=out")
    monkeypatch.delenv("OPENAI_API_KEY")
    asked = server.requests[0].body
    done = command(pytester.path, "preview", task, f"--agent={agent}", f"--protocol={protocol}")
    assert done.returncode == 0, done.stderr
    shown = parts(done.stdout)
    assert [
        shown[f"message {n} of 2: {each['role']}"].removesuffix("\n") for n, each in enumerate(asked["messages"], 1)
    ] == [each["content"] for each in asked["messages"]]
    tools = shown.get(f"{len(asked.get('tools', []))} tools, sent with the messages", "")
    assert [json.loads(line) for line in tools.splitlines()] == asked.get("tools", [])
    assert bool(tools) == (protocol == "tools")
