"""Two candidates of one grading never run at the same time: what one of them knows, no living process can tell the next."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pytest_recode.oracle.judge import Fresh
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap
from pytest_recode.sandboxes.conformance import Bench, Probe
from pytest_recode.task import Environment, Limits
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade

CHANNEL = """
    import fcntl, glob, os, struct, time

    BITS = 32

    def places():
        # every inode that two launches may have in common, and can be opened for reading
        yield from sorted(glob.glob("/proc/self/ns/*"))
        yield from ("/", "/usr", "/usr/bin", "/usr/lib", "/dev/null", "/proc", os.__file__, "/etc/passwd")

    def opened():
        for path in places():
            try:
                yield os.open(path, os.O_RDONLY)
            except OSError:
                pass

    def hold(number):
        # the locks outlive the signal that ends their holder by as long as the kernel takes to free its memory
        global ballast, kept
        kept = locked(number)
        for _ in range(WITNESSES):
            if os.fork() == 0:
                kept = locked(number)  # record locks are a process's own
                ballast = b"x" * (40 << 20)
                time.sleep(600)
        ballast = b"x" * (400 << 20)

    def locked(number):
        found = list(opened())
        for file in found:
            for bit in range(BITS):
                if number >> bit & 1:
                    try:
                        fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, OFFSET + bit, 1, 0))
                    except OSError:
                        pass
        return found

    def seen():
        for file in opened():
            number = 0
            for bit in range(BITS + 1):  # the last is nobody's: a stranger's lock holds the whole file
                asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, OFFSET + bit, 1, 0)
                try:
                    told = fcntl.fcntl(file, fcntl.F_GETLK, asked)
                except OSError:
                    break
                number |= (struct.unpack("hhqqi4x", told)[0] != fcntl.F_UNLCK) << bit
            os.close(file)
            if number and not number >> BITS:
                return number
        return 0
"""
CANDIDATE = (
    CHANNEL.replace("OFFSET", str(secrets.randbits(40))).replace("WITNESSES", "4")
    + """
    def tell(expected):
        hold(expected)

    def f():
        end = time.monotonic() + 1
        while time.monotonic() < end:
            if number := seen():
                return number
        return 0
"""
)
TESTS = """
    import pytest, random

    SECRET = random.getrandbits(31) | 1

    @pytest.mark.interface("m.tell")
    def test_it_is_told(candidate):
        assert candidate.m.tell(SECRET) is None

    @pytest.mark.interface("m.f")
    def test_the_next_one_knows(candidate):
        assert candidate.m.f() == SECRET
"""


@pytest.mark.slow
@pytest.mark.mostly_slow(one_in=3)
def test_a_candidate_that_is_being_ended_tells_the_next_one_nothing(every_sandbox: Sandbox) -> None:
    for fresh in (Fresh.INTERFACE, Fresh.CASE):
        verdict = grade(every_sandbox, TESTS, CANDIDATE, interfaces=("m.tell", "m.f"), fresh=fresh)
        case, knows = verdict.cases
        assert case.outcome is Outcome.PASSED, case.message
        assert knows.outcome is Outcome.FAILED
        assert "assert 0 == " in knows.message


@pytest.mark.slow
@pytest.mark.mostly_slow(one_in=3)
def test_nor_one_that_gave_no_answer(every_sandbox: Sandbox) -> None:
    """It hangs, or leaves its children behind: another case's candidate is asked once all of them are gone."""
    tests = TESTS.replace('"m.f"', '"m.tell"').replace(
        "assert candidate.m.tell(SECRET) is None", "candidate.m.tell(SECRET)"
    )
    for end in ("time.sleep(600)", "os._exit(0)"):
        code = CANDIDATE.replace("hold(expected)", f"hold(expected)\n        {end}")
        verdict = grade(every_sandbox, tests, code, interfaces=("m.tell",), test_seconds=3)
        assert [case.outcome for case in verdict.cases] == [Outcome.FAILED] * 2
        assert "assert 0 == " in verdict.cases[1].message


@contextmanager
def probes(sandbox: Sandbox) -> Iterator[tuple[Probe, Probe]]:
    bench = Bench(sandbox=sandbox, environment=Environment(), limits=Limits())
    with bench.probe() as one, bench.probe() as other:
        yield one, other


@pytest.mark.mostly_slow(one_in=3)
def test_two_that_do_run_at_the_same_time_could_talk(every_sandbox: Sandbox) -> None:
    """As candidates of different workers do (docs/explanation/oracle.md): the channel of the tests above works, given a living sender."""
    from textwrap import dedent

    code = dedent(CHANNEL).replace("OFFSET", str(secrets.randbits(40))).replace("WITNESSES", "0")
    with probes(every_sandbox) as (one, other):
        assert one.ask(f"{code}\nhold(12345); result = 1") == 1
        assert other.ask(f"{code}\nresult = seen()") == 12345


@pytest.mark.slow
def test_one_after_another_without_a_warm_parent() -> None:
    """bubblewrap on machines that permit no namespaces within its own."""
    context = SandboxContext(run=f"oracle-{os.getpid()}", python=sys.executable)
    sandbox = bubblewrap.Bubblewrap(context, cold=True)
    try:
        verdict = grade(sandbox, TESTS, CANDIDATE, interfaces=("m.tell", "m.f"))
    finally:
        sandbox.close()
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED, Outcome.FAILED]
    assert "assert 0 == " in verdict.cases[1].message
