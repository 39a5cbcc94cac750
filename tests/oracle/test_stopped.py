"""Time in which pytest itself was stopped is no time of the candidate's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

GRADING = """
import sys
from tests.oracle.conftest import grade, made
from tests.oracle.shared_papers import graded
from pytest_recode.faults import SandboxError

sandbox = next(generator := made("process"))
tests = "def test_f(candidate):\\n    for n in range(40): assert candidate.m.f(n) == n"
try:
    if sys.argv[1] == "separate":
        code = f"import time\\nfrom pathlib import Path\\ndef f(x):\\n    Path({sys.argv[2]!r}).touch()\\n    time.sleep(0.1)\\n    return x"
        verdict = grade(sandbox, tests, code, test_seconds=6)
    else:
        code = f"    import time\\n    from pathlib import Path\\n\\n    Path({sys.argv[2]!r}).touch()\\n    time.sleep(99)\\n"
        verdict = graded(sandbox, "weighted mean", code, test_seconds=6)
    print(verdict.cases[0].message)
except SandboxError as error:
    print(error)
next(generator, None)
"""


@pytest.fixture
def begun() -> Iterator[Path]:
    """A file that a candidate, which is another user, can make."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        yield Path(place) / "begun"


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["separate", "shared"])
def test_a_limit_that_expired_while_pytest_was_stopped_is_no_verdict(judge: str, begun: Path) -> None:
    command = [sys.executable, "-c", GRADING, judge, str(begun)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as child:
        assert child.stdout is not None
        while not begun.exists() and child.poll() is None:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGSTOP)
        time.sleep(9)  # longer than the limit of the test
        os.killpg(child.pid, signal.SIGCONT)
        message = child.communicate()[0]
    assert "pytest was stopped" in message
    assert "--recode-resume" in message
