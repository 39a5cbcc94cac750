"""Ctrl-C and SIGTERM in the middle of a request: no other is sent, its answer is awaited and booked, and the summary is there.

The sessions are processes forked from one that has imported litellm. Each tells its own pid, by which it is sent real signals.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.chat_server import Answer, ChatServer, Request, say

RIGHT = "```python answer.py\ndef twice(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n```\n"
TASKS = ("a", "b", "c", "d", "e", "f")
MakeTask = Callable[..., Path]
_LONG = 300  # seconds: a broken test ends some time


class Holds:
    """A provider that answers the first `free` requests, and every other once `go` is set. `full`: as many wait as are to."""

    def __init__(self, free: int, held: int) -> None:
        self._free, self._held = free, held
        self.go, self.full = threading.Event(), threading.Event()
        self.server = ChatServer(self._answer)

    def _answer(self, request: Request) -> Answer:
        if request.number + 1 == self._free + self._held:
            self.full.set()
        return say(RIGHT, wait=None if request.number < self._free else self.go)


PIDS = """\
import os
from pathlib import Path


def pytest_configure(config):
    kind = "worker" if hasattr(config, "workerinput") else "controller"
    Path(__file__).with_name(f"{kind}-{os.getpid()}.pid").touch()
"""


class Session:
    """One that runs. `send` is to its controlling process alone, or to all of its processes as to a process group."""

    def __init__(self, place: Path, process: subprocess.Popen[str]) -> None:
        self._place = place
        self.process = process

    def send(self, number: int, *, everyone: bool) -> None:
        found = sorted(self._place.glob("*.pid"))  # the controller comes first
        for path in found if everyone else found[:1]:
            os.kill(int(path.stem.partition("-")[2]), number)

    def until(self, word: str) -> str:
        """What it prints up to the line with `word`."""
        assert self.process.stdout is not None
        output = ""
        for line in self.process.stdout:
            output += line
            if word in line:
                return output
        raise AssertionError(output)

    def rest(self) -> str:
        return self.process.communicate(timeout=_LONG)[0]


Start = Callable[..., AbstractContextManager[Session]]


@pytest.fixture
def start(pytester: pytest.Pytester, quick_python: tuple[str, ...]) -> Start:
    pytester.makeconftest(PIDS)

    @contextmanager
    def started(url: str, *args: str, agent: str = "one-shot") -> Iterator[Session]:
        for path in pytester.path.glob("*.pid"):
            path.unlink()
        command = [
            *(
                *quick_python,
                "-m",
                "pytest",
                "-v",
                "-p",
                nursery.PLUGIN,
                "-p",
                "no:cacheprovider",
                "--recode-sandbox=process",
            ),
            *(f"--recode-agent={agent}", "--recode-out=out", "--recode-model=local", f"--recode-api-base={url}", *args),
        ]
        with subprocess.Popen(
            command, cwd=pytester.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                yield Session(pytester.path, process)
            finally:
                if process.poll() is None:
                    process.kill()

    return started


def ledger(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    lines = (pytester.path / "out/spending.jsonl").read_text().splitlines()
    return [entry for line in lines if "model" in (entry := json.loads(line))]


def events(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    files = sorted((pytester.path / "out/episodes").iterdir())
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


SIGNALS = {
    "SIGTERM": (signal.SIGTERM, False),
    "SIGTERM-group": (signal.SIGTERM, True),
    "Ctrl-C": (signal.SIGINT, True),  # as a terminal sends it
    "SIGHUP": (signal.SIGHUP, True),  # as a terminal sends it that is closed
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SIGNALS)
def test_the_answers_under_way_are_booked_and_no_more_is_asked(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, workers: str, how: str
) -> None:
    for name in TASKS:
        make_task(name)
    number, everyone = SIGNALS[how]
    busy = 2 if workers == "-n2" else 1
    holds = Holds(free=1, held=busy)
    with holds.server as server, start(server.url, workers) as session:
        assert holds.full.wait(_LONG)
        session.send(number, everyone=everyone)
        output = session.until("waiting up to 60 s")
        holds.go.set()
        output += session.rest()
        asked = len(server.requests)
    print(output)
    assert asked == 1 + busy
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    assert [line["prompt_tokens"] for line in ledger(pytester)] == [11] * asked
    found = events(pytester)
    assert sum(event["event"] == "usage" for event in found) == asked
    # each answer is in the transcript, word for word
    assert sum(event["event"] == "message" and event["content"] == RIGHT for event in found) == asked
    assert sum(event["event"] == "interrupted" for event in found) == busy
    assert f"interrupted: {busy} of 6 episodes, not counted in any share" in output
    assert f"not played: {5 - busy} of 6 episodes" in output
    tokens = sum(line["prompt_tokens"] + line["completion_tokens"] for line in ledger(pytester))
    assert f"spending: {tokens} tokens, " in output
    assert "--recode-resume" in output
    assert "1/1" in output  # solved
    [last] = [line for line in output.splitlines() if line.startswith("!")]
    assert f"Interrupted: stopped by {how.removesuffix('-group')}" in last
    assert "Traceback" not in output
    assert "crashed" not in output


SHORT = """

