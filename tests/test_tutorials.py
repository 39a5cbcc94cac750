"""The tutorials, and how to compare agents, from their first line to their last: their files are written and their commands are run, in their order."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
STEP = re.compile(
    r"^File `(?P<path>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```sh\n(?P<commands>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class File:
    path: str
    text: str


@dataclass(frozen=True)
class Command:
    line: str


def steps(page: Path) -> Iterator[File | Command]:
    """What a reader does. Blocks of `console` need a key, a server or a network and are not run."""
    for match in STEP.finditer(page.read_text("utf-8")):
        if match["path"]:
            yield File(match["path"], match["text"])
        else:
            yield from (Command(line) for line in match["commands"].splitlines())


def run(command: Command, place: Path, quick_python: tuple[str, ...]) -> str:
    """What it prints. A failed test is the reader's to expect, a usage error is not."""
    program, *args = shlex.split(command.line)
    module = {"pytest": "pytest", "pytest-recode": "pytest_recode.cli"}[program]
    done = subprocess.run([*quick_python, "-m", module, *args], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}, done.stdout + done.stderr
    assert "ERROR" not in done.stdout, done.stdout
    return done.stdout


def follow(page: str, place: Path, quick_python: tuple[str, ...]) -> list[str]:
    outputs = []
    for step in steps(TUTORIALS / page):
        if isinstance(step, File):
            (place / step.path).parent.mkdir(parents=True, exist_ok=True)
            (place / step.path).write_text(step.text, "utf-8")
        else:
            outputs.append(run(step, place, quick_python))
    return outputs


def with_tasks(place: Path, *names: str) -> Path:
    for name in names:
        shutil.copytree(ROOT / "tasks" / name, place / "tasks" / name)
    return place


@pytest.mark.slow
def test_the_first_run(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    place = with_tasks(tmp_path, "sinkhorn", "soft-nms")
    listing, played, report, table, episode = follow("first-run.md", place, quick_python)
    assert listing.count("::episode[sim/graduate-escalate]") == 2
    assert "2/2" in played
    assert "simulated" in report
    assert table.startswith(("#", "**", "|", "Episodes"))
    assert episode.startswith("sinkhorn  sim/graduate (simulated)  SOLVED")
    guide = (ROOT / "docs/how-to/read-a-transcript.md").read_text("utf-8")
    commands = re.findall(r"^\$ (pytest-recode show first .*)$", guide, re.MULTILINE)
    assert len(commands) == 2
    for line in commands:
        assert "sinkhorn  sim/graduate (simulated)  SOLVED" in run(Command(line), place, quick_python)


@pytest.mark.slow
def test_the_first_comparison(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    place = with_tasks(tmp_path, "sinkhorn", "soft-nms", "bpe", "mbar")
    played, compared, more, again = follow("first-comparison.md", place, quick_python)
    assert re.search(r"L0 +0/3 .*\n.*L4 +3/3", played)
    assert " 0.25" in compared
    assert re.search(r"L0 +0/4 .*\n.*L4 +4/4", more)
    assert " 0.125" in again or " 0.12" in again


@pytest.mark.slow
def test_the_first_task(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    validated, wrong, repaired, played = follow("first-task.md", tmp_path, quick_python)
    assert re.search(r"constant answers +weak", validated)
    assert "proofs/wrong/uniform solves the task" in wrong
    assert re.search(r"constant answers +ok", repaired)
    assert re.search(r"wrong answers +(ok|1 of 1 detected) ", repaired)
    survivors = re.findall(r"^ +\+ (.*)$", repaired, re.MULTILINE)
    assert [each.strip() for each in survivors] == ["maximum, total = -math.inf, 1.0", "larger = max(score, maximum)"]
    assert "1/1" in played


@pytest.mark.slow
def test_comparing_two_agents(tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    place = with_tasks(tmp_path, "sinkhorn", "soft-nms")
    played, pairs, one_pair, calls, _, by_name, by_mark, resumed = follow(
        "../how-to/compare-two-agents.md", place, quick_python
    )
    page = (ROOT / "docs/how-to/compare-two-agents.md").read_text("utf-8")
    [shown] = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    head, *rows = shown.splitlines()
    table = [line.split() for line in played.splitlines()]
    assert head.split() in table
    assert all(row.split()[:4] in [line[:4] for line in table] for row in rows)
    assert "agent one-shot / recode; steps 1 / 3" in pairs
    assert "L0, with paper, one-shot" in one_pair
    assert "\nCalls of models" in calls
    assert (place / "agents.html").stat().st_size > 100_000
    for listing, agent in ((by_name, "one-shot"), (by_mark, "recode")):
        assert set(re.findall(r"episode\[(.*?)-sim/", listing)) == {agent}
    assert re.search(r"reference +reference +L4 +2/2", resumed)
