"""`pytest-recode export`: its messages, what is not overwritten, what `--without` removes, and records that lie."""

from __future__ import annotations

import gc
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.export.exported_episodes import read
from pytest_recode.export.target import ExportedEpisode, file_name
from pytest_recode.export.targets import TARGETS, target
from pytest_recode.faults import UserError
from pytest_recode.records.row_filter import RowFilter
from pytest_recode.render.html.withheld import Without
from tests.export.collector import Collector
from tests.export.conftest import records, rewrite, transcript
from tests.messages import assert_message
from tests.projects import Command

ROOT = Path(__file__).resolve().parents[2]


def texts(place: Path) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted(place.iterdir()))


def test_nothing_is_overwritten(project: Path, command: Command) -> None:
    first = command(project, "export", "run", "--to", "atif")
    assert first.returncode == 0, first.stderr
    assert first.stdout == "trajectories (4 episodes)\n"
    before = {path: path.read_bytes() for path in (project / "trajectories").iterdir()}
    again = command(project, "export", "run", "--to", "atif")
    assert (again.returncode, again.stdout) == (2, "")
    assert_message(again.stderr, "exists, and is not overwritten", "give another -o")
    assert {path: path.read_bytes() for path in (project / "trajectories").iterdir()} == before


def test_an_export_that_fails_leaves_no_file(project: Path, command: Command) -> None:
    assert command(project, "export", "run", "--to", "atif").returncode == 0
    *others, last = sorted((project / "trajectories").iterdir())
    for occupied in (last, others[0]):
        for path in (project / "trajectories").iterdir():
            path.unlink()
        occupied.write_text("mine")
        again = command(project, "export", "run", "--to", "atif")
        assert_message(again.stderr, f"{occupied.name} exists, and is not overwritten", "remove it, or give another -o")
        assert {path: path.read_text() for path in (project / "trajectories").iterdir()} == {occupied: "mine"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["atif", "otel", "inspect"])
def test_an_export_keeps_one_episode_in_memory(played: Path, tmp_path: Path, name: str) -> None:
    if name == "inspect":
        pytest.importorskip("inspect_ai.log")
    alive: list[int] = []

    def counted(episodes: Iterator[ExportedEpisode]) -> Iterator[ExportedEpisode]:
        for episode in episodes:
            alive.append(sum(isinstance(each, ExportedEpisode) for each in gc.get_objects()))
            yield episode

    selection = read([played / "run"], RowFilter(), Without())
    with Collector() as collector:
        output = collector.url if name == "otel" else str(tmp_path)
        written = target(name).write(counted(selection.episodes), output)
    assert written.episodes == selection.count == len(alive) == 4
    assert max(alive) <= 2  # the one that is written, and the one that is read


def test_records_that_are_rewritten_during_an_export_are_one_line(project: Path) -> None:
    selection = read([project / "run"], RowFilter(), Without())
    next(selection.episodes)
    rewrite(project / "run/results.jsonl", [*reversed(records(project / "run").values())])
    with pytest.raises(UserError) as raised:
        list(selection.episodes)
    assert_message(str(raised.value), "results.jsonl: was rewritten", "repeat the command")


@pytest.mark.parametrize(
    ("arguments", "subject", "step"),
    [
        (["nowhere"], "nowhere: no such directory", "give the directory of a run"),
        (["run", "--model=gpt"], "--model=gpt: no such episode", "the models are sim/graduate"),
        (["run", "--model=sim", "--agent=codex"], "--agent=codex: no such episode", "the agents are"),
        (["run", "-o", "pytest.ini"], "pytest.ini cannot be written", "give another -o"),
        (["run", "--without=all"], "--without=all: there is no such part", "choose from tests, reference, prompts"),
    ],
)
def test_what_cannot_be_done_is_said(
    played: Path, command: Command, arguments: list[str], subject: str, step: str
) -> None:
    done = command(played, "export", "--to", "atif", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, subject, step)


