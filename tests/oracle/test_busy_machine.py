"""Time in which others used the CPUs is no time of the candidate's; what it does itself is."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from pytest_recode.faults import MachineError
from pytest_recode.inside.runtime import starvation
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.oracle import patience
from pytest_recode.sandboxes import Connection, Program, Sandbox, SandboxContext, bubblewrap, control_groups
from pytest_recode.task import Environment, Limits
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade

TESTS = "def test_f(candidate):\n    assert candidate.m.f(1.5) == 1.5"
HONEST = """
    import time
    def f(x):
        start = time.process_time()
        while time.process_time() - start < x:
            pass
        return x
"""
OWN_FAULT = {
    "sleeps": "import time\ndef f(x):\n    time.sleep(60)",
    "gives its share away": "import os\ndef f(x):\n    os.nice(19)\n    while True: pass",
    "starves itself": """
        import os
        def f(x):
            for n in range(30):
                if not os.fork():
                    while True: pass
            while True: pass
    """,
    "starves itself by processes that nobody waits for": """
        import os, signal, time
        def busy(seconds):
            end = time.process_time() + seconds
            while time.process_time() < end: pass
        def f(x):
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            while True:
                for n in range(30):
                    if not os.fork():
                        busy(0.02)
                        os._exit(0)
                busy(0.001)
                time.sleep(0.02)
    """,
}
NAMED_BY_BYTES = """
    import ctypes
    def f(x):
        ctypes.CDLL(None).prctl(15, b"\\xff\\xfe\\xff", 0, 0, 0)
        while True: pass
"""
MONITOR = """
import ctypes, os, signal, struct, sys, time
from pytest_recode.inside.runtime import monitor

def forge(code, sender):
    info = struct.pack("iiiiii", signal.SIGUSR1, 0, code, 0, sender, os.getuid()) + bytes(104)
    return ctypes.CDLL(None).syscall(129, os.getppid(), signal.SIGUSR1, info)

signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
host = os.getppid()
payload = os.fork()
if not payload:
    assert forge(0, host) == -1  # the code of `kill`, which the kernel refuses
    assert forge(-1, 0) == forge(-1, host) == 0
    os.kill(os.getppid(), signal.SIGUSR1)
    os._exit(0)
how = monitor.watch(payload, monitor.LaunchLimits(1024, 64, 64, True), lambda: [], answer=lambda waited: print("forged"))
payload = os.fork()
if not payload:
    print("ask", flush=True)
    sys.stdin.read()
    os._exit(0)
os.close(0)
monitor.watch(payload, monitor.LaunchLimits(1024, 64, 64, True), lambda: [], answer=lambda waited: print("answered", flush=True))
print(how, flush=True)
os._exit(0)
"""
ANSWERS_THEN = """
    import os, signal, time
    def f(x):
        if x.size > 1: time.sleep(60)
        time.sleep(0.4)
        if x[0] == 3: HANG
        return x
"""
ONE_BY_ONE = """
    import numpy as np, pytest
    @pytest.mark.parametrize("x", [0, 1, 2, 3, 4])
    def test_f(candidate, x):
        given = np.full(1_000_000 if x == 4 else 1, x)
        assert candidate.m.f(given)[0] == x
"""
STOPS_ITSELF = "me = os.getpid(); os.fork() or (time.sleep(0.02), os.kill(me, signal.SIGSTOP), os._exit(0))"
STARVES_ITS_GRADER = """
    import os, time
    def f(x):
        for n in range(60):
            if not os.fork():
                os.setsid()
                time.sleep(1.5)
                while True: pass
        return x
"""
MANY = """
    import pytest
    @pytest.mark.parametrize("x", range(14))
    def test_f(candidate, x):
        assert candidate.m.f(x) == x
"""
LONG_TEST = """
    import time
    def test_f(candidate):
        assert candidate.m.f(1.5) == 1.5
        while time.process_time() < 30: pass
"""


LOWERS_ITS_SESSION = """
    def f(x):
        with open("/proc/self/autogroup", "w") as file:
            file.write("19")
        while True: pass
