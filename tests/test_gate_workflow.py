"""docs/how-to/gate-a-pull-request.md: its workflow is valid, and its commands do in their order what the page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_recode.settings import OPTIONS
from tests import nursery
from tests.chat_server import ChatServer, say
from tests.plugin.conftest import FILES as TASK
from tests.plugin.conftest import MANIFEST

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs/how-to/ci/github-gate.yml"
PAGE = ROOT / "docs/how-to/gate-a-pull-request.md"
JOBS: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))["jobs"]
CODE = "```python\n# answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"


def scripts(job: str) -> list[str]:
    """The commands of a job that use pytest-recode, without those that install it."""
    return [step["run"] for step in JOBS[job]["steps"] if "pytest" in step.get("run", "") and "pip" not in step["run"]]


@pytest.mark.slow
def test_it_is_valid_for_its_system() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema=vendor.github-workflows", FILE]
    subprocess.run(command, check=True)


def test_the_key_stands_in_the_paid_step_alone_and_options_exist() -> None:
    workflow = yaml.safe_load(FILE.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [(name, step) for name, job in JOBS.items() for step in job["steps"] if "env" in step]
    assert [(name, list(step["env"])) for name, step in steps] == [("nightly", ["OPENAI_API_KEY"])]
    used = {part.partition("=")[0] for job in JOBS for text in scripts(job) for part in shlex.split(text)}
    known = {option.flag for option in OPTIONS.values()}
    assert {part for part in used if part.startswith("--recode-")} <= known


class Place:
    """A repository with one task, in which commands of the page and of the workflow run."""

    def __init__(self, path: Path, python: tuple[str, ...]) -> None:
        self.path = path
        for name, text in {**TASK, "task.yaml": MANIFEST.format(id="tiny", domain="ml")}.items():
            (path / "tasks/tiny" / name).parent.mkdir(parents=True, exist_ok=True)
            (path / "tasks/tiny" / name).write_text(text)
        programs = path / "bin"
        programs.mkdir()
        for program, module in (
            ("pytest", f"pytest -p {nursery.PLUGIN} -p no:cacheprovider"),
            ("pytest-recode", "pytest_recode.cli"),
        ):
            (programs / program).write_text(f'#!/bin/sh\nexec {shlex.join(python)} -m {module} "$@"\n')
            (programs / program).chmod(0o755)

    def run(self, command: str, *, key: str = "") -> subprocess.CompletedProcess[str]:
        drop = ("PYTEST_", "OPENAI_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(drop)}
        environment |= {
            "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(self.path / "step.md"),
        }
        environment |= {"OPENAI_API_KEY": key} if key else {}
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.path, env=environment, capture_output=True, text=True, check=False
        )

    def play(self, job: str, *, key: str = "") -> subprocess.CompletedProcess[str]:
        return self.run(scripts(job)[0].replace("-n 4", "-n 2"), key=key)


def commands() -> list[str]:
    return re.findall(r"^    (pytest.*)$", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_the_commands_of_the_page_and_then_the_jobs(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    place = Place(tmp_path, quick_python)
    with ChatServer(lambda _: say(CODE)) as server:
        ini = f"[pytest]\nrecode_api_base = {server.url}\nrecode_agent = one-shot\nrecode_turns = 2\nrecode_sandbox = process\n"
        (tmp_path / "pytest.ini").write_text(ini)
        printed = commands()
        assert [each.split()[0] for each in printed] == [
            "pytest",
            "pytest-recode",
            "pytest-recode",
            "pytest",
            "pytest-recode",
        ]
        for command in printed:
            done = place.run(command, key="-")
            assert done.returncode == 0, done.stdout + done.stderr
        asked = len(server.requests)
        assert asked == 1 + 3

        done = place.play("pull-request")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.requests) == asked  # it is free
        assert "passed: too few tasks to tell" in done.stdout
        assert "**passed**" in (tmp_path / "step.md").read_text()

        (tmp_path / "records").rename(tmp_path / "replayed")
        done = place.play("nightly", key="-")
        assert done.returncode == 0, done.stdout + done.stderr
        blessed = (tmp_path / "recode-nightly.json").read_text()
        assert place.run(scripts("nightly")[1]).returncode == 0
        assert (tmp_path / "recode-nightly.json").read_text() == blessed


@pytest.mark.slow
def test_a_pull_request_that_loses_a_task_fails(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    place = Place(tmp_path, quick_python)
    with ChatServer(lambda _: say("I do not know.")) as server:
        ini = f"[pytest]\nrecode_api_base = {server.url}\nrecode_agent = one-shot\nrecode_turns = 2\nrecode_sandbox = process\n"
        (tmp_path / "pytest.ini").write_text(ini)
        for command in commands()[:2]:
            place.run(command, key="-")
        file = tmp_path / "recode-baseline.json"
        whole = json.loads(file.read_text())
        [attempt] = whole["rows"][0]["tasks"]["tiny"]["attempts"]
        attempt.update(outcome="solved", solved_turn=2)
        file.write_text(json.dumps(whole))
        done = place.play("pull-request")
    assert done.returncode == 1, done.stdout + done.stderr
    [annotation] = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert annotation.endswith("lost 1 task")
    assert "lost\\: tiny" in (tmp_path / "step.md").read_text()
