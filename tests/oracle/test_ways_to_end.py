"""pytest's ways to end and to report, where a grader waits in the middle of a session and where it starts one; and sandboxes that fail."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_recode.faults import GraderError, SandboxError
from pytest_recode.inside.runtime import linux_isolation
from pytest_recode.oracle.patience import Patience
from pytest_recode.oracle.switchboard import Switchboard
from pytest_recode.sandboxes import Connection, Program, Sandbox, SandboxContext
from pytest_recode.task import Environment, Limits
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import ENVIRONMENT, KINDS, grade, only
from tests.oracle.shared_papers import graded

ANSWER = "def f(x):\n    return x + 1\n"
FIRST = "def test_a(candidate):\n    assert candidate.m.f(1) == 2\n"
LAST = "def test_z(candidate):\n    assert candidate.m.f(2) == 3\n"
RUN = f"killed-on-purpose-{uuid4().hex}"
ENDS = [
    "pytest.exit('x')",
    "raise KeyboardInterrupt",
    "raise request.session.Interrupted('x')",
    "raise request.session.Failed('x')",
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.mostly_slow
def test_a_session_that_ends_in_a_test_leaves_the_rest_to_another(every_sandbox: Sandbox, end: str) -> None:
    middle = f"import pytest\ndef test_b(candidate, request):\n    candidate.m.f(1)\n    {end}\n"
    cases = grade(every_sandbox, FIRST + middle + LAST, ANSWER).cases
    assert [(case.id.partition("::")[2], case.outcome.value) for case in cases] == [
        ("test_a", "passed"),
        ("test_b", "failed"),
        ("test_z", "passed"),
    ]


@pytest.mark.invariant("only-evidence-passes")
@pytest.mark.parametrize("end", ["sys.exit(0)", "raise KeyboardInterrupt", "pytest.exit('x', returncode=0)", "1/0"])
@pytest.mark.parametrize("where", ["test_m.py", "conftest.py", "sub/conftest.py"])
@pytest.mark.mostly_slow
def test_what_ends_while_tests_are_collected_is_their_authors(sandbox: Sandbox, where: str, end: str) -> None:
    tests = {"test_m.py": FIRST, "sub/test_n.py": LAST}
    tests[where] = f"import pytest, sys\n{end}\n" + tests.get(where, "")
    with pytest.raises(GraderError, match=r"could not start|pytest failed|cannot be collected|grader exited"):
        grade(sandbox, tests, ANSWER)


def test_what_a_session_finds_is_the_same_wherever_it_began(bare: Sandbox, bubblewrap_sandbox: Sandbox) -> None:
    tests = {
        "helper.py": "import random\nDRAWN = random.random()\n",
        "sub/test_x.py": """
            import helper, numpy, random, sys
            def test_a(candidate, request, rng):
                config = request.config
                seen = [helper.DRAWN, random.random(), float(numpy.random.random()), float(rng.random())]
                plugins = config.pluginmanager.list_name_plugin()
                seen += [sorted(str(name) for name, found in plugins if found and not str(name).isdigit())]
                seen += [str(config.rootpath)[-5:], request.session.testscollected, len(sys.meta_path), sys.argv]
                raise AssertionError((seen, candidate.m.f(1)))
        """,
        "__init__.py": "import sys\nsys.path.insert(0, __path__[0])\n",
        "sub/__init__.py": "",
    }
    cases = [only(grade(sandbox, tests, ANSWER, seed=7)) for sandbox in (bare, bubblewrap_sandbox)]
    assert [case.outcome for case in cases] == [Outcome.FAILED, Outcome.FAILED]
    assert "AssertionError" in cases[0].message
    assert cases[0].message == cases[1].message


UNITTEST = """
    import unittest
    import pytest

    class TestF(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def given(self, candidate):
            self.candidate = candidate

        def test_f(self):
            for n in (1, 2):
                with self.subTest(n=n):
                    self.assertEqual(self.candidate.m.f(n), n + 1)
"""
SUBTESTS = """
    def test_f(candidate, subtests):
        for n in (1, 2):
            with subtests.test(n=n):
                assert candidate.m.f(n) == n + 1
"""


has_subtests = pytest.mark.skipif(pytest.version_tuple < (9,), reason="the fixture subtests needs pytest 9")


@pytest.mark.parametrize("tests", [UNITTEST, pytest.param(SUBTESTS, marks=has_subtests)])
def test_parts_of_a_test_count_like_the_test(sandbox: Sandbox, tests: str) -> None:
    assert only(grade(sandbox, tests, ANSWER)).outcome is Outcome.PASSED
    wrong = only(grade(sandbox, tests, "def f(x):\n    return 2\n", ANSWER))
    assert (wrong.outcome, wrong.kind) == (Outcome.FAILED, "mismatch")
    raising = only(grade(sandbox, tests, "def f(x):\n    return [][x]\n", ANSWER))
    assert (raising.outcome, raising.kind) == (Outcome.FAILED, "exception")


@pytest.mark.invariant("only-evidence-passes")
@has_subtests
def test_a_part_that_is_skipped_is_no_pass(sandbox: Sandbox) -> None:
    tests = SUBTESTS.replace("assert ", "import pytest; n == 1 or pytest.skip('x'); assert ")
    assert only(grade(sandbox, tests, ANSWER)).outcome is Outcome.FAILED


# sandboxes that fail


class Slow:
    """A sandbox in which one program does not come up in time."""

    def __init__(self, sandbox: Sandbox, program: str) -> None:
        self.name = sandbox.name
        self.isolation = sandbox.isolation
        self._sandbox = sandbox
        self._program = program

    def ready(self, environment: Environment) -> None: ...

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        if program.name == self._program:
            raise TimeoutError("no answer")
        return self._sandbox.launch(program, environment, limits)

    def close(self) -> None: ...


@pytest.mark.parametrize("program", ["grader", "candidate"])
def test_a_sandbox_that_does_not_come_up_is_nobodys_slow_test(bare: Sandbox, program: str) -> None:
    with pytest.raises(SandboxError, match=f"a sandbox for the {program} could not be started: no answer"):
        grade(Slow(bare, program), FIRST, ANSWER)


def test_nor_is_the_sandbox_of_a_shared_judge(bare: Sandbox) -> None:
    with pytest.raises(SandboxError, match="a sandbox for the shared-unittest could not be started: no answer"):
        graded(Slow(bare, "shared-unittest"), "weighted mean")


class Killed(Slow):
    """A sandbox in which `doom` is called with the processes of each warm parent when the candidate is asked something."""

    def __init__(self, sandbox: Sandbox, program: str, doom: Callable[[list[int]], None]) -> None:
        super().__init__(sandbox, program)
        self._doom = doom

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        connection = self._sandbox.launch(program, environment, limits)
        return Doomed(connection, self._doom) if program.name == self._program else connection


class Doomed:
    def __init__(self, connection: Connection, doom: Callable[[list[int]], None]) -> None:
        self._connection = connection
        self._heard = b""
        self._kill = doom

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        if self._heard:
            self._doom()
        self._connection.send(data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        if self._heard:
            self._doom()
        return self._connection.write(data, deadline)

    def receive(self, size: int, deadline: float) -> bytes:
        if b"started" in self._heard:  # said by a shared judge, which is asked only once
            self._doom()
        data = self._connection.receive(size, deadline)
        self._heard += data
        return data

    def _doom(self) -> None:
        for parent in linux_isolation.children(os.getpid()):
            with suppress(ProcessLookupError):  # one that ended meanwhile
                if RUN.encode() in Path(f"/proc/{parent}/environ").read_bytes():
                    self._kill([parent, *linux_isolation.descendants(parent)])

    def waited(self) -> float:
        return self._connection.waited()

    def kill(self) -> str:
        return self._connection.kill()


def kill(pids: Iterable[int]) -> None:
    """Kill processes and wait for their end: until process 1 of a pid namespace has ended, its children could still answer."""
    for pid in pids:
        with suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            try:
                signal.pidfd_send_signal(process, signal.SIGKILL)
                select.select([process], [], [])
            finally:
                os.close(process)


def kill_all(pids: list[int]) -> None:
    kill(pids)


def is_cell(pid: int) -> bool:
    """Whether a process is the first of a launch: it is process 1 of a pid namespace within that of the warm parent."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    numbers = re.search(r"^NSpid:\s*(.*)$", status, re.MULTILINE)
    return numbers is not None and numbers[1].split()[2:] == ["1"]


def kill_cells(pids: list[int]) -> None:
    kill([pid for pid in pids if is_cell(pid)])


DOOMS = [("bubblewrap", kill_all), ("bubblewrap", kill_cells), ("process", kill_all)]


@pytest.mark.invariant("errors-are-not-unsolved")
@pytest.mark.parametrize(("kind", "doom"), DOOMS)
def test_what_is_killed_from_outside_is_not_the_candidates_fault(
    request: pytest.FixtureRequest, kind: str, doom: Callable[[list[int]], None]
) -> None:
    """A warm parent of the process sandbox may have been killed by the candidate of another worker."""
    request.getfixturevalue(f"{kind}_sandbox")  # there is one here
    sandbox = KINDS[kind].make(SandboxContext(run=RUN, python=sys.executable))
    try:
        with pytest.raises(SandboxError, match="killed from outside"):
            grade(Killed(sandbox, "candidate", doom), FIRST, ANSWER)
        assert only(grade(sandbox, FIRST, ANSWER)).outcome is Outcome.PASSED
    finally:
        sandbox.close()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "doom"), DOOMS)
