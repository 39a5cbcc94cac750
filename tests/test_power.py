"""`pytest-recode power`, as its users call it, and the figures of the documentation that come from it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.formats import directory
from pytest_recode.metrics import difficulty
from pytest_recode.metrics.statistical_power import TaskSet, smallest, task_set
from pytest_recode.models.litellm_client import list_price
from pytest_recode.models.table import resolve
from tests.messages import assert_line, assert_message
from tests.metrics.samples import own_run, record, run, stats
from tests.projects import Command

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md"))
NAMES = sorted(path.parent.name for path in ROOT.glob("tasks/*/task.yaml"))
COUNT = len(NAMES)
MODELS = ("gpt-6-luna", "gpt-6-sol", "claude-opus-5-5")
SPENT = {"prompt_tokens": 200_000, "completion_tokens": 30_000, "cost_usd": None}


def episodes(tasks: list[str], attempts: int = 2, **more: Any) -> list[dict[str, Any]]:
    return [
        record(task, (4,) if (place + number) % 2 else (1, 1), attempt=number, usage=SPENT, **more)
        for place, task in enumerate(tasks)
        for number in range(1, attempts + 1)
    ]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """With the bundled tasks, and a run of a real model's episodes at them."""
    (tmp_path / "tasks").symlink_to(ROOT / "tasks")
    run(tmp_path / "compare", episodes(NAMES, model="gpt-5"))
    return tmp_path


def tables(text: str) -> list[dict[str, Any]]:
    [table] = json.loads(text)["tables"]
    rows: list[dict[str, Any]] = table["rows"]
    return rows


@pytest.mark.slow
def test_of_tasks_alone(command: Command, place: Path) -> None:
    done = command(place, "power", "--difficulty=assumed", "--tasks", "tasks")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r" +\d", line)]
    assert [row[:2] for row in rows] == [[str(attempts), str(attempts * COUNT)] for attempts in (1, 3, 5)]
    points = [int(row[2]) for row in rows]
    assert points == sorted(points, reverse=True)
    assert f"test by {COUNT} tasks" in done.stdout
    assert_line(done.stdout, "difficulties", "assumed", "beta(0.54, 0.54)", "--runs")
    assert_line(done.stdout, "cost", "unknown", "--runs RUN")
    assert "$" not in done.stdout
    asked = command(place, "power", "--difficulty=assumed", "--tasks", "tasks", "--format=json")
    assert [row["points"] for row in tables(asked.stdout)] == points
    assert command(place, "power", "--difficulty=assumed", "--tasks", "tasks").stdout == done.stdout


def test_one_number_of_attempts_and_another_seed(command: Command, place: Path) -> None:
    done = command(place, "power", "--tasks", "tasks", "--attempts=2", "--seed=0", "--format=json")
    [row] = tables(done.stdout)
    assert (row["attempts"], row["episodes"], row["units"]) == (2, 2 * COUNT, f"{COUNT} tasks")
    assert "seed 0" in done.stdout
    assert "to be independent" in done.stdout
    assert "to be independent" not in command(place, "power", "--tasks", "tasks", "--attempts=1").stdout


def test_several_numbers_of_attempts(command: Command, place: Path) -> None:
    done = command(place, "power", "--tasks", "tasks", "--attempts", "1", "3", "--attempts=1", "--format=json")
    assert [row["attempts"] for row in tables(done.stdout)] == [1, 3]


@pytest.mark.slow
def test_points_ask_for_the_smallest_number_of_attempts(command: Command, place: Path) -> None:
    points = smallest(task_set(dict.fromkeys(NAMES), {}), 3)
    assert points is not None
    [row] = tables(
        command(
            place, "power", "--difficulty=assumed", "--tasks", "tasks", f"--points={points}", "--format=json"
        ).stdout
    )
    assert (row["attempts"], row["episodes"], row["points"]) == (3, 3 * COUNT, points)
    [fewer] = tables(
        command(place, "power", "--difficulty=assumed", "--tasks", "tasks", "--attempts=2", "--format=json").stdout
    )
    assert fewer["points"] > points
    assert_line(
        command(place, "power", "--difficulty=assumed", "--tasks", "tasks", f"--points={points}").stdout,
        f"--points={points}",
        "3 attempts",
    )
    some = command(place, "power", "--difficulty=assumed", "--tasks", "tasks", "--points=2").stdout
    assert_line(some, "--points=2", "50 attempts", "more tasks are needed")
    assert "at least 6" not in some
    few = command(place, "power", "--tasks", "tasks/bpe", "--points=100").stdout
    assert_line(few, "--points=100", "more tasks are needed", "at least 6")


