"""The type of a file is detected from its contents; damaged files are reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.passing import passed
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import differences, rows
from pytest_recode.records.run_directory import RunLock
from tests.messages import assert_message
from tests.metrics.samples import record, run, stats, turn


def test_a_run_by_its_directory_or_its_file_is_read_once(tmp_path: Path) -> None:
    directory = run(tmp_path / "one", [record("a"), record("b", (0,))])
    [source] = read([directory, directory / "results.jsonl"])
    assert [attempt.task for attempt in source.attempts] == ["a", "b"]
    assert {attempt.row.source for attempt in source.attempts} == {"one"}


def test_any_name_will_do(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(json.dumps(record("a")))
    (tmp_path / "theirs").write_text(json.dumps(stats()))
    own, published_source = read([tmp_path / "mine.txt", tmp_path / "theirs"])
    assert len(own.attempts) == 1
    assert len(published_source.attempts) == 32 * 212
    assert own.notes == published_source.notes == ()


@pytest.mark.parametrize("length", [1, 40, 200, -2])
def test_a_killed_runs_torn_line_is_told(tmp_path: Path, length: int) -> None:
    directory = run(tmp_path / "run", [record("a")])
    with (directory / "results.jsonl").open("a") as file:
        file.write(json.dumps(record("b"))[:length])
    [source] = read([directory])
    assert [attempt.task for attempt in source.attempts] == ["a"]
    assert_message(source.notes[0], "results.jsonl", "last line", "killed", "omitted")


def test_an_empty_run_is_told(tmp_path: Path) -> None:
    [source] = read([run(tmp_path / "run", [])])
    assert source.attempts == ()
    assert "is empty" in source.notes[0]


def test_a_record_twice_is_told_and_the_later_counts(tmp_path: Path) -> None:
    [source] = read([run(tmp_path / "run", [record("a", (0,), outcome="error"), record("a", (4,))])])
    assert [attempt.outcome for attempt in source.attempts] == ["solved"]
    assert_message(source.notes[0], "results.jsonl", "twice", "later record counts")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "line 1: is not a JSON object"),
        (b"hello", "is neither JSON nor JSON lines"),
        (b"[1, 2]\n", "line 1: is not a JSON object"),
        (b'{"a": 1}\n', "line 1: is not a record of a run"),
        (b'{"schema": 2, "nodeid": "x"}\n', "schema 2: this version reads 1: update pytest-recode"),
        (b'{"schema": 1, "nodeid": "x"}\n', "line 1: is not a record of schema 1: lacks 'task'"),
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
    with pytest.raises(UserError) as raised:
        read([tmp_path / "out"])
    assert_message(str(raised.value), str(tmp_path / "out"), "results.jsonl", "did you mean", "out/late", "out/*")
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
    paths = [run(tmp_path / "x/out", [record("a")]), run(tmp_path / "y/out", [record("a", (0,))])]
    assert len({attempt.row.source for source in read(paths) for attempt in source.attempts}) == 2


def test_episodes_that_were_interrupted_are_counted_and_in_no_attempt(tmp_path: Path) -> None:
    ended = record("a")
    directory = run(tmp_path / "one", [ended])
    (directory / "episodes").mkdir()
    begun = {"event": "episode", "time": 0, "agent": "recode", "model": "m", "feedback": "L0"}
    for name, facts in {
        "ended": {**begun, "nodeid": ended["nodeid"]},
        "cut": {**begun, "nodeid": "another"},
        "cut-too": {**begun, "nodeid": "a third", "model": None},
    }.items():
        (directory / f"episodes/{name}.jsonl").write_text(json.dumps(facts) + "\n")
    (directory / "episodes/torn.jsonl").write_text(json.dumps({**begun, "nodeid": "torn"}))
    [source] = read([directory])
    assert len(source.attempts) == 1
    [note] = source.notes
    assert_message(note, str(directory), "interrupted episodes", "2 (1 of recode L0, 1 of m L0)", "--recode-resume")
    (directory / "results.jsonl").write_text("")
    [source] = read([directory])
    assert "interrupted episodes, not counted here: 3 (1 of recode L0, 2 of m L0)" in source.notes[1]


def test_while_a_run_goes_on_its_episodes_are_under_way_and_not_interrupted(tmp_path: Path) -> None:
    directory = run(tmp_path / "one", [record("a")])
    (directory / "episodes").mkdir()
    begun = {"event": "episode", "nodeid": "another", "agent": "recode", "model": "m", "feedback": "L0"}
    (directory / "episodes/begun.jsonl").write_text(json.dumps(begun) + "\n")
    lock = RunLock.claim(directory, "r1")
    [source] = read([directory])
    assert source.notes == (
        f"{directory}: the run has not ended; episodes in progress, not counted here: 1 (1 of m L0)",
    )
    lock.release()  # the run was stopped: no model is asked any more, although its process still lives
    [source] = read([directory])
    assert "interrupted episodes" in source.notes[0]
    lock.close()


def published(path: Path, *, solved: bool | None = None, name: str = "overall_stats.json") -> Path:
    """The published file, or one of which every completion is `solved`."""
    content = stats()
    for paper in content["results"].values():
        for model in paper["results"].values():
            for [one] in model["results"].values():
                one["passed"] = one["passed"] if solved is None else solved
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(json.dumps(content))
    return path / name


def test_two_published_files_are_two_rows_of_each_model(tmp_path: Path) -> None:
    """They were averaged: 64.15 beside a file without a solved snippet gave 32.08."""
    files = [published(tmp_path / "may"), published(tmp_path / "june", solved=False)]
    grouped = rows([attempt for source in read(files) for attempt in source.attempts])
    best = {row.source: passed(group).plain for row, group in grouped.items() if row.model.endswith("05-06")}
    assert best == {"published (may)": pytest.approx(136 / 212), "published (june)": 0.0}
    assert len(grouped) == 64


def test_files_of_one_directory_are_told_apart(tmp_path: Path) -> None:
    both = [published(tmp_path, name="a.json"), published(tmp_path, solved=True, name="b.json")]
    assert len({attempt.row.source for source in read(both) for attempt in source.attempts}) == 2
    directory = run(tmp_path / "run", [record("a")])
    (directory / "older.jsonl").write_text(json.dumps(record("a", (0,))) + "\n")
    sources = read([directory, directory / "older.jsonl"])
    assert len({attempt.row.source for source in sources for attempt in source.attempts}) == 2


def test_a_copy_is_left_out_and_said(tmp_path: Path) -> None:
    first = run(tmp_path / "run", [record("a")])
    copy = run(tmp_path / "backup", [record("a")])
    left, read_ = read([first, copy])
    assert_message(*left.notes, f"{copy}/results.jsonl", f"copy of {first}/results.jsonl", "omitted")
    assert len(read_.attempts) == 1
    twice = read([published(tmp_path / "x"), published(tmp_path / "y")])
    assert sum(len(source.attempts) for source in twice) == 32 * 212


def test_published_models_of_one_name_are_told_apart_by_their_keys(tmp_path: Path) -> None:
    found = stats()
    found["overall_scores"]["GPT_4_1_MINI"]["llm_cfg"]["pretty_name"] = "GPT-4.1"
    (tmp_path / "stats.json").write_text(json.dumps(found))
    [source] = read([tmp_path / "stats.json"])
    names = {row.model for row in rows(source.attempts)}
    assert {"GPT-4.1 [GPT_4_1]", "GPT-4.1 [GPT_4_1_MINI]"} <= names
    assert len(names) == 32


def test_published_without_the_paper_is_known_by_its_directory(tmp_path: Path) -> None:
    path = published(tmp_path / "outputs/20llms_greedy_wo_paper/2025")
    [source] = read([path])
    assert not any(attempt.row.paper for attempt in source.attempts)
    assert_message(source.notes[0], str(path), "wo_paper", "without the paper")


def test_one_task_and_attempt_under_two_node_ids_counts_once(tmp_path: Path) -> None:
    """As where two runs from other root directories were joined into one file."""
    directory = run(tmp_path / "run", [record("a", (0,)), record("a", (4,), nodeid="tasks/a/task.yaml::episode[m]")])
    [source] = read([directory])
    assert [attempt.outcome for attempt in source.attempts] == ["solved"]
    assert "are one task and attempt, recorded twice: the later record counts" in source.notes[0]


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    directory = run(tmp_path / "run", [record("a", digest="1"), record("a", digest="2", nodeid="other/a::episode")])
    with pytest.raises(UserError) as raised:
        read([directory])
    assert_message(str(raised.value), "results.jsonl", "other/a::episode", "two tasks named a", "ids", "separately")


def settled(**settings: object) -> dict[str, object]:
    return {**record()["settings"], **settings}


def told(tmp_path: Path, *records: dict[str, object]) -> list[str]:
    """What tells the rows of runs apart, each of one record."""
    paths = [run(tmp_path / str(number), [one]) for number, one in enumerate(records)]
    return [row.differs for row in rows([attempt for source in read(paths) for attempt in source.attempts])]


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ({"settings": settled(turns=10)}, {"settings": settled(turns=3)}, ("turns 10", "turns 3")),
        ({"settings": settled(steps=3)}, {"settings": settled(steps=5)}, ("steps 3", "steps 5")),
        ({"settings": settled(temperature=None)}, {"settings": settled(temperature=0.0)}, ("temperature none", "temperature 0")),
        ({"settings": settled(version="0.1.0")}, {"settings": settled(version="0.2.0")}, ("version 0.1.0", "version 0.2.0")),
        ({"feedback_model": None}, {"feedback_model": "o4-mini"}, ("researcher none", "researcher o4-mini")),
        ({"isolation": "separate"}, {"isolation": "process"}, ("isolation separate", "isolation process")),
        ({"sandbox": "docker"}, {"sandbox": "bubblewrap"}, ("sandbox docker", "sandbox bubblewrap")),
        ({"attempt": 1}, {"attempt": 2, "settings": settled(turns=3)}, ("turns 10, attempts 1", "turns 3, attempts 2")),
        ({}, {}, ("", "")),
        ({"model": "n"}, {}, ("", "")),
    ],
)  # fmt: skip
def test_rows_name_what_they_differ_in(
    tmp_path: Path, one: dict[str, object], other: dict[str, object], words: tuple[str, str]
) -> None:
    assert sorted(told(tmp_path, record("a", **one), record("a", (0,), **other))) == sorted(words)


def test_a_given_seed_is_told_from_drawn_ones(tmp_path: Path) -> None:
    given = record("a", turns=[turn(1, 0, seed=7), turn(2, 4, seed=7)])
    drawn = record("a", turns=[turn(1, 0, seed=7), turn(2, 4, seed=8)])
    assert told(tmp_path, given, drawn) == ["seed 7", "seed drawn"]


def test_what_says_nothing_for_a_policy_tells_no_rows_apart(tmp_path: Path) -> None:
    """Without feedback there is one turn whatever was given."""
    one, other = ({"turns": n} for n in (3, 9))
    shot = {"agent": "one-shot", "feedback": "none"}
    found = told(tmp_path, record("a", settings=settled(**one), **shot), record("b", settings=settled(**other), **shot))
    assert found == [""]


def judged_with(**versions: str) -> dict[str, object]:
    return {"turns": [{**turn(1, 4), "versions": versions}]}


def test_rows_that_were_judged_with_other_libraries_say_so(tmp_path: Path) -> None:
    """A library that only one row has loaded says nothing: its tasks may need another one."""
    one = record("a", **judged_with(python="3.12.1", numpy="2.3.0", scipy="1.16"))
    other = record("a", **judged_with(python="3.13.0", numpy="2.3.0"))
    assert sorted(told(tmp_path, one, other)) == ["version of Python 3.12.1", "version of Python 3.13.0"]
    both = told(tmp_path / "row", one, record("b", **judged_with(numpy="2.4.0")))
    assert both == ["version of numpy 2.3.0 + 2.4.0"]


def test_a_row_of_two_versions_says_so(tmp_path: Path) -> None:
    words = told(
        tmp_path, record("a", settings=settled(version="0.1.0")), record("b", settings=settled(version="0.2.0"))
    )
    assert words == ["version 0.1.0 + 0.2.0"]


def test_tasks_whose_files_changed_are_no_parts_of_one_experiment(tmp_path: Path) -> None:
    paths = [
        run(tmp_path / "one", [record("a", digest="1"), record("b", digest="1")]),
        run(tmp_path / "two", [record("a", digest="2", attempt=2)]),
    ]
    found = list(rows([attempt for source in read(paths) for attempt in source.attempts]).items())
    assert len(found) == 2
    assert differences(*found)[-1] == "files of 1 task (a)"


def test_a_part_that_could_belong_to_either_of_two_runs_stays_a_row(tmp_path: Path) -> None:
    paths = [
        run(tmp_path / "one", [record("a")]),
        run(tmp_path / "two", [record("a", (0,))]),
        run(tmp_path / "three", [record("b")]),
    ]
    found = rows([attempt for source in read(paths) for attempt in source.attempts])
    assert [row.source for row in found] == ["one", "two", "three"]