def test_nor_where_tests_and_candidate_share_a_process(
    request: pytest.FixtureRequest, kind: str, doom: Callable[[list[int]], None]
) -> None:
    request.getfixturevalue(f"{kind}_sandbox")
    sandbox = KINDS[kind].make(SandboxContext(run=RUN, python=sys.executable))
    try:
        with pytest.raises(SandboxError, match="killed from outside"):
            graded(Killed(sandbox, "shared-unittest", doom), "weighted mean", "    while True:\n        pass\n")
        assert graded(sandbox, "weighted mean").solved
    finally:
        sandbox.close()


def test_a_candidate_that_is_lost_before_it_was_asked_is_launched_again(bare: Sandbox) -> None:
    line = Switchboard(bare, ENVIRONMENT, Limits(), {"m.py": b""}, 0, time.monotonic() + 60)

    def patient(connection: Connection) -> Patience:
        return Patience(connection, "candidate", Limits(), line._credit, line._credit_grading)

    try:
        line.another = True
        line.candidate = patient(line._next_candidate())
        assert line._next is not None
        ahead = line._next.result()
        ahead.kill()
        line.end()
        line.another = False
        again = line._next_candidate()
        line.candidate = patient(again)
        assert again is not ahead
        with pytest.raises(TimeoutError):  # it waits for a question
            line.candidate.receive(1, time.monotonic())
    finally:
        line.close()