"""


class OneCandidate:
    """A sandbox whose candidates are launched in another one."""

    def __init__(self, sandbox: Sandbox, other: Sandbox) -> None:
        self._sandbox, self._other = sandbox, other
        self.name, self.isolation = sandbox.name, sandbox.isolation

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        where = self._other if program.name == "candidate" else self._sandbox
        return where.launch(program, environment, limits)

    def ready(self, environment: Environment) -> None: ...

    def close(self) -> None: ...


class WaitedBefore:
    """A sandbox in which programs had to wait for others for the first `seconds` after their launch."""

    def __init__(self, sandbox: Sandbox, seconds: float, programs: Sequence[str] = ("grader", "candidate")) -> None:
        self._sandbox, self._seconds, self._programs = sandbox, seconds, programs
        self.name, self.isolation = sandbox.name, sandbox.isolation

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        connection, since = self._sandbox.launch(program, environment, limits), time.monotonic()
        if program.name not in self._programs:
            return connection

        def samples() -> Sequence[Sample]:
            now = time.monotonic()
            at = [since + n / 100 for n in range(int((now - since) * 100))] + [now]
            return [Sample(each, min(each - since, self._seconds), 0.0, -1.0) for each in at]

        connection.waited = samples  # type: ignore[method-assign]
        return connection

    def close(self) -> None: ...


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Three busy processes for each CPU, each a session of its own, and none of this run's sandboxes."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True) for _ in range(3 * (os.cpu_count() or 1))]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("busy_machine")
def test_an_honest_answer_beside_busy_processes_never_fails(sandbox: Sandbox) -> None:
    try:
        verdict = grade(sandbox, TESTS, HONEST, test_seconds=2)
    except MachineError:  # far busier than this test makes it
        return
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED]


@pytest.mark.slow
@pytest.mark.parametrize("code", OWN_FAULT.values(), ids=OWN_FAULT)
def test_what_a_candidate_does_itself_is_its_own_fault(code: str, walls: Sandbox) -> None:
    verdict = grade(walls, TESTS, code, HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]


@pytest.mark.slow
@pytest.mark.usefixtures("busy_machine")
@pytest.mark.parametrize(
    "code", [OWN_FAULT["gives its share away"], "def f(x):\n    while True: pass"], ids=["nice", "hang"]
)
def test_a_hang_beside_busy_processes_is_a_failed_case(code: str, walls: Sandbox) -> None:
    verdict = grade(walls, TESTS, code, HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]


@pytest.mark.slow
def test_a_thread_may_have_a_name_of_any_bytes(every_sandbox: Sandbox) -> None:
    verdict = grade(every_sandbox, TESTS, NAMED_BY_BYTES, HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the number of rt_sigqueueinfo")
def test_the_monitor_answers_the_host_and_no_forged_question() -> None:
    command = [sys.executable, "-c", MONITOR]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        process.send_signal(signal.SIGUSR1)
        lines.append(process.stdout.readline())
        process.stdin.close()
        lines += process.stdout
    assert lines == ["ask\n", "answered\n", "exited with status 0\n"]


@pytest.mark.slow
@pytest.mark.parametrize("hang", ["time.sleep(0)", STOPS_ITSELF], ids=["sleeps", "reads no request"])
def test_what_it_waited_in_earlier_cases_is_no_excuse(hang: str, walls: Sandbox) -> None:
    code = ANSWERS_THEN.replace("HANG", hang)
    verdict = grade(WaitedBefore(walls, 1.6), ONE_BY_ONE, code, "def f(x): return x", test_seconds=0.5)
    assert (verdict.cases[-1].outcome, verdict.cases[-1].kind) == (Outcome.FAILED, "timeout")


@pytest.mark.slow
def test_short_cases_on_a_busy_machine_do_not_use_up_the_time_of_the_grading(walls: Sandbox) -> None:
    code = "import time\ndef f(x):\n    time.sleep(0.25)\n    return x"
    verdict = grade(WaitedBefore(walls, 1000), MANY, code, test_seconds=2, grading_seconds=2)
    assert {case.outcome for case in verdict.cases} == {Outcome.PASSED}
    verdict = grade(walls, MANY, code, test_seconds=2, grading_seconds=2)
    assert [case.kind for case in verdict.cases].count("timeout") > 1


@pytest.mark.slow
def test_a_grader_that_others_starve_is_no_fault_of_a_living_candidate(
    docker_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container always has a control group, which counts what the candidate has used."""
    monkeypatch.setattr(patience, "MOST_SECONDS", 5.0)
    monkeypatch.setattr(patience, "MOST", 0.5)
    with pytest.raises(MachineError, match="the grader was ready to run"):
        grade(WaitedBefore(docker_sandbox, 1000, ["grader"]), LONG_TEST.replace("1.5", "0.1"), HONEST, test_seconds=1)


@pytest.mark.parametrize("end", [0.0, 14.3, 1003.7, 3e6 + 0.1])
def test_samples_are_dense_where_they_are_new(end: float) -> None:
    ages = iter([n / 20 for n in range(20_000, 0, -1)])
    history = starvation.SampleHistory(lambda: Sample(end - (age := next(ages)), 1000 - age, 0.0, 2 * (1000 - age)))
    for _ in range(20_000):
        samples = list(history.samples())
    assert len(samples) <= 130
    for age in (0.5, 5, 50, 500):
        assert starvation.waited(samples, end - age) == pytest.approx(age, rel=0.25)
        assert starvation.waited(samples, end - age) <= age
        assert starvation.used(samples, end - age) == pytest.approx(2 * age, rel=0.25)
    assert starvation.used(samples, end - 2000) == pytest.approx(2000, rel=0.01)
    assert starvation.used([], end) is None


def test_what_a_thread_waited_before_it_counts_is_no_excuse() -> None:
    samples = [Sample(10.0, 1.0, 50.0, -1.0), Sample(11.0, 51.0, 0.0, -1.0)]
    assert starvation.waited(samples, 9.0) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("groups", [True, False], ids=["control group", "no control group"])
def test_a_candidate_that_starves_its_own_grader_fails(
    walls: Sandbox, monkeypatch: pytest.MonkeyPatch, groups: bool
) -> None:
    if not groups:
        monkeypatch.setattr(control_groups, "hierarchies", tuple)
    monkeypatch.setattr(patience, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(patience, "MOST", 0.5)
    verdict = grade(walls, LONG_TEST, STARVES_ITS_GRADER, "def f(x): return x", test_seconds=4)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]


@pytest.mark.slow
@pytest.mark.usefixtures("busy_machine")
def test_a_share_that_its_session_gives_away_excuses_nothing(walls: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where bubblewrap permits no nested namespaces, a program can write to /proc."""
    monkeypatch.setattr(control_groups, "hierarchies", tuple)
    monkeypatch.setattr(patience, "MOST_SECONDS", 1.0)
    monkeypatch.setattr(patience, "MOST", 0.5)
    context = SandboxContext(run="busy", python=sys.executable)
    with closing(bubblewrap.Bubblewrap(context, cold=True)) as cold:
        verdict = grade(OneCandidate(walls, cold), TESTS, LOWERS_ITS_SESSION, HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]
