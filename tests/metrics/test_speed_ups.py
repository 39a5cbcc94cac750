"""AlgoTune's score and the table of speed-ups, in numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.metrics.speed_ups import overlap, speed_score
from tests.metrics.samples import record, run, turn
from tests.projects import Command

PUBLISHED = {"a": {"gpt-5": 2.0, "o4-mini": 1.05}, "b": {"gpt-5": 0.5}}


def measured(task: str, *speeds: tuple[float, float, float] | None, **more: object) -> dict[str, object]:
    """An episode with a turn for each speed-up and its interval; None: the solver was not valid."""
    names = ("speed-up", "speed-up, lower bound", "speed-up, upper bound")
    turns = [
        turn(number, 1, scores=dict(zip(names, speed, strict=True)) if speed else {"valid instances": 0.5})
        for number, speed in enumerate(speeds, 1)
    ]
    facts = {"published": PUBLISHED[task]}
    return record(task, (), turns=turns, outcome="unsolved", format="algotune", facts=facts, **more)


@pytest.fixture
def speeds(tmp_path: Path) -> Path:
    """fast: 2 at best and 4; slow: one invalid, one slower than the reference; near: as fast as fast, within its interval."""
    return run(
        tmp_path / "speeds",
        [
            measured("a", (1.2, 1.1, 1.3), (2.0, 1.9, 2.1), None, model="fast"),
            measured("b", (4.0, 3.0, 5.0), model="fast"),
            measured("a", None, model="slow"),
            measured("b", (0.5, 0.4, 0.6), model="slow"),
            measured("a", (2.05, 2.0, 2.2), model="near"),
            measured("b", (4.2, 3.9, 4.5), model="near"),
            record("b", (), outcome="error", model="near", attempt=2, format="algotune", facts={"published": {}}),
        ],
    )


def test_the_score_is_a_harmonic_mean_with_mercy(speeds: Path) -> None:
    by_model = {
        row.model: group for row, group in rows([one for source in read([speeds]) for one in source.attempts]).items()
    }
    fast, slow, near = (speed_score(by_model[model]) for model in ("fast", "slow", "near"))
    assert fast is not None
    assert slow is not None
    assert near is not None
    assert (fast.tasks, fast.valid, fast.faster) == (2, 2, 2)
    assert fast.score == pytest.approx(2 / (1 / 2 + 1 / 4))
    assert (fast.low, fast.high) == (pytest.approx(2 / (1 / 1.9 + 1 / 3)), pytest.approx(2 / (1 / 2.1 + 1 / 5)))
    assert (slow.tasks, slow.valid, slow.faster, slow.score) == (2, 1, 0, 1.0)
    assert (overlap(fast, near), overlap(fast, slow)) == (True, False)


def test_the_table_has_the_published_rows_of_the_same_tasks(command: Command, tmp_path: Path, speeds: Path) -> None:
    done = command(tmp_path, "report", "speeds", "--table=speed")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.strip()}
    assert lines["fast"][-6:] == ["2", "2.00", "2.00", "2.67", "2.33", "2.96"]
    assert lines["slow"][-6:-2] == ["2", "1.00", "0.00", "1.00"]
    assert lines["gpt-5"][-6:] == ["2", "2.00", "1.00", "1.33", "-", "-"], "0.5 counts as 1"
    assert lines["o4-mini"][-6:] == ["2", "1.00", "0.00", "1.02", "-", "-"]
    assert "cannot be told apart by this measurement: fast, L0" in done.stdout
    assert done.stdout.count("cannot be told apart") == 1


def test_other_benchmarks_have_no_such_table(command: Command, tmp_path: Path) -> None:
    run(tmp_path / "plain", [record("a")])
    done = command(tmp_path, "report", "plain", "--table=speed")
    assert "speed" in done.stderr + done.stdout
    assert "harmonic" not in done.stdout