@pytest.mark.slow
def test_recorded_runs_give_difficulties_and_costs(command: Command, place: Path) -> None:
    done = command(place, "power", "--runs", "compare", "--format=json")
    for row in tables(done.stdout):
        assert row["units"] == f"{COUNT} tasks"
        for model in MODELS:
            price = list_price(resolve(model, {}))
            assert price is not None
            each = 0.2 * price.prompt + 0.03 * price.completion
            assert row[f"cost_usd_{model}"] == pytest.approx(row["episodes"] * each)
    shown = command(place, "power", "--runs", "compare").stdout
    assert_line(shown, "cost", "200,000 prompt", "30,000 completion", f"{2 * COUNT} episodes", "gpt-5")
    assert_line(shown, "difficulties", f"{2 * COUNT} recorded episodes", "gpt-5")
    # Every task is solved half the time, which is noisier than what is assumed
    alone = command(place, "power", "--tasks", "tasks", "--format=json")
    both = command(place, "power", "--tasks", "tasks", "--runs", "compare", "--format=json")
    assert tables(both.stdout) == tables(done.stdout)
    assert [row["points"] for row in tables(both.stdout)] != [row["points"] for row in tables(alone.stdout)]


@pytest.mark.slow
def test_simulated_and_published_episodes_have_no_cost(command: Command, tmp_path: Path) -> None:
    run(tmp_path / "sim", episodes(["a", "b", "c", "d", "e", "f", "g"], model="sim/expert", simulated=True))
    done = command(tmp_path, "power", "--runs", "sim")
    assert "$" not in done.stdout
    assert_line(done.stdout, "cost", "unknown", "simulated")
    assert "add --runs" not in done.stdout
    assert_line(done.stdout, "* simulated", "solve rates", "nothing about real models", "runs of real ones")
    assert done.stdout.count("* simulated:") == 1
    (tmp_path / "overall_stats.json").write_text(json.dumps(stats()))
    theirs = command(tmp_path, "power", "--runs", "overall_stats.json", "--attempts=1")
    assert "test by 20 papers" in theirs.stdout
    assert_line(theirs.stdout, "cost", "unknown")


@pytest.mark.slow
def test_benchmarks_are_separate(command: Command, tmp_path: Path) -> None:
    run(tmp_path / "one", episodes([f"t{number}" for number in range(9)], model="gpt-5"))
    run(tmp_path / "other", own_run("gpt-4.1", "GPT_4_1"))
    done = command(tmp_path, "power", "--runs", "one", "other", "--attempts=1", "--format=json")
    one, other = tables(done.stdout)
    assert (one["format"], one["units"], one["episodes"]) == ("directory", "9 tasks", 9)
    assert (other["format"], other["units"], other["episodes"]) == ("researchcodebench", "20 papers", 212)
    assert one["cost_usd_gpt-6-sol"] > other["cost_usd_gpt-6-sol"]
    assert "| directory | 9 tasks |" in command(tmp_path, "power", "--runs", "one", "other", "--format=markdown").stdout


def test_blind_attempts_give_the_difficulties(command: Command, place: Path) -> None:
    done = command(place, "power", "--tasks", "tasks", "--attempts=1")
    assert done.returncode == 0, done.stderr
    assert_line(done.stdout, "difficulties", "measured", f"{COUNT} of {COUNT} blind attempts", "--difficulty=assumed")
    assert "at turn 1, no model can be more than 2.6 points better" in done.stdout
    assert "beta(" not in done.stdout
    [row] = tables(command(place, "power", "--tasks", "tasks", "--attempts=1", "--format=json").stdout)
    assert row["points"] == smallest(forty(), 1)


@pytest.mark.slow
def test_a_task_without_a_blind_attempt_is_assumed(command: Command, place: Path) -> None:
    shutil.copytree(ROOT / "tasks/bpe", place / "own/another")
    manifest = place / "own/another/task.yaml"
    text = re.sub(r"measured:\n  - .*\n", "", manifest.read_text("utf-8").replace("id: bpe", "id: another"))
    manifest.write_text(text)
    done = command(place, "power", "--tasks", "tasks", "own", "--attempts=1")
    assert_line(done.stdout, "difficulties of 1 task:", "assumed", "beta(0.54, 0.54)")
    assert_line(done.stdout, "difficulties: measured", f"{COUNT} blind attempts")
    run(place / "part", episodes(NAMES[:6], model="gpt-5"))
    recorded = command(place, "power", "--tasks", "tasks", "--runs", "part", "--attempts=1")
    assert "blind" not in recorded.stdout


