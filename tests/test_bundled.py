"""Full runs of the bundled tasks, as the README has them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_recode.records
from pytest_recode.formats import directory
from pytest_recode.task import BlindAttempt, Task

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads((Path(pytest_recode.records.__file__).parent / "records.schema.json").read_text("utf-8"))
MANIFESTS = sorted((ROOT / "tasks").glob("*/task.yaml"))
TASKS = [path.parent.name for path in MANIFESTS]
LOADED = [task for path in MANIFESTS for task in directory.load(path)]
QUICK = [task for task in LOADED if "quick" in task.subsets]


def run(out: Path, *args: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", f"--recode-out={out}", *args],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    records = [json.loads(line) for line in (out / "results.jsonl").read_text("utf-8").splitlines()]
    for record in records:
        jsonschema.validate(record, SCHEMA)
    assert records, done.stdout + done.stderr
    assert all(record["error"] is None for record in records), done.stdout
    return done, records


@pytest.mark.slow  # tests/test_tutorials.py plays two of them by default
@pytest.mark.parametrize("task", ["bpe", "soft-nms"])
def test_the_simulated_graduate_plays_a_task(tmp_path: Path, task: str) -> None:
    done, [record] = run(tmp_path / "out", "--recode-model=sim/graduate", "--recode-seed=1", "-k", task)
    assert (record["task"], record["simulated"], record["outcome"]) == (task, True, "solved")
    assert "* simulated: an offline model that breaks and repairs the reference" in done.stdout


@pytest.mark.slow
def test_the_simulated_graduate_solves_with_feedback_and_repeats_itself(tmp_path: Path) -> None:
    model = ("--recode-model=sim/graduate", "--recode-seed=1")
    done, records = run(tmp_path / "workers", *model, "-n2")
    _, again = run(tmp_path / "alone", *model, "-n0", "-k", "bpe or soft-nms")
    assert len(TASKS) >= 8
    assert sorted(record["task"] for record in records) == TASKS
    assert all(record["simulated"] for record in records)
    assert "* simulated: an offline model that breaks and repairs the reference" in done.stdout
    assert sum(record["outcome"] == "solved" for record in records) >= 0.75 * len(TASKS)
    assert any(record["solved_turn"] > 1 for record in records if record["solved_turn"])

    def course(record: dict[str, Any]) -> Any:
        return record["task"], record["solved_turn"], [turn["cases"] for turn in record["turns"]], record["usage"]

    assert len(again) == 2
    assert all(course(record) in [course(other) for other in records] for record in again)


@pytest.mark.slow
def test_the_reference_solves_every_task_at_once(tmp_path: Path) -> None:
    done, records = run(tmp_path / "out", "--recode-agent=reference", "-n2")
    assert sorted(record["task"] for record in records) == TASKS
    assert {record["solved_turn"] for record in records} == {1}
    assert done.returncode == 0


@pytest.mark.slow
def test_the_correcting_code_solves_every_task_and_a_count_of_failures_does_not(tmp_path: Path) -> None:
    """As docs/reference/bundled-levels.md has it, with one attempt."""
    levels = ("--recode-feedback=L0", "--recode-feedback=L4", "--recode-turns=3", "--recode-seed=1")
    _, records = run(tmp_path / "out", "--recode-model=sim/graduate", *levels, "-n2")
    solved = {
        level: {record["task"] for record in records if record["feedback"] == level and record["solved_turn"] in within}
        for level, within in (("L0", (1, 2, 3)), ("L4", (1, 2)))
    }
    assert sorted(solved["L4"]) == TASKS
    assert len(solved["L0"]) < len(TASKS) / 2


@pytest.mark.slow
def test_doing_nothing_passes_no_case(tmp_path: Path) -> None:
    done, records = run(tmp_path / "out", "--recode-agent=noop", "-n2", "--recode-turns=1")
    assert sorted(record["task"] for record in records) == TASKS
    assert {turn["passed"] for record in records for turn in record["turns"]} == {0}
    assert done.returncode == 1


def test_the_set_has_tasks_of_every_field_and_difficulty() -> None:
    assert min(Counter(task.domain for task in LOADED).values()) >= 8
    assert Counter(task.difficulty for task in LOADED) == {"easy": 10, "medium": 20, "hard": 10}
    assert sum(task.paper.year >= 2024 for task in LOADED if task.paper.year) >= len(LOADED) / 2


@pytest.mark.parametrize("task", [task for task in LOADED if task.difficulty == "hard"], ids=lambda task: task.id)
def test_a_hard_task_has_several_targets_among_ten_modules(task: Task) -> None:
    modules = [path for path in task.load().repo if path.endswith(".py")]
    assert len(task.targets) >= 2
    assert len(modules) >= 10


def test_the_page_on_difficulty_tells_what_is_known_of_each_task() -> None:
    """It says in words that each task in tasks/ had one blind attempt, which solved it at once."""
    known = {task.id: task.measured for task in LOADED}
    expected = BlindAttempt(solver="from-the-brief", date="2026-11-26", solved=True, turns=1)
    assert known == dict.fromkeys(known, (expected,))
    assert all((ROOT / "tasks" / task / "proofs/right/from-the-brief").is_dir() for task in known)


def test_the_subset_quick_has_tasks_of_every_field_and_difficulty() -> None:
    assert Counter(task.domain for task in QUICK) == {"ml": 2, "nlp": 2, "cv": 2, "science": 2}
    assert Counter(task.difficulty for task in QUICK) == {"easy": 2, "medium": 4, "hard": 2}


def test_the_page_of_the_bundled_tasks_lists_the_subset_quick() -> None:
    text = (ROOT / "docs/reference/bundled-tasks.md").read_text("utf-8")
    section = text.partition("\n## The subset quick\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| ([a-z ]+) \| (easy|medium|hard) \|$", section, re.MULTILINE)
    assert [(task, difficulty) for task, _, difficulty in rows] == [(task.id, task.difficulty) for task in QUICK]
    [command] = re.findall(r"^pytest-recode power --difficulty assumed --tasks (.*)$", section, re.MULTILINE)
    assert command.split() == [f"tasks/{task.id}" for task in QUICK]


@pytest.mark.slow
def test_the_subset_quick_ranks_the_simulated_models(tmp_path: Path) -> None:
    models = ("sim/novice", "sim/graduate", "sim/expert")
    chosen = ("-m", "recode(subset='quick')", *(f"--recode-model={model}" for model in models))
    _, records = run(tmp_path / "out", *chosen, "--recode-turns=3", "--recode-seed=1", "-n2")
    assert Counter(record["task"] for record in records) == {task.id: len(models) for task in QUICK}
    solved = Counter(record["model"] for record in records if record["outcome"] == "solved")
    assert solved["sim/novice"] < solved["sim/graduate"] < solved["sim/expert"]
