"""A distribution with a part of each kind, which registers them by entry points alone: pytest and the command have all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_message

MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Run = Callable[..., str]

LAB = '''\
"""A laboratory's own parts."""

from dataclasses import replace

from pytest_recode.agents import ONE_STEP, AgentKind
from pytest_recode.agents.one_shot import make
from pytest_recode.feedback import PolicyKind
from pytest_recode.formats.directory import FORMAT as DIRECTORY
from pytest_recode.models import ModelKind, Reply
from pytest_recode.sandboxes.process import KIND as PROCESS, Process

RIGHT = "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n"


class Bench(Process):
    name = "bench"


class Answer:
    simulated, native_tools = False, False

    def __init__(self, context):
        self.name = "lab/m"

    def complete(self, messages, *, tools=(), schema=None):
        return Reply(text=f"```python answer.py\\n{RIGHT}```")


def load(manifest):
    return [replace(task, format="lab") for task in DIRECTORY.load(manifest)]


FORMAT = replace(DIRECTORY, name="lab", manifest="lab.yaml", load=load)
SANDBOX = replace(PROCESS, make=Bench)
AGENT = AgentKind(make=make, defaults={"turns": 2}, fixes=ONE_STEP)
POLICY = PolicyKind(make=lambda options: lambda turns: 1)
MODEL = ModelKind(make=Answer, check=lambda context: None)
'''
ENTRY_POINTS = """\
[pytest_recode.formats]
lab.yaml = lab:FORMAT

[pytest_recode.sandboxes]
bench = lab:SANDBOX

[pytest_recode.agents]
scribe = lab:AGENT

[pytest_recode.policies]
steady = lab:POLICY

[pytest_recode.models]
lab/ = lab:MODEL
"""


def distribution(site: Path, name: str, entry_points: str) -> None:
    """What pip leaves of an installed distribution."""
    information = site / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def lab(pytester: pytest.Pytester, make_task: MakeTask) -> Run:
    """Runs a module in a session in which the laboratory's distribution is installed, with a task of its format. Returns the output."""
    site = pytester.path / "site"
    distribution(site, "lab", ENTRY_POINTS)
    (site / "lab.py").write_text(LAB)
    task = make_task("tiny")
    (task / "task.yaml").rename(task / "lab.yaml")

    def run(module: str, *arguments: str, status: int = 0) -> str:
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(
            command, cwd=pytester.path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_run_with_all_of_them(lab: Run, results: Results, workers: str) -> None:
    chosen = ("--recode-agent=scribe", "--recode-sandbox=bench", "--recode-model=lab/m", "--recode-feedback=steady")
    lab("pytest", "bench", workers, "--recode-out=out", *chosen)
    [record] = results()
    named = {name: record[name] for name in ("format", "agent", "model", "feedback", "sandbox", "outcome")}
    assert named == {
        "format": "lab",
        "agent": "scribe",
        "model": "lab/m",
        "feedback": "steady",
        "sandbox": "bench",
        "outcome": "solved",
    }
    assert (record["settings"]["turns"], record["settings"]["steps"]) == (2, 1)
    tables = json.loads(lab("pytest_recode.cli", "report", "out", "--tasks", "bench", "--format=json"))["tables"]
    [table] = [table for table in tables if table["name"] == "tasks"]
    assert [(row["format"], row["task"]) for row in table["rows"]] == [("lab", "tiny")]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--recode-steps=2", "--recode-memory-keep=4"])
def test_an_option_that_its_agent_fixes_is_one_line(lab: Run, option: str) -> None:
    text = lab("pytest", "bench", "--recode-agent=scribe", option, status=4)
    flag = option.partition("=")[0]
    assert_message(text, "--recode-agent=scribe", flag, f"leave out {flag}")


@pytest.mark.slow
def test_preview_and_cut(lab: Run, pytester: pytest.Pytester) -> None:
    prompt = lab("pytest_recode.cli", "preview", "bench/tiny", "--agent=scribe", "--no-pager")
    assert "tiny: the first prompt that a model receives from the agent scribe" in prompt
    assert "2 turns" in prompt
    graded = lab(
        "pytest_recode.cli", "preview", "bench/tiny", "--answer=bench/tiny/reference", "--sandbox=bench", "--no-pager"
    )
    assert "bench" in graded
    clone = pytester.path / "clone"
    clone.mkdir()
    (clone / "sums.py").write_text('"""Sums."""\n\n\ndef total(x):\n    """The sum of a list."""\n    return sum(x)\n')
    (clone / "test_sums.py").write_text(
        "from sums import total\n\n\ndef test_total():\n    assert total([1, 2.5]) == 3.5\n"
    )
    assert "tasks/total: drafted from sums" in lab(
        "pytest_recode.cli", "cut", "clone", "sums:total", "--sandbox=bench", "--license=MIT"
    )


@pytest.mark.slow
def test_unknown_names_list_what_is_installed(lab: Run) -> None:
    assert "unknown agent 'scrib' (did you mean scribe?)" in lab("pytest", "bench", "--recode-agent=scrib", status=4)
    arguments = ("preview", "bench/tiny", "--answer=bench/tiny/reference", "--sandbox=benches", "--no-pager")
    message = lab("pytest_recode.cli", *arguments, status=2)
    assert "choose bubblewrap, docker, process, bench or auto" in message


@pytest.mark.slow
def test_two_distributions_with_one_name_are_one_line(lab: Run, pytester: pytest.Pytester) -> None:
    distribution(pytester.path / "site", "other", "[pytest_recode.agents]\nscribe = other:AGENT\n")
    text = lab("pytest", "bench", "--recode-agent=noop", status=4)
    assert_message(
        text, "pytest_recode.agents", "'scribe' is an entry point of", "lab", "other", "uninstall one of them"
    )
    assert "Traceback" not in text


BROKEN = """\
[pytest_recode.formats]
broken.yaml = nowhere:FORMAT

[pytest_recode.agents]
lame = nowhere:KIND
"""
PAIR = """\
from dataclasses import replace

from pytest_recode.formats.directory import FORMAT as DIRECTORY


def load(manifest):
    [task] = DIRECTORY.load(manifest)
    return [replace(task, format="pair"), replace(task, format="pair", id="second")]


FORMAT = replace(DIRECTORY, name="pair", manifest="pair.yaml", load=load, single=False)
"""


@pytest.mark.slow
def test_the_command_imports_only_what_is_chosen(lab: Run, pytester: pytest.Pytester) -> None:
    distribution(pytester.path / "site", "broken", BROKEN)
    preview = ("pytest_recode.cli", "preview", "bench/tiny", "--no-pager")
    assert "tiny: the first prompt" in lab(*preview, "--agent=scribe")
    assert_message(
        lab(*preview, "--agent=lame", status=2), "agent 'lame' of the distribution broken", "no module 'nowhere'"
    )
    assert_message(lab(*preview, "--agent=lam", status=2), "--agent=lam", "did you mean lame?", "scribe")


@pytest.mark.slow
def test_preview_of_one_task_of_several(lab: Run, pytester: pytest.Pytester) -> None:
    distribution(pytester.path / "site", "pairs", "[pytest_recode.formats]\npair.yaml = pair:FORMAT\n")
    (pytester.path / "site" / "pair.py").write_text(PAIR)
    manifest = pytester.path / "bench" / "tiny" / "lab.yaml"
    manifest.rename(manifest.with_name("pair.yaml"))
    preview = ("pytest_recode.cli", "preview", "--agent=scribe", "--no-pager")
    assert "second: the first prompt" in lab(*preview, "bench/tiny/pair.yaml::second")
    several = lab(*preview, "bench/tiny", status=2)
    assert_message(several, "has 2 tasks", "bench/tiny::tiny", "bench/tiny::second")
    assert_message(lab(*preview, "bench/tiny::secnd", status=2), "has no task 'secnd'", "did you mean second?")


@pytest.mark.slow
def test_cut_says_which_sandboxes_it_cannot_use(lab: Run) -> None:
    text = lab("pytest_recode.cli", "cut", "bench", "sums:total", "--sandbox=docker", "--license=MIT", status=2)
    assert_message(text, "docker cannot be used by cut", "bubblewrap")


@pytest.mark.slow
def test_a_group_that_does_not_exist_is_one_line(lab: Run, pytester: pytest.Pytester) -> None:
    distribution(pytester.path / "site", "other", "[pytest_recode.agent]\nmine = other:AGENT\n")
    text = lab("pytest", "bench", "--recode-agent=noop", status=4)
    assert_message(text, "the distribution other", "pytest_recode.agent", "did you mean pytest_recode.agents?")