def test_tasks_that_do_not_exist_yet(command: Command, place: Path) -> None:
    done = command(place, "power", "--more-tasks=12", "--attempts=3")
    assert done.returncode == 0, done.stderr
    assert_line(done.stdout, "12 tasks that do not exist yet", "assumed", "beta(5.5, 5.5)", "between 0.25 and 0.75")
    assert "blind" not in done.stdout
    [row] = tables(command(place, "power", "--more-tasks=12", "--attempts=3", "--format=json").stdout)
    assert (row["units"], row["episodes"]) == ("12 tasks", 36)
    assert row["points"] == smallest(twelve(), 3)
    run(place / "one", episodes(["a", "b"], model="gpt-5"))
    run(place / "other", own_run("gpt-4.1", "GPT_4_1"))
    several = command(place, "power", "--runs", "one", "other", "--more-tasks=3")
    assert_message(several.stderr.strip(), "--more-tasks=3", "several benchmarks", "directory", "give those of one")


@pytest.mark.slow
def test_the_difference_of_turns(command: Command, place: Path) -> None:
    done = command(place, "power", "--more-tasks=12", "--turns=10", "--attempts=3")
    assert_line(done.stdout, "turns:", "at most 10", "counts as 11")
    [row] = tables(command(place, "power", "--more-tasks=12", "--turns=10", "--attempts=3", "--format=json").stdout)
    assert row["turns"] == pytest.approx((smallest(twelve(), 3, turns=10) or 0) / 10)
    few = command(place, "power", "--more-tasks=5", "--turns=10", "--attempts=1", "--format=json")
    assert [row["turns"] for row in tables(few.stdout)] == [None]
    with_runs = command(place, "power", "--runs", "compare", "--turns=10", "--attempts=1", "--format=json")
    assert 0 < tables(with_runs.stdout)[0]["turns"] < 10


def forty(turns: int = 1, count: int = COUNT, more: int = 0) -> TaskSet:
    """So many of the bundled tasks as blind solvers measured them, and `more` that do not exist yet."""
    blind = {task.id: task.measured for path in ROOT.glob("tasks/*/task.yaml") for task in directory.load(path)}
    measured = difficulty.measured(blind, turns)
    chosen = sorted(measured)[:count]
    names = [*chosen, *(f"more {number}" for number in range(more))]
    return task_set(dict.fromkeys(names), {name: measured.get(name, difficulty.BETWEEN) for name in names})


def twelve() -> TaskSet:
    return forty(count=0, more=12)


