"""Several `--recode-agent`: the episodes of each agent are rows of one table, in whatever a run writes, shows, resumes or compares."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_recode.cli import main
from tests.messages import assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

AGENTS = ("--recode-agent=recode", "--recode-agent=one-shot", "--recode-agent=reference")
PLAYS = (*AGENTS, "--recode-model=sim/expert", "--recode-feedback=L0", "--recode-feedback=L2", "--recode-out=out")
NAMES = {
    *("recode-sim/expert-L0", "recode-sim/expert-L2", "one-shot-sim/expert-L0", "one-shot-sim/expert-L2"),
    *("reference-L0", "reference-L2"),
}
ROWS = {
    *(("sim/expert", "recode", "L0"), ("sim/expert", "recode", "L2")),
    *(("sim/expert", "one-shot", "L0"), ("sim/expert", "one-shot", "L2")),
    *(("reference", "reference", "L0"), ("reference", "reference", "L2")),
}


def names(text: str) -> list[str]:
    """The episodes of a list of node ids."""
    return [line.rpartition("[")[2].removesuffix("]") for line in text.splitlines() if "::episode[" in line]


def table(result: pytest.RunResult) -> list[list[str]]:
    """The rows of the summary, cell by cell."""
    lines = [line.replace(" *", "").split() for line in result.outlines]
    start = next(place for place, line in enumerate(lines) if line[:2] == ["model", "agent"])
    return lines[start + 1 : start + 1 + len(ROWS)]


@pytest.mark.slow
def test_the_episodes_of_each_agent_are_rows_of_one_table(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    workers: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_task()
    result = recode(workers, *PLAYS, "--junitxml=junit.xml", "--recode-markdown=summary.md")
    records = results()
    assert {record["nodeid"].rpartition("[")[2].removesuffix("]") for record in records} == NAMES
    assert {(record["model"] or record["agent"], record["agent"], record["feedback"]) for record in records} == ROWS
    assert {record["agent"]: record["settings"]["steps"] for record in records} == {
        "recode": 3, "one-shot": 1, "reference": 1,
    }  # fmt: skip
    assert [record["model"] for record in records if record["agent"] == "reference"] == [None, None]

    shown = table(result)
    assert {tuple(row[:3]) for row in shown} == ROWS
    of_first_model = [row[1] for row in shown]
    assert of_first_model == ["recode", "recode", "one-shot", "one-shot", "reference", "reference"]
    assert "directory tasks: agent one-shot; feedback L0, L2; 10 turns of 1 step" in words(result)

    # the two policies of an agent share its first turn, and agents share nothing
    assert len(list((pytester.path / "out/first-turns").glob("*.json"))) == 2
    assert "2 episodes share their first turn with another" in words(result)

    suite = ElementTree.parse(pytester.path / "junit.xml").getroot()[0]
    properties = [
        {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")} for case in suite.iter("testcase")
    ]
    assert {(each["recode_model"], each["recode_agent"], each["recode_policy"]) for each in properties} == ROWS
    assert "| tasks | model | agent | feedback |" in (pytester.path / "summary.md").read_text()

    capsys.readouterr()
    assert main(["report", str(pytester.path / "out"), "--table=episodes", "--format=csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["model"].removesuffix(" *"), row["agent"], row["feedback"]) for row in rows} == ROWS


def test_an_agent_without_a_model_has_an_episode_for_each_policy_and_attempt(
    make_task: MakeTask, recode: Run, workers: str
) -> None:
    make_task()
    models = ("--recode-model=sim/expert", "--recode-model=sim/novice", "--recode-feedback=L1", "--recode-attempts=2")
    listed = recode(workers, "--collect-only", "-q", *AGENTS[1:], *models, "-n0")
    assert names(listed.stdout.str()) == [
        *("one-shot-sim/expert-L1", "one-shot-sim/expert-L1-2", "one-shot-sim/novice-L1", "one-shot-sim/novice-L1-2"),
        *("reference-L1", "reference-L1-2"),
    ]


def test_without_a_model_the_agents_that_need_one_are_skipped(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task()
    result = recode(workers, *AGENTS, "--recode-feedback=L0", "-rs")
    assert result.parseoutcomes() == {"passed": 1, "skipped": 2}
    assert "no model is given: set --recode-model=NAME" in words(result)


SELECTIONS = {
    ("-k", "one-shot"): {"one-shot-sim/expert-L0", "one-shot-sim/expert-L2"},
    ("-k", "reference and L2"): {"reference-L2"},
    ("-m", "recode(agent='recode')"): {"recode-sim/expert-L0", "recode-sim/expert-L2"},
}


@pytest.mark.parametrize("selection", SELECTIONS, ids=" ".join)
def test_an_agent_can_be_selected(make_task: MakeTask, recode: Run, selection: tuple[str, ...]) -> None:
    make_task()
    assert set(names(recode("--collect-only", "-q", *PLAYS, *selection).stdout.str())) == SELECTIONS[selection]


def test_the_ini_file_may_name_several(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task()
    pytester.makeini("[pytest]\nrecode_agent =\n  one-shot\n  noop\nrecode_steps = 5\nrecode_model = sim/expert\n")
    assert names(recode("--collect-only", "-q").stdout.str()) == ["one-shot-sim/expert-escalate", "noop-escalate"]
    one = recode("--collect-only", "-q", "--recode-agent=recode")
    assert names(one.stdout.str()) == ["sim/expert-escalate"]


WRONG = {
    "twice": (["noop", "reference", "noop"], (), "--recode-agent=noop", "is given twice", "keep one"),
    "unknown": (["noop", "one-shoot"], (), "unknown agent 'one-shoot'", "did you mean one-shot?", "choose from"),
    "fixed": (
        ["recode", "one-shot"],
        ("--recode-model=sim/expert", "--recode-steps=5"),
        "--recode-agent=one-shot",
        "always has --recode-steps=1",
        "leave out --recode-steps, or --recode-agent=one-shot",
    ),
    "fixed by a command": (
        ["recode", "command:./agent.py"],
        ("--recode-model=openai/local", "--recode-search-model=text-embedding-3-small"),
        "--recode-agent=command:./agent.py",
        "never has --recode-search-model",
        "leave out --recode-search-model, or --recode-agent=command:./agent.py",
    ),
    "fixed by a module's agent": (
        ["recode", "fixing:KIND"],
        ("--recode-model=sim/expert", "--recode-steps=5"),
        "--recode-agent=fixing:KIND",
        "always has --recode-steps=2",
        "leave out --recode-steps, or --recode-agent=fixing:KIND",
    ),
    "no model": (
        ["noop", "reference"],
        ("--recode-model=sim/expert",),
        "--recode-agent=noop",
        "calls no model",
        "leave out --recode-model",
    ),
    "person with workers": (
        ["reference", "person"],
        ("-n2",),
        "--recode-agent=person",
        "uses this terminal",
        "leave out -n",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_played_is_one_usage_error_before_anything_starts(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, case: str
) -> None:
    agents, options, thing, wrong, step = WRONG[case]
    make_task()
    pytester.makepyfile(
        fixing="from pytest_recode.agents import AgentKind\n\nKIND = AgentKind(make=print, fixes={'steps': 2})\n"
    )
    result = recode(*(f"--recode-agent={name}" for name in agents), *options, "--recode-out=out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert_message(line, thing, wrong, step)
    assert not (pytester.path / "out").exists()


# A whole run of three agents, and what else is done with it

BOTH = ("--recode-agent=recode", "--recode-agent=one-shot")
SMALL = (
    "--recode-model=sim/graduate",
    "--recode-turns=2",
    "--recode-seed=5",
    "--recode-feedback=L0",
    "--recode-feedback=L4",
)


def ends(records: list[dict[str, Any]]) -> dict[tuple[str, ...], tuple[str, list[int]]]:
    """How each episode ended: its outcome, and the cases that passed in each turn."""
    return {
        tuple(record[key] for key in ("task", "agent", "feedback")): (
            record["outcome"],
            [turn["passed"] for turn in record["turns"]],
        )
        for record in records
    }


@pytest.mark.slow
def test_shards_are_one_run_again_and_other_agents_are_another_run(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    for task in ("one", "two", "three"):
        make_task(task)
    recode("-n2", *BOTH, *SMALL, "--recode-out=whole")
    for number in (1, 2):
        recode(*BOTH, *SMALL, f"--recode-shard={number}/2", f"--recode-out=part{number}")
    recode(BOTH[0], *SMALL, "--recode-shard=2/2", "--recode-out=other")
    parts = [str(pytester.path / name) for name in ("part1", "part2", "other")]
    assert main(["merge", *parts[:2], "--out=merged"]) == 0
    assert ends(results("merged")) == ends(results("whole"))
    others = json.loads((pytester.path / "part1/shard.json").read_text())["formats"]["directory"]["others"]
    assert others["agent"] == ["one-shot", "recode"]
    assert others["steps"] == {"recode": 3, "one-shot": 1}
    capsys.readouterr()
    assert main(["merge", parts[0], parts[2], "--out=wrong"]) == 2
    assert_message(capsys.readouterr().err.strip(), parts[2], "agent recode, not one-shot, recode")


@pytest.mark.slow
def test_a_run_is_resumed_with_more_agents_and_with_no_other_ones(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    make_task()
    recode(workers, *BOTH, *SMALL, "--recode-out=out", "-k", "recode and L0 and not one-shot")
    first = ends(results())
    assert set(first) == {("tiny", "recode", "L0")}
    more = ("--recode-agent=noop", *BOTH)
    resumed = recode(workers, *more, *SMALL, "--recode-out=out", "--recode-resume")
    assert resumed.parseoutcomes().get("errors") is None
    assert ends(results())["tiny", "recode", "L0"] == first["tiny", "recode", "L0"]
    assert {key[1:] for key in ends(results())} == {
        (agent, level) for agent in ("recode", "one-shot", "noop") for level in ("L0", "L4")
    }
    calls = {record["nodeid"]: record["usage"]["prompt_tokens"] for record in results()}
    for agents, told in (
        (BOTH[:1], "was played"),
        (("--recode-agent=noop", BOTH[0]), "was played with agent one-shot, and this run asks for noop, recode"),
    ):
        result = recode(workers, *agents, *SMALL, "--recode-out=out", "--recode-resume")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert told in words(result)
    assert {record["nodeid"]: record["usage"]["prompt_tokens"] for record in results()} == calls


@pytest.mark.slow
def test_a_run_of_one_agent_is_not_resumed_with_several(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task()
    given = (workers, *SMALL, "--recode-turns=1", "--recode-out=out")
    assert recode(*given).ret == pytest.ExitCode.TESTS_FAILED
    result = recode(*given, *BOTH, "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line.startswith("ERROR")]
    assert_message(line, "bench/tiny/task.yaml::episode[sim/graduate-", "one --recode-agent", "another --recode-out")


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_each_agent_is_compared_with_its_own_baseline(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_task()
    agents = ("--recode-agent=tiny_agents:THIRD_TIME", "--recode-agent=tiny_agents:NEVER", *BOTH)
    plays = (workers, *SMALL, "--recode-turns=3", *agents)
    recode(*plays, "--recode-out=before")
    assert main(["bless", str(pytester.path / "before"), "-o", str(pytester.path / "baseline.json")]) == 0
    rows = json.loads((pytester.path / "baseline.json").read_text())["rows"]
    assert len({(row["model"], row["agent"], row["policy"]) for row in rows}) == len(rows) == 8
    gate = ("--recode-baseline=baseline.json", "--recode-fail-on=any-lost-task")
    assert recode(*plays, *gate).ret == pytest.ExitCode.OK
    new = recode(*plays, "--recode-agent=noop", *gate)
    assert new.ret == pytest.ExitCode.OK
    assert "noop, L0, with paper, noop [directory]" in words(new)  # as a row that the baseline does not have
    # an agent whose code became worse loses its own task, and the others nothing
    (pytester.path / "tiny_agents.py").write_text(
        (pytester.path / "tiny_agents.py").read_text().replace("self.turns == 3", "self.turns == 4")
    )
    assert recode(*plays, *gate, "--recode-out=now").ret == pytest.ExitCode.TESTS_FAILED
    capsys.readouterr()
    assert main(["gate", *(str(pytester.path / name) for name in ("now", "baseline.json")), "--fail-on=any-lost-task"])
    assert capsys.readouterr().out.count("lost: tiny") == 2  # with each policy


@pytest.mark.slow
@pytest.mark.usefixtures("agents")
def test_the_share_of_all_agents_decides(make_task: MakeTask, recode: Run, workers: str) -> None:
    make_task()
    agents = ("--recode-agent=tiny_agents:THIRD_TIME", "--recode-agent=noop", "--recode-feedback=L0")
    for limit, status in ((50, 0), (51, 1)):
        result = recode(workers, *agents, "--recode-turns=3", f"--recode-fail-under={limit}")
        assert result.ret == status
        assert f"50.0 % solved (2 judged), at least {limit} % wanted" in words(result)


@pytest.mark.slow
def test_turns_of_each_agent_are_replayed_by_it(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    make_task()
    recode(*BOTH, *SMALL[:3], "--recode-feedback=L4", "--recode-out=out")
    result = recode("--recode-replay-feedback=out", "--recode-feedback=L0", "--recode-out=again", workers)
    assert {(record["agent"], record["settings"]["steps"]) for record in results("again")} == {
        ("recode", 3), ("one-shot", 1),
    }  # fmt: skip
    assert "model agent feedback turns solved cases % before" in words(result)


@pytest.mark.slow
def test_several_episodes_in_flight_are_the_same_ones(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    make_task("one")
    make_task("two")
    plays = (workers, *BOTH, "--recode-agent=reference", *SMALL)
    recode(*plays, "--recode-out=alone")
    result = recode(*plays, "--recode-in-flight=3", "--recode-out=together")
    assert "one episode at a time" not in words(result)
    assert ends(results("together")) == ends(results("alone"))
    keys = {path.name for out in ("alone", "together") for path in (pytester.path / out / "first-turns").glob("*.json")}
    assert len(keys) == 4  # of each task and agent with a model
