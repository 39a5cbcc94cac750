"""What could not be asked is an error, whatever limit ended it; and it is asked again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.clock import Wait
from pytest_recode.plugin.run.limits import LimitReached, Timer
from tests.chat_server import Answer, ChatServer, DeadServer, Request, dropped, fault, say, silent
from tests.messages import assert_message

from .conftest import words
from .test_models import HASTY, ONE_SHOT, RIGHT, WRONG, answers

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


ALARM = """\
import os
import signal
import threading

set_timer = signal.setitimer
rings = threading.Event()
wanted = []


def held(which, seconds, interval=0.0):
    wanted[:] = [seconds] if seconds else []
    return set_timer(which, seconds if rings.is_set() else 0.0, interval)


def ring():
    with open(os.environ["ASKED"]) as pipe:
        pipe.read()
    rings.set()
    if wanted:
        set_timer(signal.ITIMER_REAL, 0.3)


signal.setitimer = held
threading.Thread(target=ring, daemon=True).start()
"""


@pytest.fixture
def ring(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """In the sessions under test no alarm rings before this is called, from here or from one of them, and then at once."""
    pipe = pytester.path / "asked"
    os.mkfifo(pipe)
    monkeypatch.setenv("ASKED", str(pipe))
    pytester.makeconftest(ALARM)
    return lambda: pipe.open("w").close()


def asked(server: ChatServer | DeadServer) -> tuple[str, ...]:
    return (*ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}")


def no_traces(result: pytest.RunResult) -> None:
    text = words(result)
    for trace in ("Traceback", "site-packages", "Stack of", "+ Timeout +", "node down", "crashed", ".py:"):
        assert trace not in text


def hangs(ring: Callable[[], None]) -> Answer:
    ring()
    return silent()


def second_turn_hangs(request: Request) -> Answer:
    return silent() if "Feedback on turn" in request.prompt else say(WRONG)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["signal", "thread"])
@pytest.mark.parametrize("graded", [0, 1])
def test_a_limit_of_the_users_that_passes_while_a_model_is_asked_is_an_error(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    workers: str,
    method: str,
    graded: int,
    ring: Callable[[], None],
) -> None:
    make_task()
    with ChatServer(lambda request: hangs(ring) if request.number == graded else say(WRONG)) as server:
        result = recode(workers, *asked(server), "--timeout=1", f"--timeout-method={method}")
        assert len(server.requests) == graded + 1
    result.assert_outcomes(errors=1)
    [record] = results()
    assert (record["outcome"], record["stop"], len(record["turns"])) == ("error", "error", graded)
    assert record["error"] == {
        "kind": "model:timeout",
        "message": "model local: timeout: it had not answered when the limit of pytest-timeout (1 s) passed: raise that"
        " limit, or lower --recode-call-seconds",
    }
    no_traces(result)
    assert "errors, each cause shown once above: 1x the model did not answer in time (model:timeout)" in words(result)
    assert "local escalate 0/0 - -" in words(result)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "asked_for"), [((), 2), (("--recode-limit=local=concurrency:1",), 1)])
def test_a_call_that_never_ends_keeps_the_next_episode_waiting_only_where_the_user_limits_the_calls(
    make_task: MakeTask, recode: Run, results: Results, limit: tuple[str, ...], asked_for: int
) -> None:
    make_task("one")
    make_task("two")
    with ChatServer(lambda _: silent()) as server:
        result = recode("-n0", *asked(server), *limit, "--timeout=3")
        assert len(server.requests) == asked_for
    result.assert_outcomes(errors=2)
    first, second = (each["error"]["message"] for each in results() if each["error"])
    assert "it had not answered when" in first
    assert_message(second, "model local", "raise that limit")
    assert ("it was not asked yet when" in second) is (asked_for == 1)


@pytest.mark.slow
def test_a_limit_that_passes_while_a_model_is_about_to_be_asked_again_is_an_error(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    workers: str,
    monkeypatch: pytest.MonkeyPatch,
    ring: Callable[[], None],
) -> None:
    make_task()
    monkeypatch.setenv("PYTEST_TIMEOUT", "1")

    def busy(request: Request) -> Answer:
        if request.number:
            ring()
        return fault(429, "slow down", retry_after="100" if request.number else "0.01")

    with ChatServer(busy) as server:
        result = recode(workers, *asked(server))
    [record] = results()
    assert (record["outcome"], record["error"]["kind"]) == ("error", "model:timeout")
    assert record["waited"] > 0
    no_traces(result)


WAITS = """\
import fcntl

