"""`pytest-recode merge`: shards become the run that was divided; shards of different runs do not; what is missing is told and resumed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_recode import cli
from pytest_recode.records import locks
from pytest_recode.records.ledger import FileLedger
from pytest_recode.records.run_directory import CONTROLLER
from tests.made_once import made_once
from tests.messages import assert_line, assert_message
from tests.projects import make_task

TASKS = ("one", "three", "two")
ROOT = Path(__file__).resolve().parents[1]
OPTIONS = (
    *("tasks", "-p", "no:cacheprovider", "--recode-sandbox=process", "--recode-model=sim/graduate"),
    *("--recode-feedback=L0", "--recode-feedback=L4", "--recode-turns=2", "--recode-seed=5"),
)
Session = Callable[..., subprocess.CompletedProcess[str]]
Merge = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def pytest_in(quick_python: tuple[str, ...]) -> Session:
    """Run pytest in a directory, and tell what it printed if it could not play."""

    def run(place: Path, *args: str, ends: tuple[int, ...] = (0, 1)) -> subprocess.CompletedProcess[str]:
        command = [*quick_python, "-m", "pytest", *OPTIONS, *args]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode in ends, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory, pytest_in: Session) -> Path:
    """A project with a whole run, and the same run in four shards, of which one is empty."""

    def play(place: Path) -> None:
        for task in TASKS:
            make_task(place, task)
        (place / "pytest.ini").write_text("[pytest]\n")
        pytest_in(place, "--recode-out=whole")
        for number in (1, 2, 3, 4):
            # with two workers, either episode may be the one that pays for the first turn
            workers = "-n1" if number == 2 else "-n0"
            pytest_in(place, f"--recode-shard={number}/4", f"--recode-out=shard-{number}", workers)

    return made_once(tmp_path_factory, "merged-project", play)


@pytest.fixture
def project(played: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(played, tmp_path / "project")


@pytest.fixture
def merge(quick_python: tuple[str, ...]) -> Merge:
    def run(place: Path, *args: object) -> subprocess.CompletedProcess[str]:
        given = args or sorted(place.glob("shard-*"))
        command = [*quick_python, "-m", "pytest_recode.cli", "merge"]
        names = [each.name if isinstance(each, Path) else str(each) for each in given]
        names += [] if any(name.startswith("--out") for name in names) else ["--out=all"]
        return subprocess.run([*command, *names], cwd=place, capture_output=True, text=True, check=False)

    return run


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


def timeless(value: Any) -> Any:
    """Without what differs between two plays of one episode: times, and the shard."""
    if isinstance(value, dict):
        return {
            key: timeless(each) for key, each in value.items() if key not in {"seconds", "waited", "ended", "shard"}
        }
    return [timeless(each) for each in value] if isinstance(value, list) else value


def by_id(out: Path) -> dict[str, Any]:
    found = {record["nodeid"]: timeless(record) for record in records(out)}
    assert len(found) == len(records(out))
    return found


def tree(out: Path) -> dict[str, bytes]:
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_merged_shards_are_the_run_that_was_not_divided(project: Path, merge: Merge) -> None:
    before = {part: tree(part) for part in project.glob("shard-*")}
    done = merge(project)
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    solved = sum(record["outcome"] == "solved" for record in records(project / "whole"))
    assert first == f"merged 4 of 4 shards: 6 episodes, {solved} solved, {6 - solved} unsolved"
    assert rest == ["records: all", "more numbers: pytest-recode report all"]
    assert by_id(project / "all") == by_id(project / "whole")
    assert {part: tree(part) for part in before} == before, "the shards are only read"
    assert {path.name for path in (project / "all").iterdir()} == {
        *("results.jsonl", "merged.json", "spending.jsonl", "episodes", "checkpoints", "first-turns")
    }
    for folder in ("episodes", "checkpoints", "first-turns"):
        names = [path.name for path in sorted((project / "all" / folder).iterdir())]
        assert names == [path.name for path in sorted((project / "whole" / folder).glob("*.json*"))]
    assert not list(project.glob(".all*"))
    whole, ledger = (FileLedger(project / out / "spending.jsonl").total for out in ("whole", "all"))
    assert ledger == whole
    about = json.loads((project / "all/merged.json").read_text())
    assert [part["directory"] for part in about["parts"]] == [f"shard-{number}" for number in (1, 2, 3, 4)]
    assert sorted(part["episodes"] for part in about["parts"]) == [0, 2, 2, 2]
    assert about["missing"] == []


def test_the_order_of_the_directories_makes_no_difference(project: Path, merge: Merge) -> None:
    parts = sorted(project.glob("shard-*"))
    merge(project, *parts, "--out=one")
    merge(project, *reversed(parts), "--out=other")
    assert tree(project / "one") == tree(project / "other")


def test_a_report_on_a_merged_run_has_the_same_numbers(project: Path, merge: Merge, quick_python: Any) -> None:
    merge(project)
    reports = {}
    for out in ("whole", "all"):
        (project / f"of-{out}").mkdir()
        (project / out).rename(project / f"of-{out}/run")  # a row has the name of its directory
        command = [*quick_python, "-m", "pytest_recode.cli", "report", "run", "--format=json"]
        done = subprocess.run(command, cwd=project / f"of-{out}", capture_output=True, text=True, check=True)
        content = json.loads(done.stdout)
        rows = [
            [{key: row[key] for key in row if "second" not in key and key != "ended"} for row in table["rows"]]
            for table in content["tables"]
        ]
        reports[out] = (rows, content["notes"])
    assert reports["all"] == reports["whole"]


@pytest.mark.slow
def test_a_complete_merged_run_is_resumed_without_playing(project: Path, merge: Merge, pytest_in: Session) -> None:
    merge(project)
    before = records(project / "all")
    spent = (project / "all/spending.jsonl").read_text().count('"prompt_tokens"')
    pytest_in(project, "--recode-out=all", "--recode-resume", "--recode-fail-under=10", ends=(0,))
    assert records(project / "all") == before
    assert (project / "all/spending.jsonl").read_text().count('"prompt_tokens"') == spent


@pytest.mark.slow
def test_a_new_task_is_played_by_the_merged_run(project: Path, merge: Merge, pytest_in: Session) -> None:
    """Which its shards would refuse, because it moves the others."""
    merge(project)
    before = records(project / "all")
    make_task(project, "four")
    pytest_in(project, "--recode-out=all", "--recode-resume")
    assert records(project / "all")[:6] == before
    assert [record["task"] for record in records(project / "all")[6:]] == ["four", "four"]


@pytest.mark.slow
def test_stored_turns_of_a_merged_run_are_replayed(project: Path, merge: Merge, quick_python: Any) -> None:
    merge(project)
    items = {}
    for out in ("whole", "all"):
        options = ("tasks", "--collect-only", "-q", f"--recode-replay-feedback={out}", "--recode-feedback=L2")
        done = subprocess.run(
            [*quick_python, "-m", "pytest", *options], cwd=project, capture_output=True, text=True, check=True
        )
        items[out] = [line for line in done.stdout.splitlines() if "::" in line]
    assert items["all"] == items["whole"]
    assert len(items["all"]) == 6


@pytest.mark.slow
def test_replays_are_divided_and_merged(project: Path, merge: Merge, quick_python: Any) -> None:
    base = ("tasks", "-p", "no:cacheprovider", "--recode-sandbox=process", "--recode-seed=5")
    replay = (*base, "--recode-replay-feedback=whole", "--recode-feedback=L2", "-k", "L4")
    for more in (("--recode-out=again",), *((f"--recode-shard={k}/2", f"--recode-out=again-{k}") for k in (1, 2))):
        done = subprocess.run(
            [*quick_python, "-m", "pytest", *replay, *more], cwd=project, capture_output=True, text=True, check=False
        )
        assert done.returncode in {0, 1}, done.stdout
    done = merge(project, "again-1", "again-2")
    assert done.returncode == 0, done.stderr
    assert by_id(project / "all") == by_id(project / "again")
    assert len(by_id(project / "all")) == 3


def test_a_printed_command_merges(project: Path, merge: Merge) -> None:
    """Every `pytest-recode merge` of the documentation."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    arguments = [
        line
        for page in pages
        for line in re.findall(r"^ *(?:\$ )?pytest-recode merge (.*)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert arguments
    for line in arguments:
        *parts, _, out = line.split()
        done = merge(project, *(path for part in parts for path in project.glob(part)), f"--out={out}")
        assert done.returncode == 0, done.stderr
        shutil.rmtree(project / out)


# Gaps


def shard_of(project: Path, task: str) -> Path:
    [found] = {part for part in project.glob("shard-*") for record in records(part) if record["task"] == task}
    return found


@pytest.mark.slow
def test_a_missing_shard_is_told_and_played_by_the_resumed_run(project: Path, merge: Merge, pytest_in: Session) -> None:
    lost = shard_of(project, "two")
    shutil.rmtree(lost)
    done = merge(project)
    assert done.returncode == 0
    assert_line(done.stdout, "missing", f"shard {lost.name[-1]}/4")
    assert_line(done.stdout, "to complete them", "without --recode-shard", "--recode-out=all --recode-resume")
    assert json.loads((project / "all/merged.json").read_text())["missing"] == [f"{lost.name[-1]}/4"]
    before = records(project / "all")
    assert len(before) == 4
    pytest_in(project, "--recode-out=all", "--recode-resume")
    assert records(project / "all")[:4] == before
    assert {record["task"] for record in records(project / "all")[4:]} == {"two"}
    assert by_id(project / "all") == by_id(project / "whole")


@pytest.mark.slow
def test_what_a_shard_left_undone_is_told_and_played(project: Path, merge: Merge, pytest_in: Session) -> None:
    """One episode was cut off after its first turn, one was never started, one ended with an error."""
    cut, unplayed, broken = (shard_of(project, task) for task in TASKS)
    ids = {
        part: next(record["nodeid"] for record in records(part) if record["feedback"] == "L4")
        for part in (cut, unplayed, broken)
    }

    def paths(part: Path, folder: str) -> Path:
        [found] = [path for path in (part / folder).iterdir() if "L4" in path.name]
        return found

    keep(cut, ids[cut])
    lines = paths(cut, "episodes").read_text().splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if '"event": "turn"' in line)
    paths(cut, "episodes").write_text("".join(lines[: first + 1]))
    paths(cut, "checkpoints").write_text(paths(cut, "checkpoints").read_text().splitlines(keepends=True)[0])
    keep(unplayed, ids[unplayed])
    for folder in ("episodes", "checkpoints"):
        paths(unplayed, folder).unlink()
    changed = [
        {**record, "outcome": "error", "solved_turn": None, "error": {"kind": "budget", "message": "spent"}}
        if record["nodeid"] == ids[broken]
        else record
        for record in records(broken)
    ]
    (broken / "results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in changed))

    done = merge(project)
    assert done.returncode == 0, done.stderr
    assert_line(done.stdout, "interrupted", "1 episode", ids[cut])
    assert_line(done.stdout, "not played", "1 episode", ids[unplayed])
    assert_line(done.stdout, "errors", "1 episode", "1x budget")
    assert len(done.stdout.splitlines()) == 7
    spent = (project / "all/spending.jsonl").read_text().count('"prompt_tokens"')
    pytest_in(project, "--recode-out=all", "--recode-resume")
    assert {nodeid: record["outcome"] for nodeid, record in by_id(project / "all").items()} == {
        nodeid: record["outcome"] for nodeid, record in by_id(project / "whole").items()
    }
    again = (project / "all/spending.jsonl").read_text().count('"prompt_tokens"') - spent
    steps = sum(
        turn["steps"]
        for record in records(project / "whole")
        if record["nodeid"] in {ids[cut], ids[unplayed]}
        for turn in record["turns"][1:]
    )
    assert again == steps, "first turns, and what has a verdict, are not paid again"


def keep(part: Path, but: str) -> None:
    """Remove the record of an episode."""
    left = [record for record in records(part) if record["nodeid"] != but]
    (part / "results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in left))


def test_only_the_last_record_of_an_episode_is_merged(project: Path, merge: Merge) -> None:
    """A retried error keeps its line until its run ends, which may have been killed."""
    part = shard_of(project, "one")
    record = records(part)[0]
    older = {**record, "outcome": "error", "solved_turn": None, "error": {"kind": "time", "message": "late"}}
    lines = (part / "results.jsonl").read_text()
    (part / "results.jsonl").write_text(json.dumps(older) + "\n" + lines + '{"schema": 1, "node')
    assert merge(project).returncode == 0
    assert by_id(project / "all") == by_id(project / "whole")


def test_ledgers_are_merged_line_by_line(project: Path, merge: Merge) -> None:
    """A request that was killed may be billed; a line that was cut off is nothing; faults end with their shard."""
    ledgers = [project / f"shard-{number}/spending.jsonl" for number in (1, 2, 3, 4)]
    ledgers = [path for path in ledgers if path.exists()]
    before = FileLedger(project / "whole/spending.jsonl")
    with ledgers[0].open("a") as file:
        file.write(
            '{"model": "gone", "fault": "auth", "detail": "rejected"}\n{"model": "sim/graduate", "call": "begun"}\n{"mod'
        )
    assert merge(project).returncode == 0
    merged = FileLedger(project / "all/spending.jsonl", max_cost=1.0)
    assert merged.total == before.total
    assert merged.unbooked == 1
    merged.before_call("gone")
    lines = (project / "all/spending.jsonl").read_text().splitlines()
    assert sum('"run"' in line for line in lines) == len(ledgers) - 1


def test_files_of_others_are_named_and_not_copied(project: Path, merge: Merge) -> None:
    (project / "shard-1/junit.xml").touch()
    (project / "shard-1/episodes/notes.txt").touch()
    (project / "shard-2/episodes/secret.jsonl").symlink_to("/etc/passwd")
    for folder in ("checkpoints", "episodes"):
        os.mkfifo(project / "shard-3" / folder / "pipe.jsonl")
    (project / "shard-1/feedback").mkdir()
    (project / "shard-1/feedback/a.yaml").write_text("answer")
    done = merge(project)
    assert_line(
        done.stdout,
        "not copied",
        "shard-1/junit.xml",
        "shard-1/episodes/notes.txt",
        "shard-2/episodes/secret.jsonl",
        "pipe.jsonl",
    )
    assert (project / "all/feedback/a.yaml").read_text() == "answer"
    assert not list(project.glob("all/**/notes.txt")) + list(project.glob("all/**/secret*"))


def test_vectors_of_several_shards_are_copied_once(project: Path, merge: Merge) -> None:
    for part, files in {"shard-1": {"a.part": "begun"}, "shard-2": {"a.json": "whole", "b.part": "begun"}}.items():
        (project / part / "retrieval").mkdir()
        for name, text in files.items():
            (project / part / "retrieval" / name).write_text(text)
    (project / "shard-3/retrieval").mkdir()
    (project / "shard-3/retrieval/a.json").write_text("whole, in other words")
    assert merge(project).returncode == 0
    assert tree(project / "all/retrieval") == {"a.json": b"whole", "b.part": b"begun"}


# Shards that do not belong together


def about(part: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((part / "shard.json").read_text())
    change(content)
    (part / "shard.json").write_text(json.dumps(content))


def others(key: str, value: object) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        about(project / "shard-2", lambda content: content["formats"]["directory"]["others"].update({key: value}))

    return change


def content(**values: object) -> Callable[[Path], None]:
    return lambda project: about(project / "shard-2", lambda content: content.update(values))


def of_format(**values: object) -> Callable[[Path], None]:
    return lambda project: about(project / "shard-2", lambda content: content["formats"]["directory"].update(values))


def same_shard(project: Path) -> None:
    shutil.rmtree(project / "shard-2")
    shutil.copytree(project / "shard-1", project / "shard-2")


def overlap(project: Path) -> None:
    """As after a resume with another list of tasks: the episodes of one shard are also in the next."""
    one, other = project / "shard-1", project / "shard-2"
    moved = [{**record, "shard": "2/4"} for record in records(one)]
    with (other / "results.jsonl").open("a") as file:
        file.writelines(json.dumps(record) + "\n" for record in moved)
    for path in (one / "episodes").iterdir():
        shutil.copy(path, other / "episodes")


def cut_off_in_another(project: Path) -> None:
    for path in (project / "shard-1/episodes").iterdir():
        (project / "shard-2/episodes" / path.name).write_text(path.read_text().partition("\n")[0] + "\n")


def other_files(project: Path) -> None:
    """Two attempts at one task, of which one was played with other files."""
    one, other = records(project / "shard-1")[0], records(project / "shard-2")
    other[0] |= {"task": one["task"], "attempt": 2, "digest": "0" * 32}
    (project / "shard-2/results.jsonl").write_text("".join(json.dumps(record) + "\n" for record in other))


def no_transcript(project: Path) -> None:
    next((project / "shard-2/episodes").iterdir()).unlink()


def exchanged(project: Path) -> None:
    one, other, *_ = sorted((project / "shard-2/episodes").iterdir())
    other.write_text(one.read_text())


def of_another_shard(project: Path) -> None:
    shutil.copy(project / "shard-1/results.jsonl", project / "shard-2/results.jsonl")


def torn(project: Path) -> None:
    path = project / "shard-2/results.jsonl"
    path.write_text('{"schema": 1, "nodeid": \n' + path.read_text())


def bad_ledger(project: Path) -> None:
    path = project / "shard-2/spending.jsonl"
    path.write_text('{"model": "m", "prompt_tokens": -1, "completion_tokens": 0, "cost_usd": 0}\n' + path.read_text())


def two_first_turns(project: Path) -> None:
    path = next((project / "shard-1/first-turns").glob("*.json"))
    (project / "shard-2/first-turns" / path.name).write_text("{}")


REFUSED: dict[str, tuple[Callable[[Path], object], str, tuple[str, ...]]] = {
    "turns": (others("turns", 5), "shard-2", ("shard-1", "turns 5, not 2", "pytest-recode report")),
    "seed": (others("seed", None), "shard-2", ("shard-1", "seed None, not 5")),
    "agent": (others("agent", "one-shot"), "shard-2", ("agent one-shot, not recode",)),
    "feedback model": (others("feedback_model", "m"), "shard-2", ("feedback-model m, not None",)),
    "models": (content(models=["m", "n"]), "shard-2", ("the models m, n, not sim/graduate",)),
    "version": (content(version="0.0.1"), "shard-2", ("version of pytest-recode 0.0.1",)),
    "attempts": (of_format(attempts=3), "shard-2", ("attempts 3, not 1",)),
    "levels": (of_format(feedback=["L0"]), "shard-2", ("feedback L0, not L0, L4",)),
    "papers": (of_format(paper=[False]), "shard-2", ("paper without, not with",)),
    "tasks": (
        content(task_lists={"tasks/*/task.yaml": "0"}),
        "shard-2",
        ("shard-1", "list of tasks tasks/*/task.yaml", "same tasks"),
    ),
    "count": (
        lambda project: about(project / "shard-4", lambda content: content.update(shard="4/5")),
        "shard-4",
        ("the number of shards 5, not 4",),
    ),
    "same shard": (same_shard, "shard-1", ("shard-2", "both shard 1/4", "give one of them")),
    "overlap": (overlap, "::episode[", ("shard-1", "shard-2", "and 1 more", "leave one")),
    "interrupted overlap": (cut_off_in_another, "::episode[", ("shard-1", "shard-2", "leave one")),
    "files": (other_files, "the files of the task", ("shard-1", "shard-2", "same tasks")),
    "no transcript": (no_transcript, "shard-2/results.jsonl", ("has no transcript", "whole directory")),
    "exchanged": (exchanged, "shard-2/episodes/", ("restore",)),
    "record": (of_another_shard, "shard-2/results.jsonl", ("shard 1/4", "2/4", "own files")),
    "torn record": (torn, "shard-2/results.jsonl, line 1", ("damaged", "restore it, or play shard 2/4 again")),
    "ledger": (bad_ledger, "shard-2/spending.jsonl, line 1", ("prompt_tokens", "restore it")),
    "first turns": (two_first_turns, "shard-1/first-turns/", ("shard-2/first-turns/", "leave one")),
    "damaged": (
        lambda project: (project / "shard-2/shard.json").write_text("[]"),
        "shard-2/shard.json",
        ("damaged", "restore"),
    ),
    "no results": (
        lambda project: (project / "shard-2/results.jsonl").unlink(),
        "shard-2",
        ("no results.jsonl", "--recode-shard"),
    ),
}


@pytest.fixture
def numbered(project: Path) -> Path:
    """The shards in the order of the tests' names: 1 to 3 have episodes, 4 has none."""
    full = sorted(part for part in project.glob("shard-*") if records(part))
    [empty] = set(project.glob("shard-*")) - set(full)
    for number, part in enumerate([*full, empty], 1):
        text = part.rename(project / f"new-{number}")
        for path in (text / "results.jsonl", text / "shard.json"):
            path.write_text(re.sub(r'"shard": "\d/4"', f'"shard": "{number}/4"', path.read_text()))
    for number in range(1, 5):
        (project / f"new-{number}").rename(project / f"shard-{number}")
    return project


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.mostly_slow
def test_what_is_not_one_run_is_refused_before_anything_is_written(
    numbered: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    change, subject, says = REFUSED[case]
    change(numbered)
    monkeypatch.chdir(numbered)
    before = tree(numbered)
    assert cli.main(["merge", *(f"shard-{number}" for number in (1, 2, 3, 4)), "--out=all"]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("pytest-recode: error: ")
    assert_message(error.removeprefix("pytest-recode: error: "), subject, *says)
    assert tree(numbered) == before


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("shard-9",), ("no such directory", "--recode-shard")),
        (("whole",), ("whole run", "not a shard", "pytest-recode report")),
        (("all",), ("merged from shards", "directories of the shards")),
        ((".",), ("no results.jsonl", "did you mean ./*?")),
        (("shard-1/results.jsonl",), ("no such directory",)),
    ],
    ids=lambda value: value[0],
)
def test_other_directories_are_refused(
    project: Path, merge: Merge, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    assert merge(project).returncode == 0
    done = merge(project, "shard-1", *options, "--out=more")
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, options[0], *says)
    assert not (project / "more").exists()


@pytest.mark.slow
def test_nothing_is_overwritten(project: Path, merge: Merge) -> None:
    (project / "empty").mkdir()
    assert merge(project, *project.glob("shard-*"), "--out=empty").returncode == 0
    before = tree(project)
    for out, says in (
        ("empty", ("contains files", "new or an empty directory")),
        ("whole", ("contains files", "new or an empty directory")),
        ("shard-1", ("contains files", "new or an empty directory")),
        ("pytest.ini", ("not a directory", "new or an empty one")),
        ("shard-1/all", ("in shard-1", "outside")),
    ):
        done = merge(project, *project.glob("shard-*"), f"--out={out}")
        assert done.returncode == 2
        assert_message(done.stderr, f"--out={out}", *says)
    assert tree(project) == before


def test_a_run_that_has_not_ended_is_not_merged(project: Path, merge: Merge) -> None:
    with locks.locked(locks.open_lock(project / "shard-1" / CONTROLLER)):
        done = merge(project)
    assert_message(done.stderr, "shard-1", "has not ended", "wait")
    with locks.locked(locks.open_lock(project / "shard-1/in-use"), shared=True):
        assert merge(project).returncode == 2
    assert not (project / "all").exists()
    assert merge(project).returncode == 0


# Merges that do not come to their end


def killed_at(project: Path, event: int) -> bool:
    """Merge in a process that is killed before its system call number `event`; False if it ended before that."""
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.chdir(project)
            left = iter(range(event, 0, -1))

            def hook(name: str, args: tuple[Any, ...]) -> None:
                touches = name in {"os.mkdir", "os.rename"} or (name == "open" and ".all." in str(args[0]))
                if touches and next(left, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(hook)
            cli.main(["merge", *map(str, sorted(project.glob("shard-*"))), "--out=all"])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.slow
def test_a_merge_that_is_killed_leaves_no_run(project: Path, merge: Merge, capfd: pytest.CaptureFixture[str]) -> None:
    """At every file that it makes, copies or renames."""
    events = 0
    while killed_at(project, events):
        assert not (project / "all").exists(), events
        assert not list(project.glob(".all*/results.jsonl")) or list(project.glob(".all*/merged.json"))
        events += 1
    assert events > 15
    assert by_id(project / "all") == by_id(project / "whole")
    assert not list(project.glob(".all*")), "what the killed ones left is removed"


def test_what_a_killed_merge_left_is_no_run_for_a_report(project: Path, quick_python: Any) -> None:
    assert killed_at(project, 5)
    [left] = project.glob(".all*")
    done = subprocess.run(
        [*quick_python, "-m", "pytest_recode.cli", "report", left],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "contains no results.jsonl" in done.stderr


@pytest.fixture
def small_disk(project: Path) -> Iterator[Path]:
    place = project / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=True)
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_one_line_and_leaves_nothing(project: Path, merge: Merge, small_disk: Path) -> None:
    done = merge(project, *project.glob("shard-*"), "--out=small/all")
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, "small/all", "No space left on device", "free space there")
    assert list(small_disk.iterdir()) == []
