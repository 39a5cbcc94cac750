"""Solved shares by task and policy, in numbers worked out by hand, and the table of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.metrics.by_task import by_task, policies
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from tests.metrics.samples import record, run
from tests.projects import Command

SOLVED, UNSOLVED = (0, 4), (0, 1)


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    """Task a: 1/2 with L0, 2/2 with L4; task b: 0/2 with both, an error apart; task c: only L4."""
    return run(
        tmp_path / "levels",
        [
            record("a", UNSOLVED, feedback="L0"),
            record("a", SOLVED, feedback="L0", attempt=2),
            record("a", SOLVED, feedback="L4"),
            record("a", SOLVED, feedback="L4", attempt=2),
            record("b", UNSOLVED, feedback="L0"),
            record("b", (), feedback="L0", attempt=2, outcome="error"),
            record("b", UNSOLVED, feedback="L4"),
            record("b", UNSOLVED, feedback="L4", attempt=2),
            record("c", SOLVED, feedback="L4"),
            record("c", (), feedback="L0", outcome="error"),
        ],
    )


def test_shares_are_of_played_attempts(levels: Path) -> None:
    found = rows([attempt for source in read([levels]) for attempt in source.attempts])
    assert policies(found) == ["L0", "L4"]
    assert [(one.task, dict(one.solved), one.played, one.errors, one.flat) for one in by_task(found)] == [
        ("a", {"L0": 0.5, "L4": 1.0}, 4, 0, False),
        ("b", {"L0": 0.0, "L4": 0.0}, 3, 1, True),
        ("c", {"L4": 1.0}, 1, 1, False),
    ]


def test_the_table_has_a_column_for_each_policy_and_names_tasks_without_a_difference(
    command: Command, tmp_path: Path, levels: Path
) -> None:
    done = command(tmp_path, "report", "levels", "--table=tasks")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["task", "L0", "L4", "of", "errors"] in lines
    assert ["a", "50.00", "100.00", "4", "0"] in lines
    assert ["b", "0.00", "0.00", "3", "1"] in lines
    assert ["c", "-", "100.00", "1", "1"] in lines
    assert "(model m, run levels," in done.stdout
    assert "the policies make no difference to m on 1 of 2 tasks: b" in done.stdout


def test_models_and_settings_have_lines_of_their_own(command: Command, tmp_path: Path, levels: Path) -> None:
    run(tmp_path / "other", [record("a", feedback="L4", model="n"), record("a", UNSOLVED, feedback="L4", paper=False)])
    done = command(tmp_path, "report", "levels", "other", "--table=tasks", "--format=json")
    [table] = json.loads(done.stdout)["tables"]
    cells = [
        (row["model"], row["source"], row["paper_shown"], row.get("solved_L0"), row["solved_L4"])
        for row in table["rows"]
        if row["task"] == "a"
    ]
    assert cells == [
        ("m", "levels", "yes", 50.0, 100.0),
        ("m", "other", "no", None, 0.0),
        ("n", "other", "yes", None, 100.0),
    ]


def test_policies_of_several_runs_share_a_line_unless_a_policy_is_repeated(
    command: Command, tmp_path: Path, levels: Path
) -> None:
    run(tmp_path / "one", [record("a", UNSOLVED, feedback="L0"), record("a", SOLVED, feedback="L0", attempt=2)])
    run(tmp_path / "two", [record("a", SOLVED, feedback="L2")])

    def lines(*runs: str) -> list[tuple[str, str, float | None, float | None]]:
        done = command(tmp_path, "report", *runs, "--table=tasks", "--format=json")
        [table] = json.loads(done.stdout)["tables"]
        found = [row for row in table["rows"] if row["task"] == "a"]
        return [(row["source"], row["settings"], row["solved_L0"], row.get("solved_L2")) for row in found]

    assert lines("one", "two") == [("one + two", "attempts 2 + attempts 1", 50.0, 100.0)]
    assert lines("levels", "one", "two") == [
        ("levels", "attempts 2", 50.0, None),
        ("one", "attempts 2", 50.0, None),
        ("two", "attempts 1", None, 100.0),
    ]


def test_only_a_report_that_asks_for_the_table_prints_it(command: Command, tmp_path: Path, levels: Path) -> None:
    assert "Tasks: solved share" not in command(tmp_path, "report", "levels").stdout
    assert '"name": "tasks"' in command(tmp_path, "report", "levels", "--format=json").stdout
