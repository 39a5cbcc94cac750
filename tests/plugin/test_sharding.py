"""--recode-shard: every episode is in one shard, whatever a session selects; an empty shard is no failure; a shard stays what it is."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.plugin.collection.task_lists import of_directory, task_list
from pytest_recode.shard import Shard, parse_shard
from tests.examples import examples
from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

DATASET = Path(__file__).parents[1] / "recode_h/dataset"
PLAYS = ("--recode-agent=reference", "--recode-turns=1")
NAMES = st.sets(st.text(min_size=1, max_size=8), min_size=1, max_size=30)


@given(names=NAMES, attempts=st.integers(1, 7), count=st.integers(1, 40), of=st.text(max_size=10))
@examples(200)
def test_each_attempt_is_in_one_shard_and_shards_differ_by_one(
    names: set[str], attempts: int, count: int, of: str
) -> None:
    tasks = task_list(of, names)
    pairs = [(name, attempt) for name in names for attempt in range(1, attempts + 1)]
    shards = [tasks.shard(name, attempt, count) for name, attempt in pairs]
    assert {shard.count for shard in shards} == {count}
    sizes = Counter(shard.number for shard in shards)
    assert set(sizes) <= set(range(1, count + 1))
    assert max(sizes.values()) - min(sizes[number] for number in range(1, count + 1)) <= 1


@given(names=NAMES, count=st.integers(1, 40), data=st.data())
@examples(100)
def test_a_shard_depends_on_the_set_of_names_alone(names: set[str], count: int, data: st.DataObject) -> None:
    mixed = data.draw(st.permutations([*names, *names]))
    one, other = task_list("tasks", names), task_list("tasks", mixed)
    assert one.digest == other.digest
    assert [one.shard(name, 2, count) for name in names] == [other.shard(name, 2, count) for name in names]


@given(names=NAMES, other=st.text(min_size=1, max_size=8))
@examples(100)
def test_other_names_have_another_digest(names: set[str], other: str) -> None:
    assert (task_list("tasks", names).digest == task_list("tasks", names | {other}).digest) == (other in names)


def test_shards_are_the_same_in_every_version() -> None:
    """A run is resumed after an update, on other machines: its episodes must stay where they were."""
    tasks = task_list("tasks/*/task.yaml", ["mbar", "bpe", "sinkhorn", "nerf-rendering"])
    numbers = [tasks.shard(name, attempt, 3).number for attempt in (1, 2) for name in sorted(tasks.places)]
    assert numbers == [1, 2, 3, 1, 2, 3, 1, 2]
    assert tasks.digest == "369aa61a3127e305"


@given(number=st.integers(1, 10_000), more=st.integers(0, 10_000))
@examples(50)
def test_a_shard_is_read_as_it_is_written(number: int, more: int) -> None:
    if number + more <= 10_000:
        shard = Shard(number=number, count=number + more)
        assert parse_shard(str(shard)) == shard


@given(text=st.text(st.sampled_from("0123456789/-+. ९a"), max_size=7))
@examples(300)
def test_no_other_text_is_a_shard(text: str) -> None:
    try:
        shard = parse_shard(text)
    except ValueError:
        return
    assert 1 <= shard.number <= shard.count
    assert [int(part) for part in text.split("/")] == [shard.number, shard.count]


def test_directories_beside_the_root_directory_are_not_counted(tmp_path: Path) -> None:
    """A task that was checked out alone is divided alike on every machine, whatever is beside the checkout."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.yaml").touch()
    alone = of_directory(tmp_path / "one", tmp_path / "one/task.yaml", {})
    assert (alone.name, alone.places) == ("task.yaml", {"one": 0})
    both = of_directory(tmp_path, tmp_path / "one/task.yaml", {})
    assert (both.name, both.places) == ("*/task.yaml", {"one": 0, "two": 1})


# Sessions


@pytest.fixture
def bench(make_task: MakeTask, agents: None) -> None:
    """Five tasks, two of them of another domain."""
    for place, name in enumerate(("one", "two", "three", "four", "five")):
        make_task(name, domain="nlp" if place % 2 else "ml")


@pytest.fixture
def collected(run_pytest: Run) -> Callable[..., list[list[str]]]:
    """The node ids that each of N shards collects."""

    def collect(count: int, *args: str) -> list[list[str]]:
        found = []
        for number in range(1, count + 1):
            result = run_pytest("--collect-only", "-q", *args, f"--recode-shard={number}/{count}")
            assert result.ret == pytest.ExitCode.OK, words(result)
            found.append([line for line in result.outlines if "::" in line])
        return found

    return collect


