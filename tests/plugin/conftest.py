"""A small task, agents for it, and runs of it in pytest sessions of their own, alone and with workers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MANIFEST = """\
schema: 1
id: {id}
title: Twice and half
targets: [answer.py]
interfaces: [answer.twice, answer.half]
domain: {domain}
tags: [arithmetic]
difficulty: easy
"""

FILES = {
    "instruction.md": "Write answer.py with twice(x) and half(x).\n",
    "paper.md": "Twice x is x + x.\n",
    "repo/constants.py": "TWO = 2\n",
    "repo/answer.py": "def twice(x):\n    raise NotImplementedError\n\n\ndef half(x):\n    raise NotImplementedError\n",
    "reference/answer.py": (
        "from constants import TWO\n\n\ndef twice(x):\n    return x * TWO\n\n\ndef half(x):\n    return x / TWO\n"
    ),
    # without numpy, and so without `rng`: importing it would take longer than all else that a session does here
    "tests/test_answer.py": """\
import pytest


@pytest.mark.interface("answer.twice")
def test_twice(candidate):
    assert candidate.answer.twice(1.5) == 3.0


@pytest.mark.interface("answer.half")
def test_half(candidate, reference):
    assert candidate.answer.half(1.5) == reference.answer.half(1.5)
""",
}

AGENTS = '''\
"""Agents that need no model."""

import uuid

from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"
HALF = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x\\n"


class ThirdTime:
    """Half right twice, then right."""

    def __init__(self, context):
        self.turns = 0

    def act(self, brief, feedback, workspace):
        self.turns += 1
        workspace.write("answer.py", RIGHT if self.turns == 3 else HALF)
        return Move(steps=1)


class Never:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        workspace.write("answer.py", HALF)
        return Move(steps=1)


class Broken:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        raise ZeroDivisionError("an agent with a fault of its own")


class OtherwiseBroken:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        raise ZeroDivisionError(f"fault {uuid.uuid4()}")


THIRD_TIME = AgentKind(make=ThirdTime, needs_model=False)
NEVER = AgentKind(make=Never, needs_model=False)
BROKEN = AgentKind(make=Broken, needs_model=False)
OTHERWISE_BROKEN = AgentKind(make=OtherwiseBroken, needs_model=False)
'''

Workers = pytest.fixture(params=["-n0", "-n2"], ids=["alone", "workers"])


@Workers
def workers(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


MakeTask = Callable[..., Path]


@pytest.fixture
def make_task(pytester: pytest.Pytester) -> MakeTask:
    """Write a task directory; keyword `files` replaces or (None) removes files of it."""

    def make(
        name: str = "tiny", *, domain: str = "ml", files: dict[str, str | None] | None = None, manifest: str = ""
    ) -> Path:
        root = pytester.path / "bench" / name
        wanted = {"task.yaml": MANIFEST.format(id=name, domain=domain) + manifest, **FILES, **(files or {})}
        for path, text in wanted.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
        return root

    return make


@pytest.fixture
def agents(pytester: pytest.Pytester) -> None:
    """`tiny_agents` is importable in the session under test."""
    pytester.makepyfile(tiny_agents=AGENTS)
    pytester.syspathinsert()


@pytest.fixture
def recode(run_pytest: Callable[..., pytest.RunResult]) -> Callable[..., pytest.RunResult]:
    """Run pytest in a process of its own, on the process sandbox where the run says nothing else."""

    def run(*args: str, sandbox: str = "process", fresh: bool = False) -> pytest.RunResult:
        given = [] if any(arg.startswith("--recode-sandbox") for arg in args) else [f"--recode-sandbox={sandbox}"]
        return run_pytest(*given, *args, fresh=fresh)

    return run


@pytest.fixture
def results(pytester: pytest.Pytester) -> Callable[..., list[dict[str, Any]]]:
    def read(out: str = "out") -> list[dict[str, Any]]:
        lines = (pytester.path / out / "results.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    return read


def words(result: pytest.RunResult) -> str:
    """All that a person reads, without colours and with white space folded."""
    text = "\n".join([*result.outlines, *result.errlines])
    return re.sub(r"\s+", " ", re.sub(r"\x1b\[[0-9;]*m", "", text))