flock = fcntl.flock
told = []


def about_to_wait(file, how):
    if how == fcntl.LOCK_EX:
        try:
            return flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            place = os.readlink(f"/proc/self/fd/{file if isinstance(file, int) else file.fileno()}")
            if "/first-turns/" in place:
                rings.set()
                set_timer(signal.ITIMER_REAL, 0.3)
    return flock(file, how)


fcntl.flock = about_to_wait


def pytest_runtest_logreport(report):
    if hasattr(report, "node") and "summary" in getattr(report, "recode", {}) and not told:
        told.append(report)
        open(os.environ["TOLD"], "w").close()  # returns once the other worker has asked
"""


@pytest.mark.slow
def test_a_limit_that_passes_while_another_workers_first_turn_is_waited_for_is_an_error(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    ring: Callable[[], None],
) -> None:
    """The alarm of the worker that waits rings once it waits, and that of the other one, which has asked, when the first has reported."""
    make_task()
    pytester.makeconftest(ALARM + WAITS)
    signal = pytester.path / "told"
    os.mkfifo(signal)
    monkeypatch.setenv("TOLD", str(signal))

    def hangs_once_told(_: Request) -> Answer:
        signal.read_bytes()
        return hangs(ring)

    with ChatServer(hangs_once_told) as server:
        result = recode("-n2", *asked(server), "--recode-feedback=L0", "--recode-feedback=L1", "--timeout=1")
        assert len(server.requests) == 1
    assert [record["error"]["kind"] for record in results()] == ["time", "model:timeout"]
    assert results()[0]["error"]["message"] == (
        "the limit of pytest-timeout (1 s) passed while the episode waited for the first turn, which another worker plays:"
        " raise that limit"
    )
    no_traces(result)


STUCK = """\
import os
import signal

from pytest_recode.agents import AgentKind
from pytest_recode.faults import SandboxError


class Stuck:
    def __init__(self, context):
        pass

    def act(self, brief, feedback, workspace):
        try:
            open(os.environ["ASKED"], "w").close()
            while True:
                signal.pause()
        finally:
            raise SandboxError("its sandbox could not be ended")


STUCK = AgentKind(make=Stuck, needs_model=False)
"""


@pytest.mark.slow
def test_a_sandbox_that_cannot_be_ended_after_a_limit_does_not_take_its_place(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, ring: Callable[[], None]
) -> None:
    make_task()
    pytester.makepyfile(stuck_agent=STUCK)
    pytester.syspathinsert()
    recode("-n0", "--recode-agent=stuck_agent:STUCK", "--recode-out=out", "--timeout=1").assert_outcomes(errors=1)
    assert [record["error"] for record in results()] == [
        {
            "kind": "time",
            "message": "the limit of pytest-timeout (1 s) passed before a turn was graded: raise that limit",
        }
    ]


OTHER = """\
import os
import threading

from pytest_recode.models import ModelKind


class Hangs:
    simulated = native_tools = False

    def __init__(self, context):
        self.name = context.name

    def complete(self, messages, *, tools=(), schema=None):
        open(os.environ["ASKED"], "w").close()
        threading.Event().wait()


def pytest_recode_models():
    return {"other": ModelKind(make=Hangs, check=lambda context: None)}
