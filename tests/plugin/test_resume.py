"""A run that goes on after it was killed, a first turn that policies share, stored turns played again: nothing is paid twice."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.records.checkpoint_file import stored_episode
from pytest_recode.records.run_directory import in_use
from tests import nursery
from tests.made_once import made_once
from tests.messages import assert_line, assert_message

from .conftest import words

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

# A model that writes down every call before it answers, by task, level and turn; the third turn of most tasks is right. At its
# call number KILL_AT, over all processes, something kills this process or the controller, KILL_AFTER seconds later.
MODEL = r"""
import os
import re
import subprocess

from pytest_recode.models import ModelKind, Reply, Usage

RIGHT = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
HALF = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"
SPENT = Usage(prompt_tokens=100, completion_tokens=10, cost_usd=0.01)


class Paid:
    simulated = native_tools = False

    def __init__(self, context):
        self.name, self.ledger = context.name, context.ledger

    def complete(self, messages, *, tools=(), schema=None):
        self.ledger.before_call(self.name)
        shown = "\n".join(message.content for message in messages)
        task = re.search(r"the task (\w+)", shown)[1]
        turn = int(re.findall(r"This is turn (\d+) of", shown)[-1])
        level = (re.findall(r"^Feedback on turn \d+, level (L\d)", shown, re.M) or ["-"])[-1]
        with open(os.environ["CALLS"], "a") as calls:
            calls.write(f"{task} {level} {turn}\n")
        with open(os.environ["CALLS"]) as calls:
            number = len(calls.readlines())
        if number == int(os.environ.get("KILL_AT", 0)):
            pid = {"worker": os.getpid(), "controller": os.environ["CONTROLLER"]}.get(os.environ["VICTIM"])
            if pid:
                kill = f"sleep {os.environ['KILL_AFTER']}; kill -9 {pid}"
                subprocess.Popen(["sh", "-c", kill], start_new_session=True)
        self.ledger.spent(self.name, SPENT)
        text = RIGHT if turn == 3 and task != "never" else HALF
        return Reply(text=f"```python answer.py\n{text}```", usage=SPENT)


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        os.environ["CONTROLLER"] = str(os.getpid())


def pytest_recode_models():
    return {"paid": ModelKind(make=Paid, check=lambda context: None)}
"""
LEVELS = ("--recode-feedback=L1", "--recode-feedback=L3")
OPTIONS = ("--recode-model=paid", "--recode-agent=one-shot", "--recode-turns=4", "--recode-out=out")


@pytest.fixture
def calls(pytester: pytest.Pytester, make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    for name in ("one", "two", "never"):
        make_task(name, files={"instruction.md": f"This is the task {name}: write twice and half.\n"})
    pytester.makeconftest(MODEL)
    path = pytester.path / "calls"
    path.touch()
    monkeypatch.setenv("CALLS", str(path))
    return lambda: path.read_text().splitlines()


@pytest.fixture
def played(
    calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A run of the task one with L1, alone: played once, and copied for each test."""

    def play(place: Path) -> None:
        recode(*OPTIONS, LEVELS[0], "-k", "one", "-n0")
        shutil.copytree(pytester.path / "out", place / "out")
        shutil.copy(pytester.path / "calls", place)

    stored = made_once(tmp_path_factory, "resumed-run", play)
    shutil.copytree(stored / "out", pytester.path / "out", dirs_exist_ok=True)
    shutil.copy(stored / "calls", pytester.path)