SETS = {
    "the forty": (COUNT, 0),
    "twelve assumed": (0, 12),
    "fifty-two: both": (COUNT, 12),
    "thirty-two: twelve assumed and twenty of the forty": (20, 12),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_table_for_strong_models_is_current(name: str) -> None:
    count, more = SETS[name]
    cells = []
    for attempts in (1, 3, 5):
        cells.append(str(smallest(forty(1, count, more), attempts)))
        cells.append(f"{(smallest(forty(10, count, more), attempts, turns=10) or 0) / 10:.1f}")
    assert f"| {name} | {' | '.join(cells)} |" in page("reference/bundled-tasks.md")


@pytest.mark.slow
def test_the_differences_behind_the_table_are_current() -> None:
    text = page("reference/bundled-tasks.md")
    whole = forty(1, 20, 12)
    [easy] = set(whole.difficulties) - {difficulty.BETWEEN}
    kinds = {easy: 20, difficulty.BETWEEN: 12}
    gap = difficulty.gap_of(kinds, 0.15)
    parts = [100 * difficulty.difference({kind: 1}, gap) for kind in (difficulty.BETWEEN, easy)]
    assert "Fifteen points on the thirty-two are {:.0f} on the twelve and {:.0f} on the twenty".format(*parts) in text
    of_turns = 100 * difficulty.difference({difficulty.BETWEEN: 1}, difficulty.gap_of(kinds, 0.05, 10))
    assert f"are {of_turns:.0f} points apart at turn 1 on the twelve" in text
    fixed = []
    for mean in (0.25, 0.5, 0.75):
        known = dict(zip(whole.tasks, whole.difficulties, strict=True))
        sharp = difficulty.Difficulty(solved=200 * mean, unsolved=200 * (1 - mean))
        its = {task: sharp if one == difficulty.BETWEEN else one for task, one in known.items()}
        fixed.append(smallest(task_set(dict.fromkeys(its), its), 3))
    assert "a probability of 0.25, 0.5 or 0.75 give {}, {} and {} points".format(*fixed) in text


def test_the_figures_for_strong_models_are_current(command: Command, place: Path) -> None:
    section = (ROOT / "docs/reference/bundled-tasks.md").read_text("utf-8").partition("\n### Strong models\n")[2]
    shown = command(place, "power", "--tasks", "tasks", "--format=markdown").stdout
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    assert "\n".join(rows) in section
    [headroom] = re.findall(r"more than ([\d.]+) points better", shown)
    words = " ".join(section.split())
    assert f"no model can be more than {headroom} points better" in words
    assert f"the comparison needs {rows[3].split('|')[3].strip()} points with three attempts" in words


def test_few_tasks_find_nothing(command: Command, place: Path) -> None:
    done = command(place, "power", "--tasks", "tasks/bpe", "tasks/mbar")
    assert done.returncode == 0, done.stderr
    assert [
        row["points"] for row in tables(command(place, "power", "--tasks", "tasks/bpe", "--format=json").stdout)
    ] == [None] * 3
    assert_line(done.stdout, "points -", "no difference is found", "not below 0.05", "add tasks: at least 6")
    assert "test by 2 tasks" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "subject", "more"),
    [
        ([], "power needs tasks", ("--tasks DIR", "--runs RUN", "--more-tasks N")),
        (["--runs", "others", "--difficulty=measured"], "--difficulty=measured", ("--runs gives", "leave out one")),
        (["--tasks", "tasks", "--turns=1"], "--turns=1", ("from 2 to 30",)),
        (["--tasks", "tasks", "--turns=31"], "--turns=31", ("from 2 to 30",)),
        (["--tasks", "tasks", "--turns=9", "--points=9"], "--points", ("excludes --turns", "leave out one")),
        (["--tasks", "tasks", "--turns=9", "--attempts", "3", "11"], "--attempts=11", ("from 1 to 10 with --turns",)),
        (["--tasks", "empty"], "empty", ("contains no tasks", "task.yaml")),
        (["--tasks", "broken"], "broken/one/task.yaml", ("not valid YAML",)),
        (["--tasks", "tasks", "broken"], "broken/one/task.yaml", ("not valid YAML",)),
        (["--tasks", "tasks", "copy"], "task id 'bpe'", ("already used by", "one directory at a time")),
        (["--tasks", "tasks/bp"], "tasks/bp", ("did you mean tasks/bpe", "give a directory")),
        (["tasks"], "tasks", ("--tasks tasks", "--runs tasks")),
        (["--tasks", "tasks", "--points=9", "--attempts=9"], "--points", ("--attempts", "leave out one")),
        (["--tasks", "tasks", "--points=101"], "--points=101", ("from 1 to 100",)),
        (["--tasks", "tasks", "--attempts", "1", "51"], "--attempts=51", ("from 1 to 50",)),
        (["--tasks", "tasks", "--attempts=51"], "--attempts=51", ("from 1 to 50",)),
        (["--runs", "errors"], "--runs=errors", ("no episode has a verdict", "--tasks alone")),
        (["--tasks", "tasks", "--runs", "others"], "--runs=others", ("no episode of --tasks", "--tasks alone")),
        (["--runs", "nothing"], "nothing", ("no such file",)),
    ],
)
def test_a_fault_is_one_line(
    command: Command, place: Path, arguments: list[str], subject: str, more: tuple[str, ...]
) -> None:
    (place / "empty").mkdir()
    (place / "broken/one").mkdir(parents=True)
    (place / "broken/one/task.yaml").write_text("schema: 1\nid: [\n")
    shutil.copytree(ROOT / "tasks/bpe", place / "copy/bpe")
    run(place / "errors", [record("a", (), outcome="error")])
    run(place / "others", [record("another")])
    done = command(place, "power", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr.strip().splitlines()[-1], subject, *more)
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "subject", "more"),
    [
        (["--seed=x"], "--seed", ("'x' is not a whole number",)),
        (["--attempts=1,3"], "--attempts", ("'1,3'", "--attempts 1 3")),
        (["--attempt-s=1"], "unrecognized arguments", ("--attempt-s=1",)),
    ],
)
def test_a_wrong_argument_is_a_line_below_the_usage_of_the_command(
    command: Command, place: Path, arguments: list[str], subject: str, more: tuple[str, ...]
) -> None:
    done = command(place, "power", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: pytest-recode power ")
    assert_message(done.stderr.splitlines()[-1], subject, *more)


def test_what_is_left_out_is_said(command: Command, place: Path) -> None:
    run(place / "part", [*episodes(NAMES[:6], model="gpt-5"), record("another", model="gpt-5")])
    done = command(place, "power", "--tasks", "tasks", "--runs", "part", "--attempts=1")
    assert_line(done.stdout, f"--runs: no verdict on {COUNT - 6} tasks", "assumed")
    assert_line(done.stdout, "--runs: 1 task not below --tasks", "omitted")
    assert_line(done.stdout, "difficulties", "12 recorded episodes")


@pytest.mark.slow
def test_no_text_of_a_run_reaches_the_terminal_as_it_is(command: Command, tmp_path: Path) -> None:
    run(tmp_path / "run", episodes([f"t{number}" for number in range(6)], model="gpt\x1b[31m\n5"))
    for form in ("text", "markdown", "json"):
        done = command(tmp_path, "power", "--runs", "run", f"--format={form}")
        assert done.returncode == 0
        assert "\x1b" not in done.stdout
        assert not any(line.startswith("5") for line in done.stdout.splitlines())


def commands() -> list[tuple[str, str]]:
    lines = []
    for page in PAGES:
        for line in re.findall(r"^(?:    |\$ )?(pytest-recode power .*)$", page.read_text("utf-8"), re.MULTILINE):
            lines.append((page.name, line))
    return lines


@pytest.mark.slow
@pytest.mark.parametrize(("page", "line"), commands())
def test_a_printed_command_works(command: Command, place: Path, page: str, line: str) -> None:
    done = command(place, *shlex.split(line, comments=True)[1:])
    assert done.returncode == 0, done.stderr


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text("utf-8").split())


