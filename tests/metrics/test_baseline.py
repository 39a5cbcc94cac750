"""A baseline has what a gate needs of a run, sorted, and is refused in one line if it is something else."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.cli import main
from pytest_recode.faults import UserError
from pytest_recode.metrics import baseline
from tests.messages import assert_message
from tests.metrics.samples import record, replay, run, snippet

RECORDS = [
    record("b", (1, 4), digest="22"),
    record("a", (1, 1), digest="11"),
    record("a", (4,), digest="11", attempt=2, usage={"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": None}),
    record("c", (), digest="33", outcome="error"),
    record("a", (4,), digest="11", feedback="none", paper=False),
    snippet("paper", "block", 7, solved=True, digest="44"),
]


@pytest.fixture
def blessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    run(tmp_path / "run", [*RECORDS, replay(RECORDS[0], 2, 3, digest="22")])
    assert main(["bless", str(tmp_path / "run"), "-o", str(tmp_path / "baseline.json")]) == 0
    out = capsys.readouterr().out
    assert "3 rows, 5 episodes with a verdict" in out
    assert "errors: 1 episode without a verdict" in out
    return tmp_path / "baseline.json"


def test_it_has_the_outcomes_by_row_task_and_attempt(blessed: Path) -> None:
    content = json.loads(blessed.read_text())
    assert content["schema"] == 1
    levels, none, snippets = content["rows"]
    identity = ("model", "policy", "agent", "paper", "format")
    assert [[row[key] for key in identity] for row in content["rows"]] == [
        ["m", "L0", "recode", True, "directory"],
        ["m", "none", "recode", False, "directory"],
        ["m", "none", "one-shot", True, "researchcodebench"],
    ]
    assert levels["settings"]["turns"] == "10"
    assert levels["recorded"] == {"isolation": "separate", "sandbox": "bubblewrap", "version": "0.1.0"}
    assert {task: facts["digest"] for task, facts in levels["tasks"].items()} == {"a": "11", "b": "22", "c": "33"}
    assert levels["tasks"]["a"]["attempts"] == [
        {"attempt": 1, "outcome": "unsolved", "solved_turn": None, "turns": 2, "cost_usd": 0.5},
        {"attempt": 2, "outcome": "solved", "solved_turn": 1, "turns": 1, "cost_usd": None},
    ]
    assert [each["outcome"] for each in levels["tasks"]["c"]["attempts"]] == ["error"]
    assert list(none["tasks"]) == ["a"]
    assert snippets["tasks"]["paper/block"]["snippet"] == {"paper": "paper", "name": "block", "lines": 7}


def test_the_order_of_the_records_changes_nothing_and_an_attempt_is_a_line(blessed: Path, tmp_path: Path) -> None:
    shuffled = random.Random(3).sample(RECORDS, len(RECORDS))
    run(tmp_path / "other", shuffled)
    found = baseline.text(baseline.of_run(tmp_path / "other"))
    assert found == blessed.read_text()
    assert len([line for line in found.splitlines() if '"attempt": ' in line]) == len(RECORDS)


def test_what_is_read_is_what_was_written(blessed: Path, tmp_path: Path) -> None:
    before, after = baseline.of_run(tmp_path / "run"), baseline.load(blessed)
    assert after.rows == before.rows
    only = baseline.of_run(tmp_path / "run", only={RECORDS[1]["nodeid"]})
    assert [list(row.tasks) for row in only.rows] == [["a"]]


@given(st.text(min_size=1).filter(str.strip), st.text(min_size=1).filter(str.strip))
def test_any_names_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, model: str, task: str
) -> None:
    place = tmp_path_factory.mktemp("names")
    outcomes = baseline.Outcomes(
        source="",
        rows=(
            baseline.RowOutcomes(
                key=baseline.RowKey(format="directory", model=model, policy="L0", agent="recode", paper=True),
                simulated=False,
                settings=((task, model),),
                recorded=(),
                tasks={task: baseline.TaskOutcomes(digest="", snippet=None, attempts=())},
            ),
        ),
    )
    (place / "b.json").write_text(baseline.text(outcomes))
    assert replace(baseline.load(place / "b.json"), source="") == outcomes


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        whole = json.loads(text)
        change(whole)
        return json.dumps(whole)

    return changed


def attempt(whole: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = whole["rows"][0]["tasks"]["a"]["attempts"][0]
    return found


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda text: text[:-9], ("pytest-recode bless",)),
        (lambda _: "[]", ("pytest-recode bless",)),
        (broken(lambda whole: whole.update(schema=2)), ("schema 2", "1", "update")),
        (broken(lambda whole: whole["rows"][0].pop("policy")), ("rows[0]", "policy")),
        (broken(lambda whole: attempt(whole).update(outcome="won")), ("solved or unsolved or error", "'won'")),
        (broken(lambda whole: attempt(whole).update(cost_usd=-1)), ("cost_usd", "-1")),
        (broken(lambda whole: attempt(whole).update(solved_turn=1)), ("a, attempt 1",)),
        (broken(lambda whole: attempt(whole).update(attempt=2)), ("attempt at a twice",)),
        (broken(lambda whole: whole["rows"].append(whole["rows"][0])), ("two rows of m, L0",)),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(
    blessed: Path, change: Callable[[str], str], named: tuple[str, ...]
) -> None:
    blessed.write_text(change(blessed.read_text()))
    with pytest.raises(UserError) as raised:
        baseline.load(blessed)
    assert_message(str(raised.value), str(blessed), *named)


def test_what_cannot_be_blessed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(records: list[dict[str, Any]], *named: str) -> None:
        run(tmp_path / "run", records)
        assert main(["bless", str(tmp_path / "run"), "-o", str(tmp_path / "b.json")]) == 2
        assert_message(capsys.readouterr().err, "pytest-recode: error", *named)
        assert not (tmp_path / "b.json").exists()

    refused([record("a", (), outcome="error")], "no episode with a verdict", "resume")
    refused([record("a", digest="1"), record("a", digest="2", attempt=2)], "a", "different files")
    assert main(["bless", str(tmp_path / "none"), "-o", str(tmp_path / "b.json")]) == 2
    assert_message(capsys.readouterr().err, "none", "results.jsonl")


def test_the_reference_names_every_key(blessed: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/records.md").read_text("utf-8")
    section = page[page.index("## Baselines") : page.index("## Disk errors")]
    documented = set(re.findall(r"`(\w+)`", section)) - {"solved", "unsolved", "error"}
    whole = json.loads(blessed.read_text())
    rows = whole["rows"]
    tasks = [task for row in rows for task in row["tasks"].values()]
    objects = [
        whole,
        *rows,
        *tasks,
        *(task["attempts"][0] for task in tasks),
        *(task.get("snippet", {}) for task in tasks),
    ]
    assert {key for each in objects for key in each} == documented
