"""Candidates that are wrong and try to end their grading with an error, which counts in no score. Their cases must fail."""

from __future__ import annotations

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.oracle.conftest import grade

KEEPS = """
    kept = []

    def test_1(candidate):
        kept.append(candidate.m.f(1))

    def test_2(candidate):
        for x in range(kept[0]):
            assert candidate.m.f(x) == x + 1

    def test_3(candidate):
        assert candidate.m.f(3) == 4
"""
"""The second test needs the answer to the first, and asks nothing for some answers."""

NAMES_A_MODULE = """
    import sys
    import types

    m = types.ModuleType("x" * ((16 << 20) - 60))
    sys.modules[m.__name__] = m
"""
"""The answer with this name can be sent, and a question with it, which is a few bytes longer, cannot."""


def outcomes(verdict: Verdict) -> list[Outcome]:
    return [case.outcome for case in verdict.cases]


@pytest.mark.slow
def test_a_test_that_lacks_an_earlier_answer(every_sandbox: Sandbox) -> None:
    verdict = grade(every_sandbox, KEEPS, "def f(x): return 0", "def f(x): return x + 1")
    assert outcomes(verdict) == [Outcome.PASSED, Outcome.FAILED, Outcome.FAILED]
    assert "kept[0]" in verdict.cases[1].message
    assert "The reference passes this case." in verdict.cases[1].message


def test_a_test_that_the_reference_does_not_pass_either_is_an_error(bare: Sandbox) -> None:
    with pytest.raises(GraderError, match=r"test_m\.py::test_2 gives no verdict: call: "):
        grade(bare, KEEPS, "def f(x): return 0", "def f(x): return -x")


def test_a_module_whose_name_is_too_long_to_be_sent_back(bare: Sandbox) -> None:
    tests = "def test_f(candidate): assert candidate.p.m.f(1) == 2"
    right = {"p/__init__.py": "", "p/m.py": "def f(x): return x + 1"}
    verdict = grade(bare, tests, {**right, "p/__init__.py": NAMES_A_MODULE}, right, interfaces=("p.m.f",))
    assert outcomes(verdict) == [Outcome.FAILED]
    assert "a value that cannot be sent" in verdict.cases[0].message


@pytest.mark.slow
def test_time_that_another_interface_used(bare: Sandbox) -> None:
    """The grading's time ends in a test that has asked nothing, and whose grader has had no answer."""
    tests = """
        import time
        import pytest

        @pytest.mark.interface("m.f")
        def test_f(candidate):
            assert candidate.m.f() == 1

        @pytest.mark.interface("m.g")
        def test_g(candidate):
            time.sleep(2)
            assert candidate.m.g() == 2
    """
    right = "import time\ndef f(): time.sleep(1.3); return 1\ndef g(): return 2"
    interfaces = ("m.f", "m.g")
    for code, last in ((right, Outcome.PASSED), (right.replace("2", "3"), Outcome.FAILED)):
        verdict = grade(bare, tests, code, right, interfaces=interfaces, test_seconds=3, grading_seconds=3)
        assert outcomes(verdict) == [Outcome.PASSED, last]
