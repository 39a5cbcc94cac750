"""Two candidates of one grading never run at the same time: what one of them knows, no living process can tell the next."""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.oracle.judge import Fresh, KeptGraders
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap
from pytest_recode.sandboxes.conformance import Bench, Probe
from pytest_recode.task import Environment, Limits
from pytest_recode.verdict import Outcome
from tests.messages import assert_message
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
def test_a_candidate_that_is_being_ended_tells_the_next_one_nothing(every_sandbox: Sandbox) -> None:
    for fresh in (Fresh.INTERFACE, Fresh.CASE):
        verdict = grade(every_sandbox, TESTS, CANDIDATE, interfaces=("m.tell", "m.f"), fresh=fresh)
        case, knows = verdict.cases
        assert case.outcome is Outcome.PASSED, case.message
        assert knows.outcome is Outcome.FAILED
        assert "assert 0 == " in knows.message


@pytest.mark.slow
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


@pytest.mark.mostly_slow
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


OF_ONE_INTERFACE = """
    import random

    import numpy as np
    import pytest

    DRAWN = [random.random(), np.random.normal(), float(np.random.default_rng().normal())]

    @pytest.fixture(scope="session")
    def shared():
        return random.random()

    @pytest.mark.interface("m.loss")
    def test_loss(candidate, reference, shared):
        expected = [reference.m.f(x) for x in [*DRAWN, shared]]
        assert candidate.m.loss(expected, expected) == 0

    @pytest.mark.interface("m.f")
    @pytest.mark.parametrize("number", range(4))
    def test_f(candidate, reference, shared, number):
        x = [*DRAWN, shared][number]
        assert candidate.m.f(x) == reference.m.f(x)
"""


@pytest.mark.slow
def test_an_expected_value_is_useless_in_the_tests_of_another_interface(bare: Sandbox) -> None:
    """Whatever carries it there: here a file, of which the sandbox without isolation prevents nothing."""
    right = "def loss(a, b):\n    return 0\n\ndef f(x):\n    return 3 * x + 1\n"
    with tempfile.TemporaryDirectory() as folder:
        channel = Path(folder) / "channel"
        channel.touch()
        Path(folder).chmod(0o755)
        channel.chmod(0o666)
        wrong = f"""
            import json

            def loss(found, expected):
                with open({str(channel)!r}, "w") as file:
                    json.dump(expected, file)
                return 0

            def f(x):
                with open({str(channel)!r}) as file:
                    known = json.load(file)
                return min(known, key=lambda value: abs(value - 3 * x - 1))
        """
        seed = secrets.randbits(48)
        verdict = grade(bare, OF_ONE_INTERFACE, wrong, right, interfaces=("m.loss", "m.f"), seed=seed)
        assert json.loads(channel.read_text()), "the value was carried"
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED, *[Outcome.FAILED] * 4]
    for fresh in Fresh:
        assert grade(bare, OF_ONE_INTERFACE, right, interfaces=("m.loss", "m.f"), seed=seed, fresh=fresh).solved


DRAWN = """
    import random

    import pytest

    DRAWN = random.random()

    @pytest.mark.interface("m.f")
    def test_f(candidate):
        candidate.m.f(DRAWN)

    @pytest.mark.interface("m.g")
    def test_g(candidate):
        candidate.m.f(DRAWN)

    @pytest.mark.interface("m.f")
    def test_f_again(candidate):
        candidate.m.f(DRAWN)
"""
RAISING = "def f(x):\n    raise ValueError(x)\n"


@pytest.mark.slow
def test_the_seed_repeats_what_each_block_draws(bare: Sandbox) -> None:
    """Also in graders that are kept, and in another order."""
    ids = ("test_m.py::test_f", "test_m.py::test_g", "test_m.py::test_f_again")
    common = KeptGraders()
    try:
        draws = [
            {case.id: case.exception.message for case in verdict.cases if case.exception}
            for verdict in (
                grade(bare, DRAWN, RAISING, interfaces=("m.f", "m.g"), seed=7, only=only, graders=graders)
                for only, graders in ((None, None), (None, common), (ids[::-1], common), (ids[::-1], None))
            )
        ]
    finally:
        common.close()
    assert draws[0].keys() == set(ids)
    assert len(set(draws[0].values())) == 3
    assert draws == [draws[0]] * 4


def test_ids_that_each_grader_draws_anew_give_no_verdict(bare: Sandbox) -> None:
    tests = DRAWN.replace(
        '@pytest.mark.interface("m.g")', '@pytest.mark.interface("m.g")\n    @pytest.mark.parametrize("n", [DRAWN])'
    )
    tests = tests.replace("test_g(candidate)", "test_g(candidate, n)")
    with pytest.raises(GraderError) as caught:
        grade(bare, tests, RAISING, interfaces=("m.f", "m.g"))
    assert_message(
        str(caught.value), "test_m.py::test_g[0.", "not in the next", "process of its own", "let no parameter or id"
    )