from pytest_recode import stopping

stopping.AWAITED = 1.0
"""


@pytest.mark.parametrize("how", ["SIGTERM", "Ctrl-C"])
@pytest.mark.slow
def test_an_answer_that_never_comes_is_awaited_for_a_bounded_time(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, workers: str, how: str
) -> None:
    """One signal is enough: CI systems send no second one that a program could use."""
    for name in TASKS:
        make_task(name)
    pytester.makeconftest(PIDS + SHORT)
    number, everyone = SIGNALS[how]
    busy = 2 if workers == "-n2" else 1
    holds = Holds(free=1, held=busy)
    with holds.server as server:
        with start(server.url, workers) as session:
            assert holds.full.wait(_LONG)
            session.send(number, everyone=everyone)
            output = session.rest()
            asked = len(server.requests)
        holds.go.set()
    assert asked == 1 + busy
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    unanswered = [line.get("unanswered", "") for line in ledger(pytester)]
    assert sorted(unanswered) == ["", *["cut off"] * busy], "what may have been paid for without an answer"
    assert f"interrupted: {busy} of 6 episodes, not counted in any share" in output
    assert f"{busy} request{'s' if busy > 1 else ''} without an answer" in output
    assert "Traceback" not in output


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["one-shot", "recode", "recode-h"])
def test_the_answer_that_a_stop_waited_for_is_used_and_counted_once(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, agent: str
) -> None:
    """`usage` of the record has its cost, and no answer is counted as abandoned."""
    make_task("a")
    holds = Holds(free=0, held=1)
    steps = [] if agent == "one-shot" else ["--recode-steps=2"]
    options = ("--recode-turns=1", *steps)
    with holds.server as server:
        with start(server.url, *options, agent=agent) as session:
            assert holds.full.wait(_LONG)
            session.send(signal.SIGTERM, everyone=False)
            session.until("waiting up to 60 s")
            holds.go.set()
            session.rest()
        assert len(server.requests) == 1
        assert list((pytester.path / "out/answers").iterdir())
        with start(server.url, *options, "--recode-resume", agent=agent) as session:
            session.rest()
    [record] = [json.loads(line) for line in (pytester.path / "out/results.jsonl").read_text().splitlines()]
    assert record["abandoned"] == {"steps": 0, "unparsed": 0, "asked_again": 0}
    answers = sum(turn["steps"] + turn["asked_again"] for turn in record["turns"])
    assert answers == record["usage"]["prompt_tokens"] / 11 == len(server.requests) == len(ledger(pytester))
    found = [event["event"] for event in events(pytester)]
    assert (found.count("usage"), found.count("reused"), found.count("step")) == (answers, 1, answers + 1)
    assert not list((pytester.path / "out/answers").iterdir()), "kept only until there is a verdict"


@pytest.mark.slow
def test_what_was_cut_short_is_played_on_and_not_paid_twice(make_task: MakeTask, start: Start) -> None:
    for name in TASKS[:2]:
        make_task(name)
    holds = Holds(free=1, held=1)
    with holds.server as server:
        with start(server.url) as session:
            assert holds.full.wait(_LONG)
            session.send(signal.SIGTERM, everyone=False)
            session.until("waiting up to 60 s")
            holds.go.set()
            session.rest()
        before = len(server.requests)
        with start(server.url, "--recode-resume") as session:
            output = session.rest()
        assert len(server.requests) == before
    print(output)
    assert session.process.returncode == 0
    assert "2/2" in output
    assert "interrupted" not in output


@pytest.mark.slow
def test_a_second_ctrl_c_ends_the_wait(
    make_task: MakeTask, pytester: pytest.Pytester, start: Start, workers: str
) -> None:
    for name in TASKS:
        make_task(name)
    busy = 2 if workers == "-n2" else 1
    holds = Holds(free=0, held=busy)
    with holds.server as server, start(server.url, workers) as session:
        assert holds.full.wait(_LONG)
        session.send(signal.SIGINT, everyone=True)
        session.until("waiting up to 60 s")
        session.send(signal.SIGINT, everyone=True)
        output = session.rest()
        asked = len(server.requests)  # none was answered
    print(output)
    assert asked == busy
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    assert f"interrupted: {busy} of 6 episodes" in output
    assert all("prompt_tokens" not in line for line in ledger(pytester))
    assert f"spending: {busy} request" in output


HANDLER = """\
import signal


