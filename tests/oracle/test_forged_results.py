"""Results in a shared judge that are not the judge's: whatever is written to its pipe, the host makes a verdict of it.

The token of the grading is what tells the judge's messages from others. Here the hidden tests hand a way to write them
to the candidate, token and all: what is left then is that each message is checked, and that none is an exception on
the host.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recode.inside.wire import messages
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Verdict
from tests.oracle.test_forged_answers import WRONG, table
from tests.oracle.test_shared_pytest import graded, outcomes

TESTS = """\
import gc, json, os, stat, struct
import stats


def forge(tree):
    starts = [each for each in gc.get_objects() if type(each) is dict and "token" in each and "names" in each]
    if not starts:  # the reference's own run
        return
    header = json.dumps([tree, [0]]).replace("THE TOKEN", starts[0]["token"]).encode()
    data = struct.pack("!4sc8sIQ", b"rcd1", b"H", bytes(8), len(header), 0) + header
    for fd in range(3, 64):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
            os.write(fd, data)


def crash():
    os.kill(os.getpid(), 11)


def test_mean():
    assert stats.mean([1.0, 2.0], forge, crash) == 1.5


def test_spread():
    assert stats.mean([4.0], forge, crash) == 4.0
"""
RIGHT = "def mean(values, forge, crash):\n    return sum(values) / len(values)\n"
CODE = """\
def mean(values, forge, crash):
    if len(values) == 2:
        FORGE
    return 0.0
"""


def told(step: Any) -> list[Any]:
    """A step as it travels, with the token of the grading."""
    return table(**{**step, "token": "THE TOKEN"})


FINISHED: dict[str, Any] = dict(messages.finished_of("test_stats.py::test_mean", "stats.mean", messages.PASSED))
EXCEPTION = table(type="ValueError", message="no", frames=["l"])
STEPS: dict[str, dict[str, Any]] = {
    "finished": {**FINISHED, "outcome": "failed", "exception": EXCEPTION},
    "started": dict(messages.started("test_stats.py::test_spread")),
    "ended": {"op": "ended", "kind": "", "message": "no", "exception": EXCEPTION},
    "flag": {"op": "flag", "text": "no"},
}
MALFORMED: dict[str, dict[str, Any]] = {
    **{
        f"{op}, {field}": {
            name: told({**step, field: value})
            for name, value in WRONG.items()
            if not (name == "a text" and field not in ("op", "outcome", "exception"))  # that is a message
            and not (name == "None" and field == "exception")
        }
        for op, step in STEPS.items()
        for field in step
        if field != "interface"
    },
    **{
        op: {
            f"without {field}": told({key: value for key, value in step.items() if key != field})
            for field in step
            if field != "interface"
        }
        for op, step in STEPS.items()
    },
    "token": {name: table(op="done", token=value) for name, value in WRONG.items()},
    "message": {
        **WRONG,
        "without a token": table(op="done"),
        "what only the other grader sends": told(dict(messages.READY)),
        "what was collected": told({"op": "collected", "cases": ["d"], "problem": ""}),
        "a case of no task": told({**FINISHED, "id": "test_stats.py::test_nothing"}),
    },
}


def forged(sandbox: Sandbox, *lines: str, test_seconds: float = 10) -> Verdict:
    code = CODE.replace("FORGE", "\n        ".join(lines))
    return graded(sandbox, code, TESTS, RIGHT, interfaces=("stats.mean",), test_seconds=test_seconds)


@pytest.mark.slow
def test_a_whole_result_with_the_token_arrives(bare: Sandbox) -> None:
    """So the others of this module are refused for what they are."""
    verdict = forged(bare, f"forge({told(FINISHED)!r})")
    assert outcomes(verdict) == ["passed", "failed"]
    assert verdict.tampering
    assert all("had a result" in line for line in verdict.tampering)


@pytest.mark.slow
@pytest.mark.parametrize(("part", "name"), [(part, name) for part, named in MALFORMED.items() for name in named])
def test_a_malformed_result_is_no_result(bare: Sandbox, part: str, name: str) -> None:
    verdict = forged(bare, f"forge({MALFORMED[part][name]!r})")
    assert outcomes(verdict) == ["failed", "failed"]
    assert verdict.tampering


@pytest.mark.parametrize("case", ["nothing.py::test", "test_stats.py::test_mean", "", "\ud800"])
@pytest.mark.parametrize("end", ["crash()", "import time; time.sleep(99)"], ids=["ends", "hangs"])
@pytest.mark.mostly_slow
def test_a_case_that_was_never_there_ends_its_judge(bare: Sandbox, case: str, end: str) -> None:
    steps = [told({**FINISHED, "outcome": "failed"})] if case.startswith("test_stats") else []
    steps.append(told(dict(messages.started(case))))
    verdict = forged(bare, *(f"forge({step!r})" for step in steps), end, test_seconds=1.0)
    assert outcomes(verdict) == ["failed", "failed"]
    assert not verdict.solved


def test_a_crash_in_a_case_that_the_reference_does_not_have(bare: Sandbox) -> None:
    """Nobody forges anything: the cases come from a constant of the candidate's."""
    tests = """\
import pytest
import stats


@pytest.mark.parametrize("size", stats.SIZES)
def test_mean(size):
    assert stats.mean([1.0] * size) == 1.0
"""
    crash = """\
from numpy import zeros
from numpy.lib.stride_tricks import as_strided

SIZES = [7]


def mean(values):
    return as_strided(zeros(1), (10**6,), (10**9,)).sum()
"""
    verdict = graded(
        bare, crash, tests, "SIZES = [1, 2]\n\n\ndef mean(values):\n    return 1.0\n", interfaces=("stats.mean",)
    )
    assert (outcomes(verdict), verdict.tampering) == (["failed", "failed"], ())
    assert {(case.kind, case.message.rpartition(": ")[2]) for case in verdict.cases} == {
        ("died", "killed by signal 11")
    }
