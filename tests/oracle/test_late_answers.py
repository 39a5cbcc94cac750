"""An answer that a test did not wait for, and a call that a test ended, have no effect on what follows."""

from __future__ import annotations

import pytest

from pytest_recode.oracle.judge import KeptGraders
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Verdict
from tests.oracle.conftest import grade

HEAD = "import contextlib, signal\nimport numpy as np\nimport pytest\n\n"


def outcomes(verdict: Verdict) -> str:
    return "".join(case.outcome.value[0] for case in verdict.cases)


WITHIN = """
@contextlib.contextmanager
def within(seconds):
    def late(*_):
        raise TimeoutError("too slow")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""


@pytest.mark.slow
def test_a_right_answer_after_one_that_the_test_did_not_wait_for(sandbox: Sandbox) -> None:
    tests = HEAD + WITHIN + "def test_1(candidate):\n    with within(0.5):\n        assert candidate.m.f(1) == 1\n"
    tests += "".join(f"def test_{n}(candidate):\n    assert candidate.m.f({n}) == {n}\n" for n in (2, 3))
    code = "import time\ndef f(x):\n    if x == 1: time.sleep(1.5)\n    return x\n"
    assert outcomes(grade(sandbox, tests, code, "def f(x): return x")) == "fpp"


@pytest.mark.slow
def test_the_same_in_a_grader_of_several_answers(bare: Sandbox) -> None:
    tests = HEAD + WITHIN + "def test_1(candidate):\n    with within(0.5):\n        assert candidate.m.f(1) == 1\n"
    tests += "def test_2(candidate):\n    assert candidate.m.f(2) == 2\n"
    right, slow = "def f(x): return x\n", "import time\ndef f(x):\n    if x == 1: time.sleep(1.5)\n    return x\n"
    graders = KeptGraders()
    try:
        results = [outcomes(grade(bare, tests, code, right, seed=1, graders=graders)) for code in (right, slow, right)]
    finally:
        graders.close()
    assert results == ["pp", "fp", "pp"]


@pytest.mark.slow
def test_it_answers_a_question_of_another_interface(sandbox: Sandbox) -> None:
    """The candidate of `score` receives the value that `value` must have, and another candidate's question gets its answer."""
    tests = (
        HEAD
        + WITHIN
        + (
            "@pytest.mark.interface('m.score')\ndef test_score(candidate, reference):\n"
            "    with within(0.5):\n        assert candidate.m.score(reference.m.value) == 0\n"
            "@pytest.mark.interface('m.value')\ndef test_value(candidate, reference):\n"
            "    assert candidate.m.value == reference.m.value\n"
        )
    )
    wrong = "import time\nvalue = None\ndef score(x):\n    time.sleep(1.5)\n    return x\n"
    right = "value = 42\ndef score(x): return 0\n"
    assert outcomes(grade(sandbox, tests, wrong, right, interfaces=("m.score", "m.value"))) == "ff"


@pytest.mark.slow
def test_a_late_answer_to_a_question_of_the_same_case(bare: Sandbox) -> None:
    """The test gives up waiting for a slow method, as its authors allow, and the late answer is taken for the attribute."""
    tests = (
        HEAD
        + WITHIN
        + (
            "def test_f(candidate, reference):\n"
            "    score = candidate.m.score\n"
            "    with contextlib.suppress(TimeoutError), within(0.5):\n        score(reference.m.value)\n"
            "    assert candidate.m.value == reference.m.value\n"
        )
    )
    wrong = "import time\nvalue = None\ndef score(x):\n    time.sleep(1.5)\n    return x\n"
    assert outcomes(grade(bare, tests, wrong, "value = 42\ndef score(x): return 0\n")) == "f"


def test_the_next_case_is_judged_as_if_nothing_had_happened(sandbox: Sandbox) -> None:
    tests = HEAD + (
        "def checked(x):\n    if x < 0:\n        pytest.fail('outside of the domain')\n    return x\n\n"
        "def test_1(candidate):\n    candidate.m.f(checked, -1)\n"
        "def test_2(candidate):\n    assert candidate.m.f(checked, 2) == 2\n"
    )
    code = (
        "import threading\nlock = threading.Lock()\n\ndef f(function, x):\n    with lock:\n        return function(x)\n"
    )
    assert outcomes(grade(sandbox, tests, code, test_seconds=5)) == "fp"


def test_a_context_of_the_candidate_is_left(bare: Sandbox) -> None:
    tests = HEAD + (
        "def checked(x):\n    if x < 0:\n        pytest.fail('outside of the domain')\n    return x\n\n"
        "def test_1(candidate):\n    candidate.m.f(checked, -1)\n"
        "def test_2(candidate):\n    assert np.isinf(candidate.m.g(np.array([1.0]), np.array([0.0]))).all()\n"
    )
    code = """
        import numpy as np

        def f(function, x):
            with np.errstate(divide="raise"):
                return function(x)

        def g(x, y):
            return x / y
    """
    assert outcomes(grade(bare, tests, code, interfaces=("m",))) == "fp"