def mine(number, frame):
    print("HANDLED", flush=True)


signal.signal(signal.SIGTERM, mine)


def pytest_unconfigure():
    print("OURS" if signal.getsignal(signal.SIGTERM) is mine else "ANOTHER")
"""
DURING = """\
import signal


def pytest_runtest_call(item):
    print("TERM", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)


def pytest_unconfigure():
    print("AFTER", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
"""


@pytest.mark.slow
def test_a_ctrl_c_while_pytest_ends_the_session_is_one_line(
    make_task: MakeTask, recode: Callable[..., pytest.RunResult], workers: str, pytester: pytest.Pytester
) -> None:
    """As when it is pressed twice: the second one arrives while pytest handles the first, which shows nothing of the first then."""
    make_task()
    pytester.makeconftest(
        """
        import os, signal

        def pytest_runtest_logstart():
            os.kill(os.getpid(), signal.SIGINT)

        def pytest_keyboard_interrupt():
            raise KeyboardInterrupt
        """
    )
    result = recode(workers, "--recode-model=sim/novice", "--recode-out=out", fresh=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [line[:20] for line in result.errlines if line] == ["recode: Ctrl-C again"]
    assert "Traceback" not in result.stdout.str()


@pytest.mark.slow
def test_a_session_without_a_model_has_its_signals_untouched(
    make_task: MakeTask, pytester: pytest.Pytester, recode: Callable[..., pytest.RunResult]
) -> None:
    make_task("a")
    pytester.makeconftest(DURING)
    pytester.makepyfile("def test_one():\n    pass\n")
    text = recode("-s", "--recode-agent=reference", "--recode-out=out", fresh=True).stdout.str()
    assert text.count("TERM True") == 2
    assert "AFTER True" in text


@pytest.mark.slow
def test_a_handler_of_somebody_elses_is_there_again_after_the_run(
    make_task: MakeTask, pytester: pytest.Pytester, recode: Callable[..., pytest.RunResult]
) -> None:
    make_task("a")
    pytester.makeconftest(HANDLER)
    text = recode("-s", "--recode-model=sim/expert", "--recode-out=out", fresh=True).stdout.str()
    assert "OURS" in text