"""


@pytest.mark.slow
def test_a_model_of_somebody_elses_that_hangs_is_an_error(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester, ring: Callable[[], None]
) -> None:
    """Whether it tells the ledger of its tries or not."""
    make_task()
    pytester.makeconftest(ALARM + OTHER)
    recode("-n0", *ONE_SHOT, "--recode-model=other", "--timeout=1").assert_outcomes(errors=1)
    assert [record["error"]["kind"] for record in results()] == ["model:timeout"]
    assert_message(results()[0]["error"]["message"], "model other", "it had not answered when")


def test_the_items_own_limit_stands_still_during_a_wait() -> None:
    """An alarm in the middle of a wait is none; the same after it ends the item, and says that nothing was waited for."""

    def work() -> None:
        with Timer().working(0.001) as clock:
            with clock.stopped(Wait(what="model local", model="local")):
                signal.raise_signal(signal.SIGALRM)
            while True:
                signal.pause()

    with pytest.raises(LimitReached) as caught:
        work()
    assert caught.value.wait is None
    assert caught.value.fault(turns=1) is None
    assert caught.value.fault(turns=0) == {
        "kind": "time",
        "message": "the time limit of this item (0.001 s) passed before a turn was graded: raise that limit",
    }
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_the_items_own_limit_begins_anew_with_each_grading() -> None:
    timer = Timer()
    with timer.working(1000.0):
        signal.setitimer(signal.ITIMER_REAL, 1.0)  # nearly all of it has passed
        timer.restart()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 500.0
    timer.restart()
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


BAD = {
    "hangs": (lambda _: silent(), "timeout", "no complete answer within 3 s"),
    "drips": (lambda _: Answer(drip=True), "timeout", "no complete answer within 3 s"),
    "is overloaded": (lambda _: fault(429, "slow down"), "rate-limit", "slow down"),
    "asks for patience": (lambda _: fault(429, "slow down", retry_after="0.01"), "rate-limit", "slow down"),
    "breaks": (lambda _: fault(500, "broken"), "server", "broken"),
    "is cut": (lambda _: dropped("middle"), "connection", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "kind", "detail"), BAD.values(), ids=BAD)
def test_a_server_that_does_not_answer_is_an_error_however_long_it_took(
    make_task: MakeTask,
    recode: Run,
    results: Results,
    pytester: pytest.Pytester,
    script: Callable[[Request], Answer],
    kind: str,
    detail: str,
) -> None:
    """The episode's time limit has long passed by then."""
    pytester.makeconftest(HASTY)
    make_task(manifest="limits: {episode_seconds: 0.5}\n")
    with ChatServer(script) as server:
        result = recode("-n0", *asked(server), "--recode-call-seconds=3")
        assert len(server.requests) == (2 if kind == "timeout" else 6)
    result.assert_outcomes(errors=1)
    [record] = results()
    assert record["turns"] == []
    assert record["error"]["kind"] == f"model:{kind}"
    assert record["error"]["message"].startswith(f"model local: {kind}: {detail}")
    assert record["settings"]["call_seconds"] == 3
    no_traces(result)


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 404])
def test_resume_asks_again_with_the_key_that_was_corrected(
    make_task: MakeTask, recode: Run, results: Results, workers: str, status: int
) -> None:
    for name in ("a", "b"):
        make_task(name)
    with ChatServer(lambda _: fault(status, "no such key or model")) as server:
        recode("-n0", *asked(server)).assert_outcomes(errors=2)
        assert len(server.requests) == 1
        recode(workers, *asked(server), "--recode-resume").assert_outcomes(errors=2)
        assert 1 < len(server.requests) <= (2 if workers == "-n0" else 3), "asked once more, by each worker at most"
        server.script = answers
        recode(workers, *asked(server), "--recode-resume").assert_outcomes(passed=2)
    assert [record["outcome"] for record in results()] == ["solved", "solved"]


@pytest.mark.slow
def test_resume_waits_anew_for_an_address_that_the_run_before_gave_up(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(HASTY)
    make_task()
    with DeadServer() as dead:
        for resume in ([], ["--recode-resume"]):
            result = recode("-n0", *asked(dead), *resume)
            assert "(gave up after 6 tries in " in results()[0]["error"]["message"]
            assert "trying again for up to 5 s" in words(result)
    lines = map(json.loads, (pytester.path / "out/spending.jsonl").read_text().splitlines())
    assert [line["reach"] for line in lines if "reach" in line] == ["waiting", "lost"] * 2


@pytest.mark.slow
def test_resume_takes_another_limit_of_a_call(
    make_task: MakeTask, recode: Run, results: Results, pytester: pytest.Pytester
) -> None:
    """A shared first turn, too, is the same under another limit."""
    pytester.makeconftest(HASTY)
    make_task()
    with ChatServer(second_turn_hangs) as server:
        recode("-n0", *asked(server), "--recode-call-seconds=5").assert_outcomes(errors=1)
        server.script = lambda _: say(RIGHT)
        before = len(server.requests)
        recode("-n0", *asked(server), "--recode-resume", "--recode-call-seconds=60").assert_outcomes(passed=1)
        assert len(server.requests) == before + 1
    assert results()[0]["solved_turn"] == 2