@pytest.mark.parametrize(
    ("target", "module", "package"),
    [("inspect", "inspect_ai", "inspect-ai"), ("otel", "opentelemetry", "opentelemetry-sdk")],
)
def test_a_missing_package_is_one_line(played: Path, target: str, module: str, package: str) -> None:
    code = f"import sys; sys.modules['{module}'] = None; from pytest_recode.cli import main; sys.exit(main(['export', 'run', '--to', '{target}']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=played, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, package, f"pip install 'pytest-recode[{target}]'")
    assert done.stderr.count("\n") == 1


def test_the_command_line_imports_no_package_of_a_target() -> None:
    code = "import sys; from pytest_recode import cli; cli._parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tops = {name.partition(".")[0] for name in done.stdout.split()}
    assert not tops & {"inspect_ai", "opentelemetry", "google", "litellm", "pytest", "jinja2"}


def test_a_transcript_outside_of_the_run_is_not_read(project: Path, command: Command) -> None:
    run = project / "run"
    rows = list(records(run).values())
    outside = project / "outside.jsonl"
    outside.write_bytes((run / rows[0]["transcript"]).read_bytes())
    rows[0]["transcript"] = "../outside.jsonl"
    (run / rows[1]["transcript"]).unlink()
    (run / rows[1]["transcript"]).symlink_to(outside)
    rows[2]["transcript"] = rows[3]["transcript"]
    rewrite(run / "results.jsonl", rows)
    done = command(project, "export", "run", "--to", "atif", "-o", "out")
    assert done.returncode == 0, done.stderr
    exported = {json.loads(path.read_text())["extra"]["nodeid"] for path in (project / "out").iterdir()}
    assert exported == {rows[3]["nodeid"]}
    assert "out (1 episode)" in done.stdout
    assert "left out: 3 of 4 episodes" in done.stdout
    assert done.stdout.count("without its transcript") == 3


def test_a_name_in_a_record_is_no_path(project: Path, command: Command) -> None:
    run = project / "run"
    [record, *_] = records(run).values()
    evil = {"task": "../../../evil/\x00\n", "model": "/etc/x", "feedback": ".."}
    lines = transcript(run, record)
    for line in lines:
        if "nodeid" in line:
            line.update(evil)
    rewrite(run / record["transcript"], lines)
    rewrite(run / "results.jsonl", [{**record, **evil}])
    done = command(project, "export", "run", "--to", "atif", "-o", "out")
    assert done.returncode == 0, done.stderr
    [path] = (project / "out").iterdir()
    assert re.fullmatch(r"evil-etc-x-[0-9a-f]{10}\.json", path.name)
    assert file_name(["..", "\u202e"], "a", "") == file_name([], "a", "")
    assert file_name([], "a", "") != file_name([], "b", "")


def test_interrupted_episodes_are_counted(project: Path, command: Command) -> None:
    run = project / "run"
    [record, *others] = records(run).values()
    rewrite(run / "results.jsonl", others)
    done = command(project, "export", "run", "run/results.jsonl", "--to", "atif")
    assert "1 episode has not ended" in done.stdout
    assert "(3 episodes)" in done.stdout
    rewrite(run / "results.jsonl", [])
    nothing = command(project, "export", "run", "--to", "atif", "-o", "other")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert_message(nothing.stderr, "no episode has ended", "--recode-resume")
    assert record["nodeid"] not in done.stdout


def test_a_damaged_record_is_one_line(project: Path, command: Command) -> None:
    run = project / "run"
    [record, *_] = records(run).values()
    rewrite(run / "results.jsonl", [{**record, "seconds": "long"}])
    done = command(project, "export", "run", "--to", "atif")
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, "results.jsonl, line 1", "seconds is 'long'", "a number from 0", "restore it")


