"""Files are told apart by what is in them; what is broken is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from tests.metrics.samples import own_run, record, run, stats

ROOT = Path(__file__).resolve().parents[2]


def test_the_samples_say_what_records_say() -> None:
    """No field that a record has not, each of its type; a record has more, which no number needs."""
    schema = re.sub(r'"required": \[[^]]*\],?', "", (ROOT / "pytest_recode/render/records.schema.json").read_text())
    for one in (record("a", (1, 4)), record("b", (), outcome="error"), own_run("m", "GPT_4_1")[0]):
        jsonschema.validate(one, json.loads(schema))


def test_a_run_by_its_directory_or_its_file_is_read_once(tmp_path: Path) -> None:
    directory = run(tmp_path / "one", [record("a"), record("b", (0,))])
    [source] = read([directory, directory / "results.jsonl"])
    assert [attempt.task for attempt in source.attempts] == ["a", "b"]
    assert {attempt.row.source for attempt in source.attempts} == {"one"}


def test_any_name_will_do(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(json.dumps(record("a")))
    (tmp_path / "theirs").write_text(json.dumps(stats()))
    mine, theirs = read([tmp_path / "mine.txt", tmp_path / "theirs"])
    assert len(mine.attempts) == 1
    assert len(theirs.attempts) == 32 * 212
    assert mine.notes == theirs.notes == ()


@pytest.mark.parametrize("kept", [1, 40, 200, -2])
def test_a_killed_runs_torn_line_is_told(tmp_path: Path, kept: int) -> None:
    directory = run(tmp_path / "run", [record("a")])
    with (directory / "results.jsonl").open("a") as file:
        file.write(json.dumps(record("b"))[:kept])
    [source] = read([directory])
    assert [attempt.task for attempt in source.attempts] == ["a"]
    assert "the last line is cut off" in source.notes[0]


def test_an_empty_run_is_told(tmp_path: Path) -> None:
    [source] = read([run(tmp_path / "run", [])])
    assert source.attempts == ()
    assert "is empty" in source.notes[0]


def test_a_record_twice_is_told_and_the_later_counts(tmp_path: Path) -> None:
    [source] = read([run(tmp_path / "run", [record("a", (0,), outcome="error"), record("a", (4,))])])
    assert [attempt.outcome for attempt in source.attempts] == ["solved"]
    assert "is there twice" in source.notes[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: is no JSON object"),
        (b"hello", "is neither JSON nor JSON lines"),
        (b"[1, 2]\n", "line 1: is no JSON object"),
        (b'{"a": 1}\n', "line 1: is no record of a run"),
        (b'{"schema": 2, "nodeid": "x"}\n', "schema 2: this version reads 1: update pytest-recode"),
        (b'{"schema": 1, "nodeid": "x"}\n', "line 1: is no record of schema 1: lacks 'settings'"),
        (b'{"results": {"A": {}}, "overall_scores": {}}', "lacks 'paper_metadata'"),
        (b'{"results": [], "overall_scores": {}}', "looks like ResearchCodeBench's overall_stats.json"),
    ],
)
def test_what_is_neither_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UserError) as raised:
        read([tmp_path / "file"])
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_directory_of_runs_is_no_run_and_says_where_they_are(tmp_path: Path) -> None:
    run(tmp_path / "out/late", [record("a")])
    with pytest.raises(UserError, match=r"holds no results.jsonl: did you mean .*out/late, or .*out/\*\?"):
        read([tmp_path / "out"])
    with pytest.raises(UserError, match="no such file"):
        read([tmp_path / "nowhere"])


def test_parts_of_one_experiment_are_one_row_and_repetitions_are_not(tmp_path: Path) -> None:
    paths = [
        run(tmp_path / "one", [record("a")]),
        run(tmp_path / "two", [record("b")]),
        run(tmp_path / "again", [record("a", (0,))]),
        run(tmp_path / "hot", [record("c", settings={**record()["settings"], "temperature": 1.0})]),
    ]
    found = rows([attempt for source in read(paths) for attempt in source.attempts])
    assert {row.source: len(attempts) for row, attempts in found.items()} == {"one + two": 2, "again": 1, "hot": 1}
    assert all(attempt.row == row for row, attempts in found.items() for attempt in attempts)


def test_runs_of_one_name_go_by_their_paths(tmp_path: Path) -> None:
    paths = [run(tmp_path / "x/out", [record("a")]), run(tmp_path / "y/out", [record("a")])]
    assert len({attempt.row.source for source in read(paths) for attempt in source.attempts}) == 2