def group(nodeid: str) -> tuple[str, int]:
    """The task and the attempt."""
    manifest, _, name = nodeid.partition("::")
    last = name.rstrip("]").rpartition("-")[2]
    return manifest, int(last) if last.isdecimal() else 1


@pytest.mark.slow
def test_the_shards_of_a_run_are_a_partition_of_its_items(
    bench: None, collected: Callable[..., list[list[str]]], run_pytest: Run
) -> None:
    options = (
        *("--recode-model=sim/novice", "--recode-model=sim/expert", "--recode-feedback=L0", "--recode-feedback=L4"),
        *("--recode-attempts=2", "--recode-no-paper", "--recode-with-paper"),
    )
    whole = [line for line in run_pytest("--collect-only", "-q", *options).outlines if "::" in line]
    assert len(whole) == 5 * 2 * 2 * 2 * 2
    shards = collected(3, *options)
    assert sorted(nodeid for shard in shards for nodeid in shard) == sorted(whole)
    groups = [{group(nodeid) for nodeid in shard} for shard in shards]
    assert sorted(map(len, groups)) == [3, 3, 4]
    assert sum(map(len, groups)) == len(set.union(*groups)), "a group is in two shards"
    for shard in shards:  # in the order in which the whole run has them
        assert shard == [nodeid for nodeid in whole if nodeid in set(shard)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "selection",
    [
        ("-k", "one or two or five"),
        ("-m", "recode(domain='nlp')"),
        ("bench/three", "bench/four"),
        ("--deselect=bench/one/task.yaml",),
        ("--recode-model=sim/expert",),
        ("-p", "no:randomly", "--recode-attempts=1"),
    ],
    ids=lambda selection: selection[0],
)
def test_what_is_selected_moves_no_item(
    bench: None, collected: Callable[..., list[list[str]]], run_pytest: Run, selection: tuple[str, ...]
) -> None:
    options = ("--recode-model=sim/novice", "--recode-attempts=2")
    whole = collected(2, *options, "--recode-model=sim/expert")
    selected = {line for line in run_pytest("--collect-only", "-q", *options, *selection).outlines if "::" in line}
    assert selected
    assert [set(shard) for shard in collected(2, *options, *selection)] == [set(shard) & selected for shard in whole]


@pytest.mark.slow
def test_a_benchmark_is_dealt_by_its_tasks(
    collected: Callable[..., list[list[str]]], run_pytest: Run, pytester: pytest.Pytester
) -> None:
    shutil.copytree(DATASET, pytester.path / "dataset")
    whole = [line for line in run_pytest("--collect-only", "-q", "--recode-agent=noop").outlines if "::" in line]
    shards = collected(2, "--recode-agent=noop")
    assert sorted([*shards[0], *shards[1]]) == sorted(whole)
    assert abs(len(shards[0]) - len(shards[1])) <= 1


@pytest.mark.slow
def test_the_checks_of_a_task_are_in_one_shard(bench: None, collected: Callable[..., list[list[str]]]) -> None:
    shards = collected(3, "--recode-validate")
    tasks = [{nodeid.partition("::")[0] for nodeid in shard} for shard in shards]
    assert sorted(map(len, tasks)) == [1, 2, 2]
    assert len(set.union(*tasks)) == 5
    assert len({len(shard) / len(own) for shard, own in zip(shards, tasks, strict=True)}) == 1


@pytest.mark.slow
def test_deselected_items_are_counted_and_the_header_names_the_shard(bench: None, recode: Run) -> None:
    result = recode(*PLAYS, "--recode-shard=1/5", "--recode-out=out", "-n0")
    result.assert_outcomes(passed=1, deselected=4)
    assert "recode: shard 1/5" in result.outlines


@pytest.mark.slow
def test_shards_play_every_episode_once(bench: None, recode: Run, results: Results, workers: str) -> None:
    played = []
    for number in (1, 2):
        result = recode(*PLAYS, f"--recode-shard={number}/2", f"--recode-out=out{number}", workers)
        assert f"recode: shard {number}/2" in words(result)
        played += [(record["task"], record["shard"]) for record in results(f"out{number}")]
        about = json.loads(Path(f"out{number}/shard.json").read_text())
        assert about["shard"] == f"{number}/2"
        assert sorted(about["episodes"]) == sorted(record["nodeid"] for record in results(f"out{number}"))
        assert list(about["task_lists"]) == ["bench/*/task.yaml"]
    assert sorted(task for task, _ in played) == ["five", "four", "one", "three", "two"]
    assert {shard for _, shard in played} == {"1/2", "2/2"}


@pytest.mark.slow
def test_without_the_option_nothing_names_a_shard(bench: None, recode: Run, results: Results) -> None:
    recode(*PLAYS, "-k", "one", "--recode-out=out")
    assert [record["shard"] for record in results()] == [None]
    assert not Path("out/shard.json").exists()


