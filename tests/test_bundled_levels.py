"""The page of solved shares by level has every bundled task, and the levels make a difference on each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reference/bundled-levels.md"
TASKS = sorted(path.parent.name for path in ROOT.glob("tasks/*/task.yaml"))


def shares() -> dict[str, list[float]]:
    """The rows of the page: task -> share at L0 … L4."""
    section = PAGE.read_text("utf-8").partition("\n## Task by task\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([a-z0-9-]+) \| ((?:[\d.]+ \| ){5})15 \| 0 \|$", section, re.MULTILINE)
    assert len(rows) == len(dict(rows))
    return {task: [float(cell) for cell in cells.split(" | ")[:5]] for task, cells in rows}


def test_every_bundled_task_has_a_line() -> None:
    """If not: measure the new task with the commands of the page."""
    assert sorted(shares()) == TASKS


def test_the_correcting_code_solves_every_task_and_a_count_of_failures_does_not() -> None:
    assert {task: found for task, found in shares().items() if not found[0] < found[-1] == 100} == {}


def test_no_level_solves_less_than_the_one_below() -> None:
    assert {task: found for task, found in shares().items() if found != sorted(found)} == {}


def test_the_page_names_the_tasks_on_which_feedback_without_code_makes_no_difference() -> None:
    flat = [task for task, found in shares().items() if found[0] == found[3]]
    text = " ".join(PAGE.read_text("utf-8").split())
    assert "no difference below L4 in three attempts: " + " and ".join(sorted(flat)) in text