def test_the_figures_of_the_bundled_tasks_are_current(command: Command, place: Path) -> None:
    shown = command(place, "power", "--difficulty=assumed", "--tasks", "tasks", "--format=markdown").stdout
    rows = [line for line in shown.splitlines() if line.startswith("|")]
    text = (ROOT / "docs/reference/bundled-tasks.md").read_text("utf-8")
    assert "\n".join(rows) in text
    assert len(rows) == 5
    points = [row.split("|")[3].strip() for row in rows[2:]]
    said = page("reference/bundled-tasks.md")
    assert f"misses a difference below {points[0]} points more often than one time in five" in said
    assert f"below {points[1]} with three attempts, and below {points[2]} with five" in said


def test_the_figures_of_the_subset_quick_are_current(command: Command, place: Path) -> None:
    section = (ROOT / "docs/reference/bundled-tasks.md").read_text("utf-8").partition("\n## The subset quick\n")[2]
    [line] = re.findall(
        r"^pytest-recode (power --difficulty assumed --tasks .*)$", section.partition("\n## ")[0], re.MULTILINE
    )
    shown = command(place, *line.split(), "--format=markdown").stdout
    rows = [row for row in shown.splitlines() if row.startswith("|")]
    assert "\n".join(rows) in section
    assert f"Only a difference of {rows[2].split('|')[3].strip()} points is found" in section


@pytest.mark.slow
def test_the_table_of_tasks_and_attempts_is_current() -> None:
    text = page("how-to/compare-models.md")
    for count in (8, 20, 50, 100, 200):
        tasks = task_set({f"t{number}": None for number in range(count)}, {})
        cells = [str(smallest(tasks, attempts)) for attempts in (1, 3, 5)]
        assert f"| {count} | {' | '.join(cells)} |" in text


def test_the_number_of_attempts_that_the_guide_names_is_current(command: Command, place: Path) -> None:
    [(points, attempts)] = re.findall(
        r"`--points (\d+)` .*? bundled tasks need (\d+) attempts", page("how-to/compare-models.md")
    )
    [row] = tables(
        command(
            place, "power", "--difficulty=assumed", "--tasks", "tasks", f"--points={points}", "--format=json"
        ).stdout
    )
    assert row["attempts"] == int(attempts)


def test_the_costs_of_the_recommended_commands_are_current() -> None:
    text = page("how-to/compare-models.md")
    assert "200,000 prompt tokens and 30,000 completion tokens" in text
    for name, attempts in (("cheap", 1), ("normal", 3), ("careful", 5)):
        tasks = task_set(dict.fromkeys(NAMES), {})
        dollars = []
        for model in MODELS:
            price = list_price(resolve(model, {}))
            assert price is not None
            dollars.append(f"{COUNT * attempts * (0.2 * price.prompt + 0.03 * price.completion):.2f}")
        cells = [
            name,
            f"`--recode-attempts={attempts}`",
            str(COUNT * attempts),
            str(smallest(tasks, attempts)),
            *dollars,
        ]
        assert f"| {' | '.join(cells)} |" in text
