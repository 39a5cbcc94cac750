"""A grading that stops at the first failed case still runs the cases that it is asked to run; another runs only these."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from tests.oracle.conftest import grade

TESTS = "".join(
    f"def test_{name}(candidate):\n    assert candidate.m.f({number}) == {number}\n"
    for number, name in enumerate("abcd")
)


def cases(
    sandbox: Sandbox, answer: str, *still_run: str, tests: str = TESTS, test_seconds: float = 60
) -> dict[str, str]:
    """What became of each case: "passed", "failed", or "not run"."""
    ids = tuple(f"test_m.py::test_{name}" for name in still_run)
    reference = "def f(x):\n    return x\n"
    verdict = grade(sandbox, tests, answer, reference, stop_at_failure=True, still_run=ids, test_seconds=test_seconds)
    assert not verdict.solved
    return {case.id[-1]: case.outcome.value if case.ran else "not run" for case in verdict.cases}


WRONG_TWICE = "def f(x):\n    return x if x % 2 == 0 else -1\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("still_run", "outcomes"),
    [
        ("", {"a": "passed", "b": "failed", "c": "not run", "d": "not run"}),
        ("d", {"a": "passed", "b": "failed", "c": "not run", "d": "failed"}),
        ("c", {"a": "passed", "b": "failed", "c": "passed", "d": "not run"}),
        ("cd", {"a": "passed", "b": "failed", "c": "passed", "d": "failed"}),
        ("ab", {"a": "passed", "b": "failed", "c": "not run", "d": "not run"}),
    ],
)
def test_the_rest_is_not_run_but_for_what_must_run(bare: Sandbox, still_run: str, outcomes: dict[str, str]) -> None:
    assert cases(bare, WRONG_TWICE, *still_run) == outcomes


def test_also_after_a_case_that_ended_its_candidate(bare: Sandbox) -> None:
    answer = "import os\n\n\ndef f(x):\n    return x if x % 2 == 0 else os._exit(1)\n"
    assert cases(bare, answer, "d") == {"a": "passed", "b": "failed", "c": "not run", "d": "failed"}


@pytest.mark.slow
def test_not_after_a_case_that_was_too_slow(bare: Sandbox) -> None:
    """Each of the others would take as long."""
    answer = "import time\n\n\ndef f(x):\n    return x if x % 2 == 0 else time.sleep(60)\n"
    outcomes = {"a": "passed", "b": "failed", "c": "not run", "d": "not run"}
    assert cases(bare, answer, "c", "d", test_seconds=1) == outcomes


def test_also_after_a_case_that_ended_its_grader(bare: Sandbox) -> None:
    tests = TESTS.replace("assert candidate.m.f(1) == 1", "import os\n    candidate.m.f(1) == 1 or os._exit(1)")
    assert cases(bare, WRONG_TWICE, "c", tests=tests) == {"a": "passed", "b": "failed", "c": "passed", "d": "not run"}


@pytest.mark.parametrize(
    ("only", "outcomes"),
    [
        ("b", {"a": "not run", "b": "failed", "c": "not run", "d": "not run"}),
        ("ca", {"a": "passed", "b": "not run", "c": "passed", "d": "not run"}),
        ("abcd", {"a": "passed", "b": "failed", "c": "passed", "d": "failed"}),
    ],
)
def test_only_the_cases_that_are_asked_for_run(bare: Sandbox, only: str, outcomes: dict[str, str]) -> None:
    """The others count as failed, so that a grading of a part of the cases never solves a task."""
    verdict = grade(bare, TESTS, WRONG_TWICE, only=tuple(f"test_m.py::test_{name}" for name in only))
    assert {case.id[-1]: case.outcome.value if case.ran else "not run" for case in verdict.cases} == outcomes
    assert not verdict.solved


def test_the_cases_run_in_the_order_that_is_asked_for(bare: Sandbox) -> None:
    tests = "import pytest\nRAN = []\n" + "".join(
        f"@pytest.mark.interface('m.f')\ndef test_{name}(candidate):\n    RAN.append('{name}')\n    assert candidate.m.f(0) == 0, RAN\n"
        for name in "abc"
    )
    verdict = grade(bare, tests, "def f(x):\n    return 1", only=("test_m.py::test_c", "test_m.py::test_a"))
    assert "['c']" in verdict.cases[2].message
    assert "['c', 'a']" in verdict.cases[0].message
    assert not verdict.cases[1].ran


def test_a_new_candidate_starts_where_it_does_if_all_cases_run(bare: Sandbox) -> None:
    """Between cases of one interface that have one of another interface between them, even if that does not run."""
    tests = "import pytest\n" + "".join(
        f"@pytest.mark.interface('m.{name}')\ndef test_{number}(candidate):\n    assert candidate.m.{name}() == 1\n"
        for number, name in enumerate("fgf")
    )
    counts = "calls = []\n" + "".join(f"def {name}():\n    calls.append(1)\n    return len(calls)\n" for name in "fg")
    for only in (None, ("test_m.py::test_0", "test_m.py::test_2"), ("test_m.py::test_2", "test_m.py::test_0")):
        verdict = grade(bare, tests, counts, interfaces=("m.f", "m.g"), only=only)
        assert [verdict.cases[number].outcome.value for number in (0, 2)] == ["passed", "passed"]


def test_the_others_do_not_run_either_after_a_grader_has_ended(bare: Sandbox) -> None:
    tests = TESTS.replace("assert candidate.m.f(1) == 1", "import os\n    candidate.m.f(1) == 1 or os._exit(1)")
    verdict = grade(bare, tests, WRONG_TWICE, only=("test_m.py::test_b", "test_m.py::test_c"))
    assert [case.ran for case in verdict.cases] == [False, True, True, False]
    assert [case.outcome.value for case in verdict.cases] == ["failed", "failed", "passed", "failed"]