@pytest.mark.slow
def test_last_failed_is_of_this_shard(bench: None, recode: Run, results: Results, workers: str) -> None:
    """Also if the cache is shared: what failed in another shard is not played here."""
    options = ("--recode-agent=noop", "--recode-turns=1", "-p", "cacheprovider", "-k", "one or two or three", workers)
    for number in (1, 2):
        recode(*options, f"--recode-shard={number}/2", f"--recode-out=first{number}")
    for number in (1, 2):
        recode(*options, "--lf", f"--recode-shard={number}/2", f"--recode-out=again{number}")
        again, first = ({record["nodeid"] for record in results(f"{out}{number}")} for out in ("again", "first"))
        assert again == first


@pytest.mark.slow
def test_ordinary_tests_are_in_every_shard(bench: None, recode: Run, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_passes():\n    pass\n")
    passed = []
    for number in (1, 2):
        result = recode(*PLAYS, "-k", "one or passes", f"--recode-shard={number}/2", f"--recode-out=out{number}")
        assert result.ret == pytest.ExitCode.OK
        assert "test_mine.py ." in words(result)
        passed.append(result.parseoutcomes()["passed"])
        assert Path(f"out{number}/shard.json").exists()
    assert sorted(passed) == [1, 2]


@pytest.mark.slow
def test_an_unreadable_task_is_told_by_one_shard(pytester: pytest.Pytester, run_pytest: Run) -> None:
    shutil.copytree(DATASET, pytester.path / "dataset")
    path = pytester.path / "dataset/annotation_meta.jsonl"
    path.write_text(path.read_text() + "{}\n")
    shards = [
        run_pytest("--collect-only", "-q", "--recode-agent=noop", f"--recode-shard={number}/2").outlines
        for number in (1, 2)
    ]
    assert sum("line" in nodeid and "unreadable" in nodeid for lines in shards for nodeid in lines) == 1


# Empty shards


@pytest.mark.slow
def test_an_empty_shard_passes_says_so_and_has_a_directory(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    make_task("one")
    make_task("two")
    ends = {}
    for number in range(1, 4):
        out = f"out{number}"
        result = recode(*PLAYS, f"--recode-shard={number}/3", f"--recode-out={out}", workers)
        assert result.ret == pytest.ExitCode.OK, words(result)
        ends[number] = (
            f"shard {number}/3 is empty: 2 selected items are in other shards" in words(result),
            len(results(out)),
        )
        assert json.loads(Path(out, "shard.json").read_text())["shard"] == f"{number}/3"
    assert Counter(ends.values()) == {(False, 1): 2, (True, 0): 1}


def test_an_empty_selection_fails_as_ever(bench: None, recode: Run, workers: str) -> None:
    """It is a mistake of the user, which is no shard's."""
    result = recode(*PLAYS, "-k", "nothing", "--recode-shard=1/2", "--recode-out=out", workers)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "is empty" not in words(result)
    assert not Path("out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [("--collect-only",), ("--recode-validate",), ()], ids=["collect", "validate", "skip"])
def test_an_empty_shard_without_episodes_to_play_writes_nothing(
    bench: None, recode: Run, more: tuple[str, ...]
) -> None:
    agent = PLAYS if more == ("--collect-only",) else ()
    out = () if more == ("--recode-validate",) else ("--recode-out=out",)
    ends = [
        recode(*agent, *out, *more, "-k", "one and (episode or reference)", f"--recode-shard={number}/2")
        for number in (1, 2)
    ]
    assert [each.ret for each in ends] == [0, 0]
    assert sum("is empty: 1 selected item is in another shard" in words(each) for each in ends) == 1
    assert not list(Path.cwd().rglob("shard.json"))


@pytest.mark.slow
def test_an_empty_shard_of_replays_is_no_run_without_turns(bench: None, recode: Run, workers: str) -> None:
    """Which has a line of its own, if the user selects no task that the stored run has turns of."""
    recode("--recode-model=sim/graduate", "--recode-feedback=L4", "--recode-turns=2", "-k", "one", "--recode-out=first")
    again = ("--recode-replay-feedback=first", "--recode-feedback=L0", workers)
    outputs = [words(recode(*again, f"--recode-shard={k}/2", f"--recode-out=again{k}")) for k in (1, 2)]
    assert sorted("is empty: 1 selected item is in another shard" in text for text in outputs) == [False, True]
    assert not any("nothing was replayed" in text for text in outputs)
    assert all(Path(f"again{k}/shard.json").exists() for k in (1, 2))
    assert "nothing was replayed" in words(recode(*again, "-k", "two", "--recode-shard=1/2", "--recode-out=again"))


@pytest.mark.slow
def test_an_empty_shard_overwrites_nothing_and_is_resumed(bench: None, recode: Run, workers: str) -> None:
    given = (*PLAYS, "-k", "one", "--recode-out=out", workers)
    [number] = [
        number for number in (1, 2) if "is empty" in words(recode(*PLAYS, "-k", "one", f"--recode-shard={number}/2"))
    ]
    recode(*given, f"--recode-shard={number}/2")
    before = Path("out/shard.json").read_text()
    result = recode(*given, f"--recode-shard={number}/2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "contains another run (results.jsonl): give a new or an empty directory, or --recode-resume" in words(result)
    assert recode(*given, f"--recode-shard={number}/2", "--recode-resume").ret == pytest.ExitCode.OK
    assert Path("out/shard.json").read_text() == before


# Usage errors


@pytest.mark.parametrize("value", ["0/8", "9/8", "3", "3/", "/8", "3/8/2", "-1/8", "1/0", "three/eight", "1/100000"])
@pytest.mark.mostly_slow
def test_another_value_is_one_line(bench: None, recode: Run, value: str) -> None:
    result = recode(*PLAYS, f"--recode-shard={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if "--recode-shard" in line]
    assert_message(line, f"--recode-shard={value}", "K/N", "from 1", "3/8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--recode-shard=2/2",), ("has shard 1/2", "2/2", "--recode-shard=1/2")),
        (("--recode-shard=1/3",), ("has shard 1/2", "1/3", "--recode-shard=1/2")),
        ((), ("only shard 1/2", "add --recode-shard=1/2", "merge")),
    ],
    ids=["other number", "other count", "whole"],
)
def test_a_directory_stays_of_its_shard(
    bench: None, recode: Run, results: Results, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    recode(*PLAYS, "--recode-shard=1/2", "--recode-out=out")
    before = results()
    result = recode(*PLAYS, *options, "--recode-out=out", "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if "--recode-out=" in line and "ERROR" in line]
    assert_message(line, "--recode-out=", *says)
    assert results() == before


@pytest.mark.slow
def test_a_whole_run_is_not_resumed_in_part(bench: None, recode: Run) -> None:
    recode(*PLAYS, "-k", "one", "--recode-out=out")
    result = recode(*PLAYS, "--recode-shard=1/2", "--recode-out=out", "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if "--recode-out=" in line and "ERROR" in line]
    assert_message(line, "--recode-out=", "whole run", "leave out --recode-shard")


@pytest.mark.slow
def test_more_attempts_and_an_unchanged_list_are_resumed(bench: None, recode: Run, results: Results) -> None:
    given = (*PLAYS, "--recode-shard=1/2", "--recode-out=out")
    recode(*given)
    first = results()
    result = recode(*given, "--recode-attempts=2", "--recode-resume")
    assert result.ret == pytest.ExitCode.OK
    assert results()[: len(first)] == first
    assert Counter(record["attempt"] for record in results()) in ({1: 2, 2: 3}, {1: 3, 2: 2})
    about = json.loads(Path("out/shard.json").read_text())
    assert about["formats"]["directory"]["attempts"] == 2
    assert len(about["episodes"]) == 5


@pytest.mark.slow
def test_a_changed_list_of_tasks_is_refused(
    bench: None, make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    given = (*PLAYS, "--recode-shard=1/2", "--recode-out=out", workers)
    recode(*given)
    before = results()
    make_task("another")
    result = recode(*given, "--recode-resume")
    line = next(line for line in result.errlines + result.outlines if "list of tasks" in line)
    assert_message(line, "list of tasks bench/*/task.yaml", "other shards", "restore", "pytest-recode merge")
    assert results() == before


@pytest.mark.slow
def test_a_run_that_was_killed_at_its_first_file_is_begun_again(bench: None, recode: Run) -> None:
    given = (*PLAYS, "--recode-shard=1/2", "--recode-out=out")
    recode(*given)
    about = Path("out/shard.json").read_text()
    shutil.rmtree("out")
    Path("out").mkdir()
    Path("out/shard.json").write_text(about)
    assert recode(*given).ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_a_damaged_file_is_told(bench: None, recode: Run) -> None:
    given = (*PLAYS, "--recode-shard=1/2", "--recode-out=out")
    recode(*given)
    for text, wrong in (("{", "JSON"), ('{"schema": 1, "shard": "3"}', "shard"), ('{"schema": 2}', "schema")):
        Path("out/shard.json").write_text(text)
        result = recode(*given, "--recode-resume")
        line = next(line for line in result.errlines + result.outlines if "damaged" in line)
        assert_message(line.replace("JSONDecodeError", "JSON"), "shard.json", wrong, "restore it")
