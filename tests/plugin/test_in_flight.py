"""Many episodes in flight in one process: the same results as one after the other, and each of them ends, stops and fails alone."""

from __future__ import annotations

import json
import os
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import Answer, ChatServer, Request, say
from tests.messages import assert_message

from .conftest import words
from .test_bad_input import one_line
from .test_cassette import DRAWS, lasting
from .test_models import RIGHT, TABLE, WRONG
from .test_stops import SIGNALS, Start, events, ledger
from .test_stops import start as start

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
_LONG = 300  # seconds: a broken test ends some time
ONE_SHOT = ("--recode-agent=one-shot", "--recode-model=local", "--recode-out=out")


class Meets:
    """A provider that answers when as many requests wait at the same time as there should."""

    def __init__(self, number: int) -> None:
        self._barrier = threading.Barrier(number)

    def __call__(self, request: Request) -> Answer:
        self._barrier.wait(_LONG)
        return say(RIGHT)


@pytest.mark.mostly_slow
@pytest.mark.parametrize(("workers", "each"), [("-n0", 12), ("-n2", 6)])
def test_all_of_them_wait_for_the_model_at_the_same_time(
    make_task: MakeTask, recode: Run, results: Results, workers: str, each: int
) -> None:
    for number in range(12):
        make_task(f"task{number}")
    with ChatServer(Meets(12)) as server:
        result = recode(workers, *ONE_SHOT, f"--recode-api-base={server.url}", f"--recode-in-flight={each}")
    result.assert_outcomes(passed=12)
    assert {record["outcome"] for record in results()} == {"solved"}
    assert len({record["nodeid"] for record in results()}) == 12