def told(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What of each episode must not depend on how it was played."""
    assert len({record["nodeid"] for record in records}) == len(records)
    return {
        record["nodeid"]: (
            record["outcome"],
            record["solved_turn"],
            [(turn["turn"], turn["level"], turn["passed"]) for turn in record["turns"]],
        )
        for record in records
    }


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2"])
def test_policies_share_the_first_turn(
    calls: Callable[[], list[str]], recode: Run, results: Results, workers: str
) -> None:
    recode(*OPTIONS, *LEVELS, "--recode-feedback=none", "--recode-attempts=2", "-k", "not two and not never", workers)
    first = [call for call in calls() if call.endswith(" - 1")]
    assert first == ["one - 1"] * 2  # one of each attempt
    assert len(calls()) == 2 + 2 * 2 * 2
    records = results()
    paid = {record["nodeid"] for record in records if record["turns"][0]["shared"] is None}
    assert len(paid) == 2
    for record in records:
        assert record["nodeid"] in paid or record["turns"][0]["shared"] in paid
        # what an episode took is the same whoever paid
        assert record["usage"]["cost_usd"] == pytest.approx(0.01 * len(record["turns"]))
    assert {record["outcome"] for record in records if record["feedback"] == "none"} == {"unsolved"}


@pytest.mark.slow
def test_the_order_of_the_levels_makes_no_difference(
    calls: Callable[[], list[str]], recode: Run, results: Results
) -> None:
    recode(*OPTIONS, *LEVELS, "-n0")
    recode(*OPTIONS[:-1], "--recode-out=other", *reversed(LEVELS), "-n0")
    assert told(results()) == told(results("other"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n2"])
def test_a_later_run_in_the_directory_shares_the_first_turn(
    calls: Callable[[], list[str]], recode: Run, results: Results, workers: str
) -> None:
    some = ("-k", "not two", workers)
    recode(*OPTIONS, LEVELS[0], *some)
    before = len(calls())
    result = recode(*OPTIONS, *LEVELS, "--recode-resume", *some)
    assert all(call.split()[1] == "L3" for call in calls()[before:])
    assert len(told(results())) == 4
    assert "paid L1 1/2" in words(result), "what was kept is in the summary"


@pytest.mark.slow
def test_without_resume_a_directory_is_not_gone_on_with(
    played: None, calls: Callable[[], list[str]], recode: Run
) -> None:
    before = calls()
    result = recode(*OPTIONS, LEVELS[0], "-k", "one")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if "--recode-out=" in line and "ERROR" in line]
    assert_message(line, "--recode-out=", "results.jsonl", "a new or an empty directory", "--recode-resume")
    assert calls() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "says"),
    [("--recode-turns=5", "was played with turns 4, and this run asks for 5"), ("", "other files of the task one")],
)
def test_another_setup_is_not_mixed_in(
    played: None, calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester, option: str, says: str
) -> None:
    before = calls()
    if not option:
        (pytester.path / "bench/one/instruction.md").write_text("This is the task one, mended.\n")
    given = (*OPTIONS, *([option] if option else []), LEVELS[0], "-k", "one", "--recode-resume")
    result = recode(*given)
    assert says in words(result)
    assert calls() == before


@pytest.mark.slow
def test_an_error_is_tried_again_from_where_it_was(
    calls: Callable[[], list[str]], recode: Run, results: Results, workers: str
) -> None:
    recode(*OPTIONS, LEVELS[0], "--recode-max-cost=0.015", "-k", "one", workers)
    (record,) = results()
    assert record["outcome"] == "error"
    assert len(record["turns"]) == 2
    recode(*OPTIONS, LEVELS[0], "-k", "one", "--recode-resume", workers)
    (record,) = results()
    assert (record["outcome"], record["solved_turn"]) == ("solved", 3)
    assert calls() == ["one - 1", "one L1 2", "one L1 3"]
    assert record["usage"]["cost_usd"] == pytest.approx(0.03)


def test_a_directory_without_a_run_is_not_gone_on_with(
    played: None, calls: Callable[[], list[str]], recode: Run, workers: str
) -> None:
    before = calls()
    result = recode(*OPTIONS[:-1], "--recode-out=ou", LEVELS[0], "--recode-resume", workers)
    assert "ou: there is no run to resume (did you mean out?): leave out --recode-resume to start one" in words(result)
    assert calls() == before


@pytest.mark.parametrize("workers", ["-n2"])
@pytest.mark.slow
def test_an_error_is_kept_until_its_episode_came_to_something(
    calls: Callable[[], list[str]], recode: Run, results: Results, workers: str
) -> None:
    recode(*OPTIONS, LEVELS[0], "--recode-max-cost=0.015", "-k", "one", workers)
    before = results()
    recode(*OPTIONS, LEVELS[0], "--recode-max-cost=0.015", "-k", "two", "--recode-resume", workers)
    assert before[0] in results(), "another one was played"
    recode(*OPTIONS, LEVELS[0], "-k", "one", "--recode-resume", workers)
    assert sorted((record["task"], record["outcome"]) for record in results()) == [("one", "solved"), ("two", "error")]


@pytest.mark.slow
def test_a_task_that_was_broken_is_mended_and_played(
    calls: Callable[[], list[str]], recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    tests = pytester.path / "bench/one/tests/test_answer.py"
    whole = tests.read_text()
    tests.write_text(whole + "raise ValueError\n")
    recode(*OPTIONS, LEVELS[0], "-k", "one")
    assert [record["outcome"] for record in results()] == ["error"]
    tests.write_text(whole)
    recode(*OPTIONS, LEVELS[0], "-k", "one", "--recode-resume")
    (record,) = results()
    assert (record["outcome"], record["solved_turn"]) == ("solved", 3)


@pytest.mark.parametrize("workers", ["-n2"])
@pytest.mark.slow
def test_stored_turns_are_replayed_with_another_level(
    calls: Callable[[], list[str]], recode: Run, results: Results, pytester: pytest.Pytester, workers: str
) -> None:
    recode(*OPTIONS, LEVELS[0], "--recode-feedback-model=sim/expert")
    before = len(calls())
    result = recode(
        "--recode-replay-feedback=out", "--recode-feedback=L0", "--recode-feedback=L4", "--recode-out=again", workers
    )
    again = calls()[before:]
    turns = [f"one L{level} {turn}" for level in (0, 4) for turn in (2, 3)]
    assert sorted(call for call in again if call.startswith("one")) == sorted(turns)
    assert len(again) == 2 * (2 + 2 + 3)
    for record in results("again"):
        (turn,) = record["turns"]
        assert record["replay"] == {
            "run": "out",
            "nodeid": record["replay"]["nodeid"],
            "turn": turn["turn"],
            "level": "L1",
        }
        assert turn["level"] == record["feedback"]
        assert record["settings"]["turns"] == 4
        right = turn["turn"] == 3 and record["task"] != "never"
        assert (record["outcome"] == "solved") is right, (turn, record["error"])
    assert "replay[paid-L1-turn3-L4]" in words(
        recode("--collect-only", "-q", "--recode-replay-feedback=out", "--recode-feedback=L4")
    )
    text = words(result)
    assert "4 passed" in text
    # of the two turns of "one" and "two" and the three of "never", half the cases passed before each; then two turns solved
    assert f"replay of {pytester.path / 'out'}: single turns, not episodes" in text
    assert "model feedback turns solved cases % before as played replayed tokens cost $ errors" in text
    for level in ("L0", "L4"):
        assert f"paid {level} 7 2 50.0 64.3 64.3 770 0.07 0" in text
    assert "solved within turn" not in text


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["-n0"])
def test_a_run_of_other_tasks_has_nothing_to_replay_and_that_is_said(
    calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester, workers: str
) -> None:
    recode(*OPTIONS, LEVELS[0], "-k", "not two", "--recode-turns=2")
    before = calls()
    replay = ("--recode-replay-feedback=out", "--recode-feedback=L0", "--recode-out=again")
    for more in ((workers, "bench/two"), (workers, "-k", "two"), ("--collect-only", "bench/two")):
        result = recode(*replay, *more)
        assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert_message(words(result), "nothing was replayed", str(pytester.path / "out"), "it has turns of never, one")
    assert "nothing was replayed" not in words(recode(*replay, "--collect-only"))
    assert calls() == before


def whole(out: Path) -> set[str]:
    """The turns that are on disk, as calls are written."""
    found = set()
    for path in out.glob("checkpoints/*"):
        task, level = path.name.split("-")[0], "L1" if "-L1-" in path.name else "L3"
        lines = path.read_text().split("\n")[:-1]
        for checkpoint in stored_episode(path, json.loads(lines[0])["nodeid"]).checkpoints if lines else ():
            turn = checkpoint.turn.number
            found.add(f"{task} {'-' if turn == 1 else level} {turn}")
    return found


# Kills this process around the writing of the first checkpoint.
KILL_AT_CHECKPOINT = """
import signal

from pytest_recode.records.checkpoint_file import CheckpointWriter

written = CheckpointWriter.turn


def killed(keeper, checkpoint):
    if os.environ["VICTIM"] == "after":
        written(keeper, checkpoint)
    if os.environ["VICTIM"] != "nobody":
        os.kill(os.getpid(), signal.SIGKILL)
    written(keeper, checkpoint)


CheckpointWriter.turn = killed
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_shared_first_turn_is_paid_for_once_whenever_its_episode_is_killed(
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    moment: str,
) -> None:
    pytester.makeconftest(MODEL + KILL_AT_CHECKPOINT)
    monkeypatch.setenv("VICTIM", moment)
    assert recode(*OPTIONS, *LEVELS, "-k", "one", "-n0").ret == -signal.SIGKILL
    assert calls() == ["one - 1"]
    monkeypatch.setenv("VICTIM", "nobody")
    # the other policy first, as a second worker may have it
    recode(*OPTIONS, LEVELS[1], "-k", "one", "-n0", "--recode-resume")
    recode(*OPTIONS, *LEVELS, "-k", "one", "-n0", "--recode-resume")
    assert calls() == ["one - 1", "one L3 2", "one L3 3", "one L1 2", "one L1 3"]
    for record in results():
        assert (record["turns"][0]["shared"] is None) is (record["feedback"] == "L1"), "the killed episode paid for it"
        assert record["usage"]["cost_usd"] == pytest.approx(0.03)


@pytest.mark.slow
def test_other_settings_than_those_of_an_episode_that_was_killed_are_refused_before_anything_is_played(
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has no record yet. An error record with the new settings would make the right ones look wrong."""
    pytester.makeconftest(MODEL + KILL_AT_CHECKPOINT)
    monkeypatch.setenv("VICTIM", "after")
    some = ("-k", "one or never", "-n0")
    assert recode(*OPTIONS, LEVELS[0], *some).ret == -signal.SIGKILL
    monkeypatch.setenv("VICTIM", "nobody")
    before = calls()
    result = recode(*OPTIONS, "--recode-turns=5", LEVELS[0], *some, "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "was played with turns 4, and this run asks for 5" in words(result)
    assert calls() == before
    recode(*OPTIONS, LEVELS[0], *some, "--recode-resume")
    assert sorted(record["outcome"] for record in results()) == ["solved", "unsolved"]


@pytest.mark.slow
@pytest.mark.parametrize(("times", "tasks"), [(2, "one"), (10, "not two")])
def test_killed_several_times_and_gone_on_with(
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    tasks: str,
) -> None:
    """Workers and controllers, at moments that are drawn anew each time, in as many runs as that takes.

    The seed is in the failure.
    """
    options = (*OPTIONS[:-1], *LEVELS, "-k", tasks, "-n2")
    recode(*options, "--recode-out=undisturbed")
    wanted = told(results("undisturbed"))
    seed = random.SystemRandom().randrange(10**6)
    draw = random.Random(seed)
    victims = ["worker", "controller"] * (times // 2)
    for run in range(30):
        out = f"run-{run}"
        saved: set[str] = set()
        resume: list[str] = []
        while True:
            before = calls()
            monkeypatch.setenv("VICTIM", victims[-1] if victims else "nobody")
            monkeypatch.setenv("KILL_AT", str(len(before) + draw.randint(1, 3)))
            monkeypatch.setenv("KILL_AFTER", f"{draw.uniform(0, 0.05):.3f}")
            ended = recode(*options, f"--recode-out={out}", *resume)
            again = [call for call in calls()[len(before) :] if call in saved]
            assert not again, f"seed {seed}: paid twice in {out}"
            saved |= whole(pytester.path / out)
            resume = ["--recode-resume"]
            killed = ended.ret == -signal.SIGKILL, "crashed" in words(ended)
            if not any(killed):
                break
            victims.remove(("controller", "worker")[killed.index(True)])
        assert told(results(out)) == wanted, f"seed {seed}"
        spending = (pytester.path / out / "spending.jsonl").read_text().splitlines()
        assert all(isinstance(json.loads(line), dict) for line in spending)
        if not victims:
            return
    raise AssertionError(f"seed {seed}: not killed {times} times in 30 runs: {victims} are left")


@pytest.mark.slow
def test_that_another_run_is_waited_for_is_said_at_once(
    played: None,
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    workers: str,
    quick_python: tuple[str, ...],
) -> None:
    """It goes on when the other lets go, which it does here once the line was read."""
    (pytester.path / "out/results.jsonl").write_text("")  # as if it had been cut off
    with in_use(pytester.path / "out"):
        process = subprocess.Popen(
            [*quick_python, "-m", "pytest", "-p", nursery.PLUGIN, "-p", "no:cacheprovider", "--recode-sandbox=process",
             *OPTIONS, LEVELS[0], "-k", "one", workers, "--recode-resume"],
            cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ),
        )  # fmt: skip
        assert process.stdout is not None
        read = []
        for line in process.stdout:
            read.append(line)
            if "another run is still writing there: waiting" in line:
                break
        else:
            raise AssertionError("".join(read))
    rest, _ = process.communicate(timeout=120)
    assert "1 passed" in rest
    assert [record["outcome"] for record in results()] == ["solved"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["checkpoints", "episodes", "first-turns"])
@pytest.mark.parametrize("text", ["no JSON\n", '{"turn": 1}\n'])
def test_what_something_else_wrote_into_is_one_error_that_names_it(
    played: None, calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester, folder: str, text: str
) -> None:
    (pytester.path / "out/results.jsonl").write_text("")  # as if it had been cut off
    [path] = [path for path in (pytester.path / "out" / folder).iterdir() if path.suffix != ".lock"]
    path.write_text(text)
    if folder == "first-turns":
        [checkpoints] = (pytester.path / "out/checkpoints").iterdir()
        checkpoints.unlink()
    before = calls()
    result = recode(*OPTIONS, "--recode-feedback=L1", "-k", "one", "-n0", "--recode-resume")
    result.assert_outcomes(errors=1, deselected=2)
    assert path.name in words(result)
    assert "damaged" in words(result)
    assert "Traceback" not in words(result)
    assert calls() == before


VERDICT = {"seed": 1, "isolation": "separate", "tampering": [], "seconds": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "number", "changed", "problem"),
    [
        ("episodes", 1, {"settings": 7}, "settings is 7: must be an object"),
        ("episodes", 1, {"settings": {"turns": []}}, "settings: lacks 'version'"),
        ("episodes", 1, {"agent": None}, "agent is null: must be a nonempty text"),
        ("episodes", "usage", {"cost_usd": "much"}, "cost_usd is 'much': must be a number from 0"),
        ("episodes", "turn", {"turn": "1"}, "turn is '1': must be a whole number from 1"),
        ("checkpoints", 1, {"seconds": "long"}, "seconds is 'long': must be a number"),
        ("checkpoints", 1, {"targets": {"a.py": "x"}}, "targets.a.py is 'x': must be base64"),
        ("checkpoints", 1, {"verdict": {**VERDICT, "cases": 7}}, "verdict.cases is 7: must be a list"),
    ],
)
def test_a_damaged_line_is_one_error_that_names_the_key(
    played: None,
    calls: Callable[[], list[str]],
    recode: Run,
    pytester: pytest.Pytester,
    folder: str,
    number: int | str,
    changed: dict[str, Any],
    problem: str,
) -> None:
    """`number`: of the line, or the event of the first such line of a transcript."""
    (pytester.path / "out/results.jsonl").write_text("")  # as if it had been cut off
    [path] = (pytester.path / "out" / folder).iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    place = number - 1 if isinstance(number, int) else [line["event"] for line in lines].index(number)
    lines[place] |= changed
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = calls()
    result = recode(*OPTIONS, "--recode-feedback=L1", "-k", "one", "-n0", "--recode-resume")
    result.assert_outcomes(errors=1, deselected=2)
    [line] = [line for line in result.outlines if line.startswith(f"{path}, ")]
    assert_message(line, f"{path}, line {place + 1}", "is damaged", problem, "restore it", "give another --recode-out")
    assert "Traceback" not in words(result)
    assert "INTERNALERROR" not in words(result)
    assert calls() == before


@pytest.mark.slow
def test_a_damaged_ledger_is_one_usage_error_before_anything_is_asked(
    played: None, calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester
) -> None:
    path = pytester.path / "out/spending.jsonl"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([json.dumps({**json.loads(first), "cost_usd": "much"}) + "\n", *rest]))
    before = calls()
    result = recode(*OPTIONS, "--recode-feedback=L1", "-n0", "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if f"{path}" in line]
    assert_message(
        line, f"{path}, line 1", "cost_usd is 'much': must be a number", "restore it", "another --recode-out"
    )
    assert "INTERNALERROR" not in words(result)
    assert calls() == before


@pytest.mark.slow
def test_a_ledger_that_is_gone_is_one_usage_error_and_not_a_run_from_0_dollars(
    played: None, calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester
) -> None:
    path = pytester.path / "out/spending.jsonl"
    path.unlink()
    before = calls()
    result = recode(*OPTIONS, "--recode-feedback=L1", "-n0", "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if path.name in line]
    assert_message(line, f"{path.name} is missing", "restore it", "create an empty file", "0 dollars")
    assert calls() == before
    assert not path.exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (lambda stored: {**stored, "turns": "three"}, "settings.turns is 'three': must be a whole number from 1"),
        (lambda stored: {key: value for key, value in stored.items() if key != "steps"}, "lacks 'steps'"),
    ],
)
def test_a_replay_of_a_run_with_damaged_settings_is_one_usage_error(
    played: None,
    calls: Callable[[], list[str]],
    recode: Run,
    pytester: pytest.Pytester,
    settings: Callable[[dict[str, Any]], dict[str, Any]],
    problem: str,
) -> None:
    [path] = (pytester.path / "out/episodes").iterdir()
    first, *rest = path.read_text().splitlines(keepends=True)
    facts = json.loads(first)
    path.write_text("".join([json.dumps({**facts, "settings": settings(facts["settings"])}) + "\n", *rest]))
    result = recode("--recode-replay-feedback=out", "--recode-feedback=L0", "--recode-out=again", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if f"{path}" in line]
    assert_message(line, f"{path}", problem, "restore it")
    assert "Traceback" not in words(result)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["checkpoints", "episodes"])
def test_a_file_of_another_episode_is_one_error_that_names_both(
    calls: Callable[[], list[str]], recode: Run, pytester: pytest.Pytester, folder: str
) -> None:
    """Copied there by hand; a replay of the run says so too."""
    recode(*OPTIONS, "--recode-feedback=L1", "-k", "one or two", "-n0")
    (pytester.path / "out/results.jsonl").write_text("")  # as if it had been cut off
    [one] = (pytester.path / "out" / folder).glob("one-*")
    [two] = (pytester.path / "out" / folder).glob("two-*")
    one.write_bytes(two.read_bytes())
    before = calls()
    result = recode(*OPTIONS, "--recode-feedback=L1", "-k", "one", "-n0", "--recode-resume")
    result.assert_outcomes(errors=1, deselected=2)
    message = words(result)
    where = f"{one}, line 1: " if folder == "checkpoints" else f"{one}: "
    assert where in message
    theirs, ours = (f"bench/{name}/task.yaml::episode[paid-L1]" for name in ("two", "one"))
    assert f"is of the episode {theirs}, not of {ours}: restore" in message
    assert "or give another --recode-out" in message
    assert "Traceback" not in words(result)
    assert calls() == before
    result = recode("--recode-replay-feedback=out", "--recode-feedback=L0", "--recode-out=again", "-n0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert where in words(result)
    assert "is of the episode bench/two/task.yaml::episode[paid-L1]" in words(result)


NONSENSE: list[tuple[str, str, Any, str]] = [
    ("one-shot", "paid", {"messages": 7}, "KeyError: 'turn'"),
    ("one-shot", "paid", {"turn": "1", "answer": "", "problems": [], "model": {}}, "TypeError: 'turn' is str, not int"),
    ("recode", "sim/novice", {"messages": 7}, "KeyError: 'turn'"),
    ("recode", "sim/novice", {"memory": {"summary": "", "messages": 7}}, "TypeError: 'messages' is int, not list"),
    ("recode", "sim/novice", {"memory": {"summary": "", "messages": [{"message": 7, "files": {}}]}}, "TypeError: 'message'"),
    ("recode", "sim/novice", {"model": {"texts": 7}}, "KeyError: 'broken'"),
    ("recode-h", "sim/novice", {"memory": {"messages": []}}, "KeyError: 'summary'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "model", "state", "why"), NONSENSE)
def test_a_state_that_is_nonsense_is_one_error_that_names_file_turn_and_way_on(
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    agent: str,
    model: str,
    state: Any,
    why: str,
) -> None:
    """`state` replaces the whole of it, or, with keys that it has, those of them."""
    given = (f"--recode-model={model}", f"--recode-agent={agent}", "--recode-out=out", "-k", "one", "-n0")
    recode(*given, "--recode-feedback=L1", "--recode-turns=2")
    [path] = (pytester.path / "out/checkpoints").iterdir()
    first = json.loads(path.read_text().split("\n")[0])
    known = isinstance(state, dict) and state.keys() <= first["agent"].keys()
    path.write_text(json.dumps({**first, "agent": {**first["agent"], **state} if known else state}) + "\n")
    (pytester.path / "out/results.jsonl").write_text("")  # as if it had been cut off
    before = calls()
    result = recode(*given, "--recode-feedback=L1", "--recode-turns=2", "--recode-resume")
    result.assert_outcomes(errors=1, deselected=2)
    [record] = results()
    assert record["error"]["kind"] == "user"
    message = record["error"]["message"]
    assert message.startswith(
        f"{path}: turn 1: the agent {agent} cannot resume from the state that is stored there ({why}"
    )
    assert message.endswith("): restore it, or give another --recode-out")
    assert "\n" not in message
    assert "Traceback" not in words(result)
    assert calls() == before


@pytest.mark.slow
def test_a_first_turn_whose_state_is_nonsense_is_played_anew_where_it_is_removed(
    played: None, calls: Callable[[], list[str]], recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    [path] = (pytester.path / "out/first-turns").glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "agent": {"messages": 7}}))
    recode(*OPTIONS, *LEVELS, "-k", "one", "-n0", "--recode-resume")
    [record] = [record for record in results() if record["outcome"] == "error"]
    message = record["error"]["message"]
    assert message.startswith(f"{path}: turn 1: the agent one-shot cannot resume")
    assert message.endswith("(KeyError: 'turn'): remove it to play this first turn again")
    path.unlink()
    recode(*OPTIONS, *LEVELS, "-k", "one", "-n0", "--recode-resume").assert_outcomes(passed=2, deselected=4)


FORGETFUL = """\
from pytest_recode.agents import AgentKind
from pytest_recode.agents.one_shot import make


def forgetful(context):
    agent = make(context)

    class Forgetful:
        act, state = agent.act, agent.state

        def restore(self, state):
            raise ZeroDivisionError("a fault of its own,\\nin two lines")

    return Forgetful()


FORGETFUL = AgentKind(make=forgetful)
"""


@pytest.mark.slow
def test_the_fault_of_somebodys_own_agent_is_said_with_its_type_and_text(
    calls: Callable[[], list[str]], recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(forgetful=FORGETFUL)
    pytester.syspathinsert()
    given = ("--recode-model=paid", "--recode-agent=forgetful:FORGETFUL", "--recode-turns=4", "--recode-out=out")
    recode(*given, LEVELS[0], "--recode-max-cost=0.015", "-k", "one")
    recode(*given, LEVELS[0], "-k", "one", "--recode-resume")
    [record] = results()
    assert (record["outcome"], record["error"]["kind"]) == ("error", "user")
    assert (
        "the agent forgetful:FORGETFUL cannot resume from the state that is stored there (ZeroDivisionError: a fault of its own,"
        f" in two lines, at {pytester.path / 'forgetful.py'}:12): "
    ) in record["error"]["message"]


@pytest.mark.parametrize(
    ("malformed", "problem"),
    [
        (lambda _: "no JSON", "is not a JSON object"),
        (lambda record: json.dumps(record)[:99], "is damaged"),
        (lambda record: json.dumps({**record, "schema": 2}), "this version reads 1"),
        (lambda record: json.dumps({**record, "outcome": "fine"}), "outcome is 'fine'"),
        (lambda record: json.dumps({**record, "settings": None}), "settings is null"),
        (lambda record: json.dumps({**record, "nodeid": []}), "nodeid is []"),
        (lambda record: json.dumps({key: value for key, value in record.items() if key != "agent"}), "lacks 'agent'"),
    ],
)
@pytest.mark.mostly_slow
def test_a_malformed_record_is_one_usage_error_and_starts_nothing(
    malformed: Callable[[dict[str, Any]], str],
    problem: str,
    played: None,
    calls: Callable[[], list[str]],
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
) -> None:
    given = (*OPTIONS, "--recode-feedback=L1", "-n0")
    asked, [record] = calls(), results()
    file = pytester.path / "out/results.jsonl"
    text = f"{json.dumps(record)}\n{malformed(record)}\n"
    file.write_text(text)
    result = recode(*given, "--recode-resume")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines + result.outlines if "results.jsonl, line 2" in line]
    remedy = "update pytest-recode" if "schema" in problem or "version" in problem else "give another --recode-out"
    assert_message(line, "results.jsonl, line 2", problem, remedy)
    assert calls() == asked
    assert file.read_text() == text


STARTED = """
import pytest_recode.gateway.supervisor as process

start = process.GatewayProcess.__init__


def started(self, *given):
    print("GATEWAY STARTED", flush=True)
    start(self, *given)


process.GatewayProcess.__init__ = started
"""


@pytest.mark.slow
def test_a_directory_that_cannot_be_resumed_is_refused_before_the_gateway_starts(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    """It loads litellm for seconds, and asks nobody."""
    make_task("one")
    pytester.makeconftest(STARTED)
    recode("--recode-model=sim/expert", "--recode-out=out", "--recode-turns=2")
    paid = ("--recode-model=sim/expert", "--recode-feedback-model=openai/m", "--recode-api-base=http://127.0.0.1:9")
    for options, told in (
        (("--recode-out=ou",), "ou: there is no run to resume (did you mean out?)"),
        (("--recode-out=bench/one/task.yaml",), "is a file: give the directory of the run to resume"),
        (("--recode-out=out", "--recode-turns=3"), "was played with"),
    ):
        result = recode(*paid, "--recode-resume", *options, "-s")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert told in words(result)
        assert "GATEWAY STARTED" not in words(result)
    assert "GATEWAY STARTED" in words(recode(*paid, "--recode-out=other", "-s"))


@pytest.mark.slow
def test_interrupted_episodes_that_are_not_resumed_are_named(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    for task in ("one", "two"):
        make_task(task)
    agent = ("--recode-agent=noop", "--recode-turns=1", "--recode-out=out")
    recode(*agent, "--recode-feedback=L1")
    results = pytester.path / "out/results.jsonl"
    [one, two] = results.read_text().splitlines(keepends=True)
    results.write_text(one)  # as if the other one had been interrupted
    told = "not part of this session"
    result = recode(*agent, "--recode-feedback=L0", "--recode-resume")
    assert_line(
        result.stdout.str(),
        told,
        f"{json.loads(two)['task']} (--recode-agent=noop --recode-feedback=L1)",
        "to resume them",
    )
    assert result.stdout.str().count(told) == 1
    assert told not in recode(*agent, *("--recode-feedback=L0", "--recode-feedback=L1"), "--recode-resume").stdout.str()
    assert told not in recode(*agent, "--recode-feedback=L0", "--recode-resume").stdout.str()


@pytest.mark.slow
def test_finished_episodes_that_a_stopped_resume_does_not_reach_are_no_interrupted_ones(
    make_task: MakeTask, recode: Run
) -> None:
    for task in ("one", "two", "three"):
        make_task(task)
    options = ("--recode-agent=noop", "--recode-turns=1", "--recode-out=out")
    recode(*options)
    result = recode(*options, "--recode-resume", "-x")
    shown = words(result)
    assert "not reported again: 2 of 3 episodes" in shown
    assert "interrupted:" not in shown
    assert "not played" not in shown
    assert "to resume: the same command" in shown