def marked(project: Path, **settings: Any) -> None:
    """Mark every text of the run with what it is. `settings`: of every episode; "simulated" is a field of its own."""
    run = project / "run"
    rows = list(records(run).values())
    simulated = settings.pop("simulated", True)
    for record in rows:
        lines = transcript(run, record)
        for line in lines:
            if "settings" in line:
                line["simulated"] = simulated
                line["settings"].update(settings)
            if line["event"] == "message":
                line["content"] += " PROMPT"
            elif line["event"] == "action":
                line["arguments"]["text"] = "ARGUMENT"
            elif line["event"] == "result":
                line["text"] += " RESULT"
            elif line["event"] == "feedback":
                line["text"] += " FEEDBACK"
        rewrite(run / record["transcript"], lines)
        record["simulated"] = simulated
        record["settings"].update(settings)
    rewrite(run / "results.jsonl", rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "settings", "gone", "remaining"),
    [
        ("prompts", {"simulated": False}, {"PROMPT", "ARGUMENT", "RESULT"}, set()),
        ("reference", {"simulated": True}, {"PROMPT", "ARGUMENT", "RESULT"}, set()),
        ("tests", {"simulated": False, "test_output": "none"}, set(), {"PROMPT", "ARGUMENT", "RESULT"}),
        ("tests", {"simulated": False, "test_output": "full"}, {"PROMPT", "ARGUMENT"}, set()),
        ("", {"simulated": False}, set(), {"PROMPT", "ARGUMENT", "RESULT"}),
    ],
)
def test_what_must_not_be_shared_is_removed(
    project: Path, command: Command, without: str, settings: dict[str, Any], gone: set[str], remaining: set[str]
) -> None:
    marked(project, **settings)
    options = [f"--without={without}"] if without else []
    assert command(project, "export", "run", "--to", "atif", "-o", "out", *options).returncode == 0
    with Collector() as collector:
        assert command(project, "export", "run", "--to", "otel", "-o", collector.url, *options).returncode == 0
    sent = "\n".join(map(str, collector.requests))
    written = texts(project / "out")
    for text in gone:
        assert text not in written
        assert text not in sent
    for text in remaining:
        assert text in written
    assert ('"removed"' in written) == ("recode.removed" in sent) == bool(without)


def test_corrections_and_what_follows_them_are_removed(project: Path, command: Command) -> None:
    marked(project, simulated=False)
    done = command(project, "export", "run", "--to", "atif", "-o", "out", "--without=reference")
    assert done.returncode == 0, done.stderr
    for path in (project / "out").iterdir():
        one = json.loads(path.read_text())
        for step in one["steps"]:
            after = one["agent"]["extra"]["feedback"] == "L4" and step["extra"]["turn"] > 1
            assert (step["message"] == "[removed]") == after, step


@pytest.mark.parametrize("name", [*TARGETS])
def test_every_target_says_what_it_is(name: str, command: Command, tmp_path: Path) -> None:
    shown = " ".join(command(tmp_path, "export", "--help").stdout.split())
    assert f"{name}: {TARGETS[name].writes}" in shown
    assert f"{name}: {TARGETS[name].place}" in shown


PAGE = ROOT / "docs/how-to/export-to-other-tools.md"


def commands() -> list[str]:
    return re.findall(r"^\$ pytest-recode (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)


def follow(project: Path, command: Command, of_inspect: bool) -> int:
    """Run the commands of the page that are of Inspect, or those that are not. Returns their number."""
    chosen = [text for text in commands() if ("--to inspect" in text) == of_inspect]
    with Collector() as collector:
        for text in chosen:
            given = [collector.url if part == "http://localhost:4318" else part for part in shlex.split(text)]
            done = command(project, *given)
            assert done.returncode == 0, done.stderr
    assert bool(collector.spans) != of_inspect
    return len(chosen)


@pytest.mark.slow
def test_the_commands_of_the_guide(project: Path, command: Command) -> None:
    """They are of a run in `run`."""
    assert follow(project, command, of_inspect=False) >= 3


@pytest.mark.slow
def test_the_commands_of_the_guide_for_inspect(project: Path, command: Command) -> None:
    pytest.importorskip("inspect_ai.log")
    assert follow(project, command, of_inspect=True) >= 1
    assert [path.suffix for path in (project / "logs").iterdir()] == [".eval", ".eval"]