def answers(request: Request) -> Answer:
    return say(RIGHT if "Feedback on turn 2" in request.prompt else WRONG)


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_in_flight(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same answers and seeds, everything but times, costs and places is equal."""
    for number in range(8):
        make_task(
            f"task{number}",
            files={"tests/test_answer.py": DRAWS, "instruction.md": f"Write answer.py, number {number}.\n"},
        )
    (pytester.path / "models.yaml").write_text(TABLE)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    run = (
        *("--recode-model=cheap", "--recode-models-file=models.yaml", "--recode-agent=one-shot", "--recode-attempts=2"),
        *("--recode-feedback=L2", "--recode-cassette=tape"),
    )
    with ChatServer(answers) as server:
        recode("-n0", *run, f"--recode-api-base={server.url}", "--recode-out=first").assert_outcomes(passed=16)
    played = {}
    for name, options in {
        "1": ("-n0",),
        "16": ("-n0", "--recode-in-flight=16"),
        "64": ("-n0", "--recode-in-flight=64"),
        "2x32": ("-n2", "--recode-in-flight=32"),
    }.items():
        result = recode(*options, *run, "--recode-cassette-mode=replay", f"--recode-out={name}")
        result.assert_outcomes(passed=16)
        lines = (pytester.path / name / "results.jsonl").read_text().splitlines()
        played[name] = {record["nodeid"]: lasting(record) for record in map(json.loads, lines)}
        for record in played[name].values():
            record.pop("queued")
    assert len(played["1"]) == 16
    assert all(records == played["1"] for records in played.values())


@pytest.mark.slow
@pytest.mark.parametrize("how", SIGNALS)
def test_a_stop_awaits_the_answers_of_all_and_starts_no_more(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, recode: Run, workers: str, how: str
) -> None:
    for name in "abcdefgh":
        make_task(name)
    number, everyone = SIGNALS[how]
    each = 3 if workers == "-n2" else 6
    go, full = threading.Event(), threading.Event()

    def answer(request: Request) -> Answer:
        if request.number + 1 == 6:
            full.set()
        return say(RIGHT, wait=go)

    with ChatServer(answer) as server:
        with start(server.url, workers, f"--recode-in-flight={each}") as session:
            assert full.wait(_LONG)
            session.send(number, everyone=everyone)
            output = session.until("waiting up to 60 s")
            go.set()
            output += session.rest()
        asked = len(server.requests)
        print(output)
        assert asked == 6
        assert session.process.returncode == pytest.ExitCode.INTERRUPTED
        assert [line["prompt_tokens"] for line in ledger(pytester)] == [11] * 6
        lines = events(pytester)
        assert sum(event["event"] == "usage" for event in lines) == 6
        assert sum(event["event"] == "message" and event["content"] == RIGHT for event in lines) == 6
        assert sum(event["event"] == "interrupted" for event in lines) == 6
        assert "interrupted: 6 of 8 episodes, not counted in any share" in output
        assert "Traceback" not in output
        again = recode(
            *(workers, *ONE_SHOT, f"--recode-api-base={server.url}", f"--recode-in-flight={each}", "--recode-resume")
        )
        again.assert_outcomes(passed=8)
        assert len(server.requests) == 8  # answers that are booked are not asked for again


@pytest.mark.slow
def test_a_time_limit_ends_its_own_episode(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """The one whose answer does not come; the others go on, and are judged."""
    for name in ("quick", "slow", "steady"):
        make_task(name, files={"instruction.md": f"Write answer.py: {name}.\n"})
    pytester.makeconftest(
        "import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    for item in items:\n"
        "        if 'slow' in item.nodeid:\n            item.add_marker(pytest.mark.timeout(30))\n"
    )
    never = threading.Event()
    with ChatServer(lambda request: say(RIGHT, wait=never if ": slow." in request.prompt else None)) as server:
        result = recode("-n0", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=3")
    result.assert_outcomes(passed=2, errors=1)
    outcomes = {record["task"]: record["outcome"] for record in results()}
    assert outcomes == {"quick": "solved", "steady": "solved", "slow": "error"}
    [error] = [record["error"] for record in results() if record["error"]]
    assert error["kind"] == "model:timeout"
    assert_message(error["message"], "the limit of pytest-timeout (30 s) passed", "raise that limit")


@pytest.mark.slow
def test_the_first_failure_ends_the_session_in_order(
    make_task: MakeTask, recode: Run, results: Results, workers: str
) -> None:
    """-x: no new episode starts, and those in flight end and are recorded."""
    for number in range(6):
        make_task(f"task{number}", files={"instruction.md": f"Write answer.py: {number}.\n"})
    three = threading.Barrier(3)

    def answer(request: Request) -> Answer:
        if request.number < 3:
            three.wait(_LONG)
        return say(WRONG)

    with ChatServer(answer) as server:
        result = recode(
            "-n0", "-x", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=3", "--recode-turns=1"
        )
    result.assert_outcomes(failed=3)
    assert [record["outcome"] for record in results()] == ["unsolved"] * 3
    assert len(server.requests) == 3


@pytest.mark.slow
def test_reports_have_the_episodes_own_seconds(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    for number in range(4):
        make_task(f"task{number}")
    with ChatServer(Meets(4)) as server:
        recode(
            *("-n0", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=4", "--junit-xml=junit.xml"),
        )
    cases = ElementTree.parse(pytester.path / "junit.xml").getroot().iter("testcase")
    shown = {case.attrib["classname"]: float(case.attrib["time"]) for case in cases}
    recorded = {f"bench.{record['task']}.task.yaml": record["seconds"] for record in results()}
    assert len(recorded) == 4
    for name, seconds in recorded.items():
        assert shown[name] >= seconds


ALONE = """\
import pytest
from pytest_recode.agents import AgentKind
from pytest_recode.episode import Move
import threading

playing = threading.Semaphore()


class Alone:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        assert playing.acquire(blocking=False), "two at once"
        assert threading.current_thread() is threading.main_thread()
        workspace.write("answer.py", "def twice(x):\\n    return x + x\\n\\n\\ndef half(x):\\n    return x / 2\\n")
        playing.release()
        return Move(steps=1)


@pytest.hookimpl
def pytest_recode_agents():
    return {"alone": AgentKind(make=Alone, needs_model=False)}
"""


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--recode-agent=alone",), "the agent alone does not say that it can play several at once"),
        (("--recode-agent=noop", "-s"), "with -s, only one can use the terminal"),
    ],
)
@pytest.mark.mostly_slow
def test_one_at_a_time_is_said_once(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester, options: tuple[str, ...], why: str
) -> None:
    pytester.makeconftest(ALONE)
    for name in ("a", "b", "c"):
        make_task(name)
    result = recode("-n0", *options, "--recode-in-flight=4")
    line = f"one episode at a time in each process, not 4: {why}"
    assert words(result).count(line) == 1
    if "-s" not in options:
        result.assert_outcomes(passed=3)


HOOKS = """\
import threading


def pytest_recode_turn_finished(item, turn):
    assert threading.current_thread() is threading.main_thread()
    print("TURN", item.task.id, turn.number)
"""


@pytest.mark.slow
def test_hooks_are_called_in_the_main_thread(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(HOOKS)
    for name in ("a", "b", "c"):
        make_task(name)
    with ChatServer(lambda request: say(RIGHT if "Feedback on turn 1" in request.prompt else WRONG)) as server:
        result = recode("-n0", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=3", "-rA")
    result.assert_outcomes(passed=3)


def test_too_few_open_files_are_one_line_before_the_run(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    make_task("tiny")
    pytester.makeconftest(
        "import resource\n\nhard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))\n"
    )
    message = one_line(recode("-n0", "--recode-agent=noop", "--recode-in-flight=100", fresh=True))
    assert_message(
        message, "--recode-in-flight=100", "700 open files", "may have 512", "ulimit -n 700", "--recode-in-flight=68"
    )


BROKEN = """\
import logging
import threading

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes.process import KIND
from dataclasses import replace

import pytest


def broken(context):
    raise SandboxError("podman: the daemon is gone; start it")


@pytest.hookimpl
def pytest_recode_sandboxes():
    return {"broken": replace(KIND, make=broken, local=False)}


def pytest_warning_recorded(warning_message):
    assert threading.current_thread() is threading.main_thread()
"""


@pytest.mark.slow
def test_a_sandbox_that_cannot_be_made_is_each_episodes_error(
    make_task: MakeTask, recode: Run, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(BROKEN)
    for name in ("a", "b", "c"):
        make_task(name)
    result = recode("-n0", "--recode-agent=noop", "--recode-sandbox=broken", "--recode-in-flight=3", "--recode-out=out")
    assert "INTERNALERROR" not in words(result)
    assert words(result).count("podman: the daemon is gone; start it") >= 3
    assert result.ret == pytest.ExitCode.TESTS_FAILED


MIXED = """\
import pytest

made = []


@pytest.fixture(scope="module")
def costly():
    made.append(1)
    yield len(made)


def test_first(costly):
    assert costly == 1


def test_second(costly):
    assert costly == 1
"""


@pytest.mark.slow
def test_ordinary_tests_keep_their_fixtures(make_task: MakeTask, recode: Run, pytester: pytest.Pytester) -> None:
    make_task("tiny")
    pytester.makepyfile(test_before=MIXED, test_within=MIXED)
    make_task("other")
    with ChatServer(lambda _: say(RIGHT)) as server:
        result = recode(
            *("-n0", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=2"),
            *("bench/tiny", "test_before.py", "bench/other", "test_within.py"),
        )
    result.assert_outcomes(passed=6)


WAITS = """\
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def costly():
    yield 1


def test_quick(costly):
    assert costly


def test_waits(costly):
    Path(__file__).with_name("fifo").read_text()


def test_after(costly):
    raise AssertionError("it runs after the stop")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGTERM", "Ctrl-C"])
def test_a_stop_ends_an_ordinary_test_and_nothing_comes_after_it(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, workers: str, how: str
) -> None:
    pytester.makepyfile(test_plain=WAITS)
    os.mkfifo(pytester.path / "fifo")
    for name in "abc":
        make_task(name)
    number, everyone = SIGNALS[how]
    with (
        ChatServer(lambda _: say(RIGHT)) as server,
        start(server.url, workers, "--recode-in-flight=4", "bench/a", "test_plain.py", "bench/b", "bench/c") as session,
        (pytester.path / "fifo").open("w"),  # waits until the test reads
    ):
        session.send(number, everyone=everyone)
        output = session.rest() if workers == "-n0" else ""
        if workers != "-n0":
            output = session.until("waiting up to 60 s")
    print(output)
    if workers == "-n0":
        assert session.process.returncode == pytest.ExitCode.INTERRUPTED
        assert "test_plain.py::test_after" not in output
        assert "not torn down" not in output


RAISES = """\
def pytest_recode_turn_finished(item, turn):
    if item.task.id == "a":
        raise ValueError("a hook with a fault of its own")
"""


@pytest.mark.slow
def test_a_hook_that_raises_loses_no_episode(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(RAISES)
    for name in ("a", "b"):
        make_task(name)
    with ChatServer(lambda request: say(RIGHT if "Feedback on turn 1" in request.prompt else WRONG)) as server:
        result = recode("-n0", *ONE_SHOT, f"--recode-api-base={server.url}", "--recode-in-flight=2")
    result.assert_outcomes(passed=2, warnings=0)
    assert {record["task"]: record["outcome"] for record in results()} == {"a": "solved", "b": "solved"}
    assert words(result).count("the hook pytest_recode_turn_finished raised ValueError") == 1
