"""Time in which others used the CPUs is no time of the candidate's; what it does itself is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_recode.faults import MachineError
from pytest_recode.sandboxes import Sandbox
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


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Three busy processes for each CPU, each a session of its own, and none of this run's sandboxes."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command, start_new_session=True) for _ in range(3 * (os.cpu_count() or 1))]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.mark.usefixtures("busy_machine")
def test_an_honest_answer_beside_busy_processes_never_fails(sandbox: Sandbox) -> None:
    try:
        verdict = grade(sandbox, TESTS, HONEST, test_seconds=2)
    except MachineError:  # far busier than this test makes it
        return
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED]


@pytest.mark.parametrize("code", OWN_FAULT.values(), ids=OWN_FAULT)
def test_what_a_candidate_does_itself_is_its_own_fault(code: str, walls: Sandbox) -> None:
    verdict = grade(walls, TESTS, code, HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]


@pytest.mark.usefixtures("busy_machine")
def test_to_give_a_share_away_excuses_nothing(walls: Sandbox) -> None:
    verdict = grade(walls, TESTS, OWN_FAULT["gives its share away"], HONEST, test_seconds=2)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "timeout")]
